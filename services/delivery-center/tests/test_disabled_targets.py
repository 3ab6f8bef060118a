"""Places that failed for days or were switched off by hand, over fakes and a clock that the test sets."""

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
    """Five requests in vain: the circuit is open."""
    harness.webhook.script = [DOWN] * 5
    await harness.send(*range(101, 106))
    harness.webhook.sent.clear()


async def fail_for_days(harness: Any, days: int) -> None:
    """A delivery every 12 hours, each in vain."""
    for number in range(2 * days + 1):
        harness.webhook.script = [DOWN] * 9
        await harness.send(1000 + number)
        harness.pass_time(hours=12)


# Switched off


async def test_a_healthy_place_costs_no_write(new_harness: Any, robot: Any) -> None:
    class Untouched(InMemoryTargets):
        async def record_success(self, target_id: str, at: Any) -> None:
            raise AssertionError("nothing to forget")

    harness = new_harness(robot(HOOK))
    harness.breakers.store = Untouched()
    await harness.send(1, 2)
    await harness.breakers.refresh()


async def test_a_success_forgets_the_failures_also_those_another_replica_saw(new_harness: Any, robot: Any) -> None:
    harness = new_harness(robot(HOOK))
    harness.webhook.script = [DOWN]
    await harness.send(1)
    (failing,) = await harness.targets.all()
    assert (failing.failures, failing.last_error, failing.member_id) == (1, "answered 500", "ann")
    await harness.send(2)
    assert await harness.targets.all() == []
    await harness.targets.record_failure(
        failing, "answered 500", harness.now
    )  # by another replica, and not heard of here yet
    harness.pass_time(seconds=1)
    await harness.send(3)
    await harness.breakers.refresh()
    assert await harness.targets.all() == []


async def test_a_place_that_failed_for_days_is_switched_off_with_one_fact_by_however_many_replicas(
    new_harness: Any, robot: Any
) -> None:
    harness = new_harness(robot(HOOK))
    other = harness.replica()
    await fail_for_days(harness, 6)
    await other.refresh()
    (off,) = await harness.targets.all()
    (said,) = harness.target_events.published
    assert (said.disabled_at, said.unpublished, off.unpublished) == (off.disabled_at, True, False)
    assert off.reason == "it has failed since 2026-03-02T12:00:00Z: answered 500"
    assert off.disabled_at - off.failing_since == timedelta(days=5)
    assert len(harness.webhook.sent) == 11


async def test_a_success_in_between_keeps_it_on(new_harness: Any, robot: Any) -> None:
    harness = new_harness(robot(HOOK))
    await fail_for_days(harness, 4)
    harness.webhook.script = []
    await harness.send(1)
    await fail_for_days(harness, 4)
    assert harness.target_events.published == []


async def test_what_goes_to_a_place_that_is_off_fails_at_once_and_says_what_to_do(new_harness: Any, robot: Any) -> None:
    harness = new_harness(robot(HOOK))
    harness.webhook.script = [DOWN, Gone("answered 410", details={"status": 410})]
    await harness.send(1, 2)
    (off,) = harness.target_events.published
    assert off.reason == "it says it is gone: answered 410"
    sent = len(harness.webhook.sent)
    (result,) = await harness.send(3)
    words = f"switched off since 2026-03-02T12:00:00Z: rota targets enable {result.target_id}"
    assert (result.success, result.final, result.attempts, result.error) == (False, True, 0, words)
    harness.pass_time(seconds=7)
    await harness.retry_what_is_due()  # the first was still being tried
    assert {failed.request_id: failed.result.error for failed in harness.published("delivery.failed")} == {
        "r1": words, "r2": "answered 410", "r3": words,
    }  # fmt: skip
    assert len(harness.webhook.sent) == sent


async def test_another_replica_hears_of_it_and_sends_nothing_either(new_harness: Any, robot: Any) -> None:
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


async def test_a_switch_that_was_not_said_is_said_later_by_whoever_finds_it(new_harness: Any, robot: Any) -> None:
    harness = new_harness(robot(HOOK))
    harness.target_events.failures = [Transient("NATS is away")]
    harness.webhook.script = [Gone("answered 410")]
    (result,) = await harness.send(1)
    assert (result.error, harness.target_events.published) == ("answered 410", [])
    other = harness.replica()
    await other.refresh()
    assert harness.target_events.published == []  # whoever switched it off may be about to say it
    harness.pass_time(seconds=11)
    await other.refresh()
    await other.refresh()
    assert len(harness.target_events.published) == 1


async def test_a_store_that_is_away_changes_nothing_about_an_attempt(new_harness: Any, robot: Any) -> None:
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


async def test_what_fails_is_listed_and_what_is_switched_off_is_enabled_and_sent_to(manage: Any) -> None:
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


async def test_enabled_by_another_replica_it_is_sent_to_at_once_though_it_rested_here(
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


async def test_a_healthy_place_is_switched_off_by_its_id_and_twice_is_once(manage: Any) -> None:
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


async def test_what_a_team_never_sent_to_is_not_switched(manage: Any) -> None:
    harness, targets = manage
    (result,) = await harness.send(1)
    for team, target_id in (("acme", "nobody"), ("other", result.target_id)):
        answer = await targets.switch(SwitchTarget(team_id=team, target_id=target_id, enabled=False))
        assert answer.targets == []
        assert f"that results of {team} were sent to" in answer.refused
