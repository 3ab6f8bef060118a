"""Places that failed for days or were switched off by hand, over fakes and a clock that the test sets."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from delivery_center.adapters.in_memory_targets import MemoryTargets
from delivery_center.ports import Gone, Rejected, TriedInVain
from delivery_center.targets.circuit_breakers import refreshing
from delivery_center.targets.manage_targets import ManageTargets
from rota_common.errors import Transient
from rota_contracts.messages.targets import ListTargets, SwitchTarget, TargetCondition

URL = "https://a.example/1"
HOOK = {"type": "webhook", "opts": {"url": URL}}
TWO_HOOKS = {"preferences": {"webhook": {"targets": [{"url": URL}, {"url": "https://b.example/2"}]}}}
DOWN = TriedInVain("answered 500", details={"status": 500})


async def down(home: Any) -> None:
    """Five requests in vain: the circuit is open."""
    home.webhook.script = [DOWN] * 5
    await home.send(*range(101, 106))
    home.webhook.parcels.clear()


async def fail_for_days(home: Any, days: int) -> None:
    """A delivery every 12 hours, each in vain."""
    for number in range(2 * days + 1):
        home.webhook.script = [DOWN] * 9
        await home.send(1000 + number)
        home.pass_time(hours=12)


# Switched off


async def test_a_healthy_place_costs_no_write(house: Any, robot: Any) -> None:
    class Untouched(MemoryTargets):
        async def reached(self, target_id: str, at: Any) -> None:
            raise AssertionError("nothing to forget")

    home = house(robot(HOOK))
    home.unwell._store = Untouched()
    await home.send(1, 2)
    await home.unwell.refresh()


async def test_a_success_forgets_the_failures_also_those_another_replica_saw(house: Any, robot: Any) -> None:
    home = house(robot(HOOK))
    home.webhook.script = [DOWN]
    await home.send(1)
    (failing,) = await home.targets.all()
    assert (failing.failures, failing.last_error, failing.member_id) == (1, "answered 500", "ann")
    await home.send(2)
    assert await home.targets.all() == []
    await home.targets.failed(failing, "answered 500", home.now)  # by another replica, and not heard of here yet
    home.pass_time(seconds=1)
    await home.send(3)
    await home.unwell.refresh()
    assert await home.targets.all() == []


async def test_a_place_that_failed_for_days_is_switched_off_with_one_fact_by_however_many_replicas(
    house: Any, robot: Any
) -> None:
    home = house(robot(HOOK))
    other = home.replica()
    await fail_for_days(home, 6)
    await other.refresh()
    (off,) = await home.targets.all()
    (said,) = home.notices.said
    assert (said.disabled_at, said.untold, off.untold) == (off.disabled_at, True, False)
    assert off.reason == "it has failed since 2026-03-02T12:00:00Z: answered 500"
    assert off.disabled_at - off.failing_since == timedelta(days=5)
    assert len(home.webhook.parcels) == 11


async def test_a_success_in_between_keeps_it_on(house: Any, robot: Any) -> None:
    home = house(robot(HOOK))
    await fail_for_days(home, 4)
    home.webhook.script = []
    await home.send(1)
    await fail_for_days(home, 4)
    assert home.notices.said == []


async def test_what_goes_to_a_place_that_is_off_fails_at_once_and_says_what_to_do(house: Any, robot: Any) -> None:
    home = house(robot(HOOK))
    home.webhook.script = [DOWN, Gone("answered 410", details={"status": 410})]
    await home.send(1, 2)
    (off,) = home.notices.said
    assert off.reason == "it says it is gone: answered 410"
    sent = len(home.webhook.parcels)
    (result,) = await home.send(3)
    words = f"switched off since 2026-03-02T12:00:00Z: rota targets enable {result.target_id}"
    assert (result.success, result.final, result.attempts, result.error) == (False, True, 0, words)
    home.pass_time(seconds=7)
    await home.retry_what_is_due()  # the first was still being tried
    assert {failed.request_id: failed.result.error for failed in home.told("delivery.failed")} == {
        "r1": words, "r2": "answered 410", "r3": words,
    }  # fmt: skip
    assert len(home.webhook.parcels) == sent


async def test_another_replica_hears_of_it_and_sends_nothing_either(house: Any, robot: Any) -> None:
    home = house(robot(HOOK))
    home.webhook.script = [Gone("answered 410")]
    await home.send(1)
    other = home.replica()
    stored = (await home.stored()).targets[0]
    assert other.off(stored) is None
    loop = asyncio.create_task(refreshing(other, every=0.001)())  # type: ignore[arg-type]  # a coroutine it is
    async with asyncio.timeout(5):
        while other.off(stored) is None:
            await asyncio.sleep(0)
    loop.cancel()


async def test_a_switch_that_was_not_said_is_said_later_by_whoever_finds_it(house: Any, robot: Any) -> None:
    home = house(robot(HOOK))
    home.notices.failures = [Transient("NATS is away")]
    home.webhook.script = [Gone("answered 410")]
    (result,) = await home.send(1)
    assert (result.error, home.notices.said) == ("answered 410", [])
    other = home.replica()
    await other.refresh()
    assert home.notices.said == []  # whoever switched it off may be about to say it
    home.pass_time(seconds=11)
    await other.refresh()
    await other.refresh()
    assert len(home.notices.said) == 1


async def test_a_store_that_is_away_changes_nothing_about_an_attempt(house: Any, robot: Any) -> None:
    class Away(MemoryTargets):
        async def failed(self, *_: Any) -> Any:
            raise Transient("MongoDB is away")

    home = house(robot(HOOK))
    home.unwell._store = Away()
    home.webhook.script = [Rejected("answered 404", details={"status": 404})]
    (result,) = await home.send(1)
    assert (result.error, result.attempts) == ("answered 404", 1)


# By hand


@pytest.fixture
def manage(house: Any, robot: Any) -> Any:
    home = house(robot(HOOK))
    return home, ManageTargets(home.targets, home.unwell)


async def test_what_fails_is_listed_and_what_is_switched_off_is_enabled_and_sent_to(manage: Any) -> None:
    home, targets = manage
    home.webhook.script = [Gone("answered 410")]
    (result,) = await home.send(1)
    (listed,) = (await targets.list(ListTargets(team_id="acme"))).targets
    assert (listed.target_id, listed.condition, listed.target) == (result.target_id, TargetCondition.DISABLED, URL)
    enable = SwitchTarget(team_id="acme", target_id=result.target_id, enabled=True)
    (enabled,) = (await targets.switch(enable)).targets
    assert enabled.condition is TargetCondition.HEALTHY
    assert home.notices.said[-1].enabled_at == home.now
    assert (await targets.list(ListTargets(team_id="acme"))).targets == []
    (sent,) = await home.send(2)
    assert sent.success


async def test_enabled_by_another_replica_it_is_sent_to_at_once_though_it_rested_here(house: Any, robot: Any) -> None:
    home = house(robot(HOOK))
    await down(home)
    home.webhook.script = [DOWN]
    home.pass_time(seconds=60)
    await home.send(1)
    (failing,) = await home.targets.all()
    other = home.replica()
    await other.switch_off(failing, "by hand")
    await home.unwell.refresh()
    await other.switch_on("acme", failing.target_id)
    await home.unwell.refresh()
    (result,) = await home.send(2)
    assert result.success


async def test_a_healthy_place_is_switched_off_by_its_id_and_twice_is_once(manage: Any) -> None:
    home, targets = manage
    (result,) = await home.send(1)
    home.targets.deliveries.append(await home.stored())
    off = SwitchTarget(team_id="acme", target_id=result.target_id, enabled=False, reason="moving house")
    for _ in range(2):
        (switched,) = (await targets.switch(off)).targets
        assert (switched.condition, switched.reason) == (TargetCondition.DISABLED, "moving house")
    assert len(home.notices.said) == 1
    on = SwitchTarget(team_id="acme", target_id=result.target_id, enabled=True)
    for _ in range(2):
        (switched,) = (await targets.switch(on)).targets
        assert switched.condition is TargetCondition.HEALTHY
    assert len(home.notices.said) == 2


async def test_what_a_team_never_sent_to_is_not_switched(manage: Any) -> None:
    home, targets = manage
    (result,) = await home.send(1)
    home.targets.deliveries.append(await home.stored())
    for team, target_id in (("acme", "nobody"), ("other", result.target_id)):
        answer = await targets.switch(SwitchTarget(team_id=team, target_id=target_id, enabled=False))
        assert answer.targets == []
        assert f"that results of {team} went to" in answer.refused
