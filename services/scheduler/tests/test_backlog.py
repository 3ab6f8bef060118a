"""Accepted events wait until their robot has room or goes on, and no trigger keeps others from being decided."""

import asyncio
from typing import Any

import pytest
from services.scheduler.tests.fixtures import InMemoryHarness

from rota_common.runtime import traces
from rota_common.testing.samples import SetClock, a_robot
from rota_contracts import catalog
from rota_contracts.messages.backlog import BacklogReportedV1
from rota_contracts.messages.execution import TriggerState
from rota_contracts.messages.trigger import RejectReason
from scheduler.adapters.in_memory_queue import InMemoryQueue
from scheduler.domain.batch import Batch
from scheduler.domain.plan import plan_key
from tests.integration.scheduler.clock_harness import HALF_HOURLY, QUICK, START, a_clocked, armed, minutes, tid
from tests.integration.scheduler.harness import Harness

BURST = 60


async def run_all(harness: Harness, count: int) -> None:
    """Each execution ends as soon as it has its slot."""
    for done in range(count):
        await harness.slots(done + 1)
        trigger_id = (await harness.given_slots())[done]
        await harness.started(trigger_id)
        await harness.finished(trigger_id)


async def test_every_event_of_a_burst_runs_though_its_robot_is_paused_and_the_scheduler_restarts(
    harness: Harness,
) -> None:  # DEC-48
    await harness.keep(a_robot(robot_status="paused"))
    async with harness.scheduler(pool=100):
        for number in range(BURST // 2):
            await harness.trigger(f"t{number}")
        await harness.admitted(BURST // 2)
    async with harness.scheduler(pool=100):
        for number in range(BURST // 2, BURST):
            await harness.trigger(f"t{number}")
        await harness.admitted(BURST)
        assert (await harness.read("t0")).state is TriggerState.QUEUED
        assert await harness.given_slots() == []
        await harness.keep(a_robot(rev=3))
        await run_all(harness, BURST)
    assert sorted(await harness.given_slots()) == sorted(f"t{number}" for number in range(BURST))
    assert await harness.facts(catalog.TRIGGER_REJECTED) == []


@pytest.mark.parametrize("fields", [{"robot_status": "maintenance"}, {"autonomous_mode": False}])
async def test_what_waits_does_not_start_while_nothing_new_may(
    harness: Harness, fields: dict[str, Any]
) -> None:  # DEC-45
    async with harness.scheduler():
        for number in range(4):
            await harness.trigger(f"t{number}")
        await harness.slots(2)
        await harness.keep(a_robot(**fields))
        await harness.trigger("last", "human")  # refused, so the scheduler knows the robot's new state
        await harness.rejected(1)
        await harness.finished("t0")
        await harness.finished("t1")
        await harness.until("done", "t1")
        assert len(await harness.given_slots()) == 2
        await harness.keep(a_robot(rev=3))
        await harness.slots(4)


async def test_a_full_backlog_is_reported_until_it_has_room(harness: Harness) -> None:  # DEC-48
    await harness.keep(a_robot(robot_status="paused"))
    heard = await harness.listen(catalog.BACKLOG_REPORTED)  # type: ignore[attr-defined]  # both harnesses have it

    async def until(wanted: list[tuple[str, str | None, int]]) -> None:
        while True:
            reports = [BacklogReportedV1.model_validate_json(each.data).full for each in heard.messages[-1:]]
            if reports and [(each.team_id, each.member_id, each.waiting) for each in reports[0]] == wanted:
                return
            await asyncio.sleep(0.02)

    async with harness.scheduler(backlog_per_robot=3, backlog_per_team=5):
        await until([])
        for number in range(4):
            await harness.trigger(f"t{number}")  # more than that may come before a gateway hears of it: none is lost
        await until([("acme", "ann", 4)])
        await harness.keep(a_robot(member_id="bob", robot_status="paused"))
        await harness.trigger("b1", member_id="bob")
        await until([("acme", None, 5)])
        await harness.keep(a_robot(rev=3))
        await until([])


async def test_what_waits_longer_than_the_bus_keeps_it_is_rejected_with_the_reason(harness: Harness) -> None:  # DEC-48
    clock = SetClock()
    await harness.keep(a_robot(robot_status="paused"))
    async with harness.scheduler(clock=clock):
        await harness.trigger("old")
        await harness.admitted(1)
        clock.forward(6 * 86400)
        await harness.trigger("new")
        await harness.admitted(2)
        clock.forward(86401)
        assert await harness.rejected(1) == ["old"]
        assert (await harness.read("new")).state is TriggerState.QUEUED
    (fact,) = await harness.facts(catalog.TRIGGER_REJECTED)
    assert (fact.reason, fact.message) == (
        RejectReason.EXPIRED,
        "it has waited for 7 days, longer than triggers are kept",
    )


class Choosy(InMemoryQueue):
    """A store that can't hold some triggers until it is `mended`."""

    mended = False

    async def write(self, batch: Batch, *, owner: str, epoch: int) -> None:
        if not self.mended and any(each.trigger.trigger_id.startswith("bad") for each in batch.decided):
            raise OverflowError("the store can't hold it")
        await super().write(batch, owner=owner, epoch=epoch)


async def test_only_the_guilty_trigger_of_a_batch_fails_and_is_rejected_for_all_to_see(
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # F4
    monkeypatch.setattr("rota_common.bus.failure_policy.backoff", lambda *_, **__: 0.01)
    made = InMemoryHarness()
    made.adapters.queue.__class__ = Choosy
    async with made.open() as harness:
        await harness.keep(a_robot(config={"quota": {"max": 100}}))
        async with harness.scheduler(pool=100):
            for number in range(16):
                await harness.trigger(f"bad{number}", member_id="ann")
                await harness.trigger(f"good{number}")
            assert sorted(await harness.slots(16)) == sorted(f"good{number}" for number in range(16))
            await harness.rejected(16)
            read = await harness.read("bad0")
            made.adapters.queue.mended = True  # type: ignore[attr-defined]  # it is a Choosy
            await harness.trigger("bad0", again=1)
            assert "bad0" in await harness.slots(17)
    rejected = await harness.facts(catalog.TRIGGER_REJECTED)
    assert {(fact.reason, fact.trigger_id[:3]) for fact in rejected} == {(RejectReason.FAILED, "bad")}
    assert read.state is TriggerState.REJECTED
    assert "the store can't hold it" in read.message
    assert len(made.bus.dead) == 16


@pytest.mark.parametrize("kind", ["clock", "event"])
async def test_all_that_a_run_causes_has_one_trace(harness: Harness, kind: str) -> None:  # F19
    async with harness.scheduler():
        await harness.trigger("t1", kind)
        await harness.slots(1)
        await harness.finished("t1", status="failed", error="it failed")
        while not await harness.facts(catalog.ROBOT_FAILED):
            await asyncio.sleep(0.02)
    channels = (catalog.TRIGGER_ADMITTED, catalog.EXECUTION_REQUESTED)
    found = {traces.trace_id(event.traceparent) for each in channels for event in await harness.events(each)}
    assert len(found) == 1
    (end,), (failed,) = await harness.events(catalog.EXECUTION_FINISHED), await harness.events(catalog.ROBOT_FAILED)
    assert traces.trace_id(failed.traceparent) == traces.trace_id(end.traceparent)


async def test_runs_by_clock_and_plan_begin_traces_of_their_own(harness: Harness) -> None:  # F19
    clock, (planned, due, later) = SetClock(START), minutes(10, 30, 31)
    await harness.keep(a_clocked(HALF_HOURLY, quota={"max": 2}, rev=2))
    async with harness.scheduler(clock=clock, **QUICK):
        await armed(harness, due)
        await harness.plan("p1", plan_time=planned)
        clock.at = later
        await harness.slots(2)
        await harness.admitted(2)
    expected = {traces.derived(each) for each in (tid(due), plan_key("acme", "ann", "p1"))}
    for channel in (catalog.TRIGGER_ADMITTED, catalog.EXECUTION_REQUESTED):
        assert {event.traceparent for event in await harness.events(channel)} == expected, channel.type
