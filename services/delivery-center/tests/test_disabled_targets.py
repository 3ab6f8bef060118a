"""Targets that failed for days or were disabled by hand, over adapters in memory and a clock to set."""

from datetime import timedelta
from typing import Any

import pytest

from delivery_center.adapters.in_memory_targets import InMemoryTargets
from delivery_center.ports import Gone, Rejected, TransientReply
from delivery_center.targets.manage_targets import ManageTargets
from rota_common.errors import Transient
from rota_contracts.messages.targets import ListTargets, SwitchTarget, TargetCondition

URL = "https://a.example/1"
HOOK = {"type": "webhook", "opts": {"url": URL}}
TWO_HOOKS = {"preferences": {"webhook": {"targets": [{"url": URL}, {"url": "https://b.example/2"}]}}}
DOWN = TransientReply("answered 500", details={"status": 500})


async def down(harness: Any) -> None:
    """Five failed requests: the circuit is open."""
    harness.webhook.script = [DOWN] * 5
    await harness.send(*range(101, 106))
    harness.webhook.sent.clear()


async def fail_for_days(harness: Any, days: int) -> None:
    """A delivery every 12 hours, each fails."""
    for number in range(2 * days + 1):
        harness.webhook.script = [DOWN] * 9
        await harness.send(1000 + number)
        harness.pass_time(hours=12)


# Disabled


async def test_a_healthy_target_costs_no_write(new_harness: Any, robot: Any) -> None:
    class Untouched(InMemoryTargets):
        async def record_success(self, target_id: str, at: Any) -> None:
            raise AssertionError("nothing to clear")

    harness = new_harness(robot(HOOK))
    harness.breakers.store = Untouched()
    await harness.send(1, 2)
    await harness.breakers.refresh()


async def test_a_success_clears_the_failures_of_all_replicas(new_harness: Any, robot: Any) -> None:
    harness = new_harness(robot(HOOK))
    harness.webhook.script = [DOWN]
    await harness.send(1)
    (failing,) = await harness.targets.all()
    assert (failing.failures, failing.last_error, failing.member_id) == (1, "answered 500", "ann")
    await harness.send(2)
    assert await harness.targets.all() == []
    await harness.targets.record_failure(
        failing, "answered 500", harness.now
    )  # by another replica, and not read here yet
    harness.pass_time(seconds=1)
    await harness.send(3)
    await harness.breakers.refresh()
    assert await harness.targets.all() == []


async def test_several_replicas_disable_a_target_that_failed_for_days_with_one_fact(
    new_harness: Any, robot: Any
) -> None:
    harness = new_harness(robot(HOOK))
    other = harness.replica()
    await fail_for_days(harness, 6)
    await other.refresh()
    (off,) = await harness.targets.all()
    (event,) = harness.target_events.published
    assert (event.disabled_at, event.unpublished, off.unpublished) == (off.disabled_at, True, False)
    assert off.reason == "it has failed since 2026-03-02T12:00:00Z: answered 500"
    assert off.disabled_at - off.failing_since == timedelta(days=5)
    assert len(harness.webhook.sent) == 11


async def test_a_success_in_between_keeps_the_target_enabled(new_harness: Any, robot: Any) -> None:
    harness = new_harness(robot(HOOK))
    await fail_for_days(harness, 4)
    harness.webhook.script = []
    await harness.send(1)
    await fail_for_days(harness, 4)
    assert harness.target_events.published == []


async def test_a_delivery_to_a_disabled_target_fails_at_once_with_the_remedy(new_harness: Any, robot: Any) -> None:
    harness = new_harness(robot(HOOK))
    harness.webhook.script = [DOWN, Gone("answered 410", details={"status": 410})]
    await harness.send(1, 2)
    (off,) = harness.target_events.published
    assert off.reason == "it says it is gone: answered 410"
    sent = len(harness.webhook.sent)
    (result,) = await harness.send(3)
    error = f"switched off since 2026-03-02T12:00:00Z: rota targets enable {result.target_id}"
    assert (result.success, result.final, result.attempts, result.error) == (False, True, 0, error)
    harness.pass_time(seconds=7)
    await harness.retry_what_is_due()  # the first was still pending
    assert {failed.request_id: failed.result.error for failed in harness.published("delivery.failed")} == {
        "r1": error, "r2": "answered 410", "r3": error,
    }  # fmt: skip
    assert len(harness.webhook.sent) == sent


async def test_another_replica_reads_that_a_target_is_disabled(new_harness: Any, robot: Any) -> None:
    harness = new_harness(robot(HOOK))
    harness.webhook.script = [Gone("answered 410")]
    await harness.send(1)
    other = harness.replica()
    stored = (await harness.stored()).targets[0]
    assert other.disabled_reason(stored) is None
    await other.keep_current()
    assert other.disabled_reason(stored) is not None


async def test_an_unavailable_store_does_not_end_the_refreshes(new_harness: Any) -> None:
    class Unavailable(InMemoryTargets):
        async def all(self) -> Any:
            raise Transient("MongoDB is away")

    breakers = new_harness().breakers
    breakers.store = Unavailable()
    await breakers.keep_current()
    with pytest.raises(Transient):
        await breakers.refresh()


async def test_an_unpublished_switch_is_published_by_a_later_refresh(new_harness: Any, robot: Any) -> None:
    harness = new_harness(robot(HOOK))
    harness.target_events.failures = [Transient("NATS is away")]
    harness.webhook.script = [Gone("answered 410")]
    (result,) = await harness.send(1)
    assert (result.error, harness.target_events.published) == ("answered 410", [])
    other = harness.replica()
    await other.refresh()
    assert harness.target_events.published == []  # the replica that disabled it may be about to publish it
    harness.pass_time(seconds=11)
    await other.refresh()
    await other.refresh()
    assert len(harness.target_events.published) == 1


async def test_an_unavailable_store_does_not_change_the_outcome_of_an_attempt(new_harness: Any, robot: Any) -> None:
    class Away(InMemoryTargets):
        async def record_failure(self, *_: Any) -> Any:
            raise Transient("MongoDB is away")

    harness = new_harness(robot(HOOK))
    harness.breakers.store = Away()
    harness.webhook.script = [Rejected("answered 404", details={"status": 404})]
    (result,) = await harness.send(1)
    assert (result.error, result.attempts) == ("answered 404", 1)


# By hand


@pytest.fixture
def manage(new_harness: Any, robot: Any) -> Any:
    harness = new_harness(robot(HOOK))
    return harness, ManageTargets(store=harness.targets, breakers=harness.breakers)


async def test_a_disabled_target_is_listed_enabled_and_sent_to(manage: Any) -> None:
    harness, targets = manage
    harness.webhook.script = [Gone("answered 410")]
    (result,) = await harness.send(1)
    (listed,) = (await targets.list(ListTargets(team_id="acme"))).targets
    assert (listed.target_id, listed.condition, listed.target) == (result.target_id, TargetCondition.DISABLED, URL)
    enable = SwitchTarget(team_id="acme", target_id=result.target_id, enabled=True)
    (enabled,) = (await targets.switch(enable)).targets
    assert enabled.condition is TargetCondition.HEALTHY
    assert harness.target_events.published[-1].enabled_at == harness.now
    assert (await targets.list(ListTargets(team_id="acme"))).targets == []
    (sent,) = await harness.send(2)
    assert sent.success


async def test_a_target_enabled_by_another_replica_is_sent_to_although_its_circuit_was_open(
    new_harness: Any, robot: Any
) -> None:
    harness = new_harness(robot(HOOK))
    await down(harness)
    harness.webhook.script = [DOWN]
    harness.pass_time(seconds=60)
    await harness.send(1)
    (failing,) = await harness.targets.all()
    other = harness.replica()
    await other.disable(failing, "by hand")
    await harness.breakers.refresh()
    await other.enable("acme", failing.target_id)
    await harness.breakers.refresh()
    (result,) = await harness.send(2)
    assert result.success


async def test_disabling_a_healthy_target_is_idempotent(manage: Any) -> None:
    harness, targets = manage
    (result,) = await harness.send(1)
    off = SwitchTarget(team_id="acme", target_id=result.target_id, enabled=False, reason="moving house")
    for _ in range(2):
        (switched,) = (await targets.switch(off)).targets
        assert (switched.condition, switched.reason) == (TargetCondition.DISABLED, "moving house")
    assert len(harness.target_events.published) == 1
    on = SwitchTarget(team_id="acme", target_id=result.target_id, enabled=True)
    for _ in range(2):
        (switched,) = (await targets.switch(on)).targets
        assert switched.condition is TargetCondition.HEALTHY
    assert len(harness.target_events.published) == 2


async def test_a_team_cannot_switch_a_target_it_never_delivered_to(manage: Any) -> None:
    harness, targets = manage
    (result,) = await harness.send(1)
    for team, target_id in (("acme", "unknown"), ("other", result.target_id)):
        answer = await targets.switch(SwitchTarget(team_id=team, target_id=target_id, enabled=False))
        assert answer.targets == []
        assert f"that results of {team} were sent to" in answer.refused
