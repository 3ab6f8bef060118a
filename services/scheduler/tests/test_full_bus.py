"""Clocks and plans at a bus that is nearly full: they wait, as new work of people does."""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from services.scheduler.tests.fixtures import InMemoryHarness
from services.scheduler.tests.harness import Harness

from rota_common.bus.room import BusRoom
from rota_common.bus.stream_usage import Usage
from rota_common.testing.patience import PATIENCE_S
from rota_common.testing.samples import MEMBER, NOON, TEAM, SetClock
from rota_contracts import catalog
from rota_contracts.messages.plan import ChangePlan
from rota_contracts.robots.clock_config import Clock
from rota_contracts.streams import REFUSE_AT, TEAM_SHARE
from scheduler.adapters.in_memory import in_memory
from scheduler.clocks.tick import CHECK_AGAIN, Tick
from scheduler.domain.clock_state import Change, ClockState
from scheduler.domain.plan import Plan, change, plan_key
from tests.integration.scheduler.clock_harness import DAEMON, HALF_HOURLY, QUICK, START, a_clocked, armed, minutes, tid

QUOTA = {"max": 9, "queue": 9}
TICKED, LOOKED_FOR_PLANS = "unpublished", "acquire"


async def until(so: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not so():
            await asyncio.sleep(0.01)


def counting(monkeypatch: pytest.MonkeyPatch, harness: InMemoryHarness) -> Counter[str]:
    """The ends of ticks, and the turns of the dispatcher in which plans start."""
    calls = Counter[str]()

    def count(store: Any, name: str) -> None:
        real = getattr(store, name)

        def counted(*given: Any) -> Any:
            calls[name] += 1
            return real(*given)

        monkeypatch.setattr(store, name, counted)

    count(harness.adapters.clocks, TICKED)
    count(harness.adapters.queue, LOOKED_FOR_PLANS)
    return calls


async def fill(harness: InMemoryHarness, share: float) -> None:
    """Let a message that waits for its consumer take this share of EXECUTIONS."""
    await harness.bus.store("rota.v1.validation.requested.acme.other", bytes(100_000), {})
    log = harness.bus.streams["EXECUTIONS"]
    log.stream = replace(log.stream, max_bytes=int(log.size / share))


async def test_clocks_daemons_and_plans_wait_for_room_and_start_once(
    harness: InMemoryHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, calls = SetClock(START), counting(monkeypatch, harness)
    await fill(harness, REFUSE_AT + 0.05)
    async with harness.scheduler(clock=clock, **QUICK) as app:
        await until(lambda: "stream EXECUTIONS" in app.service.degraded)
        await harness.keep(a_clocked(HALF_HOURLY, quota=QUOTA))
        await harness.keep(a_clocked(DAEMON, member_id="daemon"))
        await armed(harness, *minutes(30))
        await harness.plan("p1", plan_time=START + timedelta(minutes=1))
        clock.forward(45 * 60)
        await harness.trigger("t1")
        assert await harness.slots(1) == ["t1"]  # what was accepted goes on
        seen = calls.copy()
        await until(lambda: all(calls[name] >= seen[name] + 3 for name in (TICKED, LOOKED_FOR_PLANS)))
        assert await harness.given_slots() == ["t1"]
        log = harness.bus.streams["EXECUTIONS"]
        log.stream = replace(log.stream, max_bytes=2 * log.size)
        begun = await harness.slots(4)
        assert sorted(begun[1:]) == sorted([tid(*minutes(30)), plan_key(TEAM, MEMBER, "p1"), tid(START, "daemon")])
        seen = calls.copy()
        await until(lambda: all(calls[name] >= seen[name] + 3 for name in (TICKED, LOOKED_FOR_PLANS)))
    assert len(await harness.facts(catalog.EXECUTION_REQUESTED)) == 4


class FullOf:
    """Triggers of one team take more than a team's share."""

    def __init__(self, team: str) -> None:
        self.team, self.waits = team, True

    async def read(self) -> list[Usage]:
        used = int(1000 * (TEAM_SHARE + 0.1)) if self.waits else 0
        return [Usage("stream TRIGGERS", "TRIGGERS", used, 1000, 1, refuses=True, needed=True)]

    async def waiting(self) -> Counter[str]:
        return Counter({self.team: 1})

    async def texts(self) -> Counter[str]:
        return Counter()


async def test_the_clocks_of_a_team_at_its_share_wait_and_those_of_others_do_not() -> None:
    adapters, clock, usage, publisher = in_memory(lease=60), SetClock(NOON), FullOf("loud"), _Nothing()
    room = BusRoom(usage=usage)
    half_hourly = Clock.model_validate(HALF_HOURLY)
    loud, quiet = (ClockState(team, "ann", 1, half_hourly, NOON, NOON, NOON) for team in ("loud", "quiet"))
    await adapters.clocks.write([Change(None, loud), Change(None, quiet)])
    tick = Tick(
        clocks=adapters.clocks,
        queue=adapters.queue,
        publisher=publisher,
        room=room,
        clock=clock,
        wake=lambda: None,
        lag=lambda: 0,
    )
    await room.measure()
    await tick()
    assert [each.trigger.team_id for each in await adapters.queue.undecided(9)] == ["quiet"]
    usage.waits = False
    await room.measure()
    await tick()  # not looked at yet: so many waiting clocks leave the others their turn
    clock.forward(CHECK_AGAIN.total_seconds())
    await tick()
    assert [each.trigger.team_id for each in await adapters.queue.undecided(9)] == ["quiet", "loud"]


class _Nothing:
    """A publisher for a tick that misses nothing."""


async def test_the_plans_of_a_team_at_its_share_wait() -> None:
    harness, usage = Harness(), FullOf(TEAM)
    harness.room.usage = usage
    asked = {"action": "plan.add", "plan_id": "p1", "team_id": TEAM, "member_id": MEMBER, "plan_time": NOON}
    plan = change(None, ChangePlan.model_validate(asked | {"messages": [{"content": "Look at Globex"}]}), NOON)
    assert isinstance(plan, Plan)
    await harness.plans.add(plan)
    start = harness.dispatcher.start_plans
    await harness.room.measure()
    assert not await start.due(await harness.queue.load(), pool=9)
    harness.clock.forward(30)
    usage.waits = False
    await harness.room.measure()
    batch = await start.due(await harness.queue.load(), pool=9)
    assert [each.trigger.trigger_id for each in batch.decided] == [plan_key(TEAM, MEMBER, "p1")]
