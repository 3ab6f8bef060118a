"""A robot's clock starts its runs."""

import asyncio
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from services.scheduler.tests.fixtures import InMemoryHarness

from rota_common.testing.samples import SetClock, a_robot
from rota_contracts import catalog
from rota_contracts.messages.execution import TriggerState
from rota_contracts.messages.trigger import RejectReason, TriggerType
from rota_contracts.robots.robot import Robot
from tests.integration.scheduler.clock_harness import (
    HALF_HOURLY,
    QUICK,
    START,
    a_clocked,
    armed,
    instants,
    minutes,
    once,
    requests,
    tid,
)
from tests.integration.scheduler.harness import Harness

SHANGHAI = {"mode": "times", "times": ["09:00", "17:30"], "days": ["Mon", "Tue"], "tz": "Asia/Shanghai"}
STILL = {
    "paused": a_clocked(HALF_HOURLY, robot_status="paused", rev=2),
    "in maintenance": a_clocked(HALF_HOURLY, robot_status="maintenance", rev=2),
    "never by itself": a_clocked(HALF_HOURLY, autonomous_mode=False, rev=2),
    "not by its clock": a_robot(config={"clock": HALF_HOURLY, "triggers": {"clock": {"enabled": False}}}, rev=2),
    "without a clock": a_robot(rev=2),
    "deleted": a_clocked(HALF_HOURLY, deleted=True, rev=2),
}


async def test_a_clock_of_times_wakes_its_robot_when_it_is_due(harness: Harness) -> None:  # SC-01 SC-02 SC-03 SC-08
    clock = SetClock(START)
    async with harness.scheduler(clock=clock, **QUICK):
        await harness.keep(a_clocked(SHANGHAI, rev=2))
        due = START.replace(day=4, hour=1)
        await armed(harness, due)  # 17:30 of Monday is over in Shanghai
        clock.at = due
        await harness.slots(1)
        await harness.admitted(1)
        await armed(harness, due.replace(hour=9, minute=30))
        assert (await harness.read(tid(due))).state is TriggerState.ADMITTED
    (request,) = await requests(harness)
    (admitted,) = await harness.facts(catalog.TRIGGER_ADMITTED)
    context = request.input.clock
    assert context is not None
    assert (context.tz, context.hour, context.day_of_week, context.day_of_month) == ("Asia/Shanghai", 9, "Tuesday", 4)
    assert context.now == datetime(2036, 3, 4, 9, tzinfo=ZoneInfo("Asia/Shanghai"))
    assert (request.type, request.scheduled_at, request.robot_rev) == (TriggerType.CLOCK, due, 2)
    assert (admitted.trigger_id, admitted.type) == (tid(due), TriggerType.CLOCK)


async def test_an_interval_counts_from_when_its_clock_was_set(harness: Harness) -> None:  # SC-04
    clock, dues = SetClock(START), minutes(30, 60, 90)
    async with harness.scheduler(clock=clock, **QUICK):
        await harness.keep(a_clocked(HALF_HOURLY))
        await armed(harness, dues[0])
        for number, due in enumerate(dues, 1):
            clock.at = due + timedelta(seconds=7)  # found a little later, and the next isn't
            await harness.slots(number)
            await harness.finished(tid(due))
            await armed(harness, due + timedelta(minutes=30))
    assert await instants(harness) == dues


async def test_an_interval_keeps_its_pace_over_an_unrelated_change_and_over_a_pause(harness: Harness) -> None:  # SC-04
    clock = SetClock(START)
    async with harness.scheduler(clock=clock, **QUICK):
        await harness.keep(a_clocked(HALF_HOURLY))
        await armed(harness, minutes(30)[0])
        clock.at = minutes(10)[0]
        await harness.keep(a_clocked(HALF_HOURLY, quota={"max": 7}, rev=2))
        assert (await once(harness, lambda state: state.max_running == 7)).next_run == minutes(30)[0]
        await harness.keep(a_clocked(HALF_HOURLY, robot_status="paused", rev=3))
        await armed(harness, None)
        clock.at = minutes(65)[0]
        await harness.keep(a_clocked(HALF_HOURLY, rev=4))
        await armed(harness, minutes(90)[0])
        await harness.keep(a_clocked({"mode": "interval", "every": "20m"}, rev=5))
        await armed(harness, minutes(85)[0])  # another pace counts from now


async def test_a_robot_that_is_resumed_wakes_from_then_on(harness: Harness) -> None:  # TG-18
    clock = SetClock(START)
    noon_and_six = {"mode": "times", "times": ["13:00", "18:00"], "catch_up": {"policy": "all"}}
    async with harness.scheduler(clock=clock, **QUICK):
        await harness.keep(a_clocked(noon_and_six, robot_status="paused"))
        assert (await once(harness, lambda state: bool(state.clock))).next_run is None
        clock.at = minutes(100)[0]
        await harness.keep(a_clocked(noon_and_six, rev=2))
        await armed(harness, START.replace(hour=18))
        clock.at = START.replace(hour=18)
        await harness.slots(1)
    assert await instants(harness) == [START.replace(hour=18)]
    assert await harness.facts(catalog.TRIGGER_MISSED) == []


async def test_a_robot_whose_last_run_has_failed_is_woken_too(harness: Harness) -> None:  # TG-18, DEC-15
    clock = SetClock(START)
    failure = {"execution_id": "e0", "message": "no model answered", "at": START}
    async with harness.scheduler(clock=clock, **QUICK):
        await harness.keep(a_clocked(HALF_HOURLY, error=failure))
        assert (await armed(harness, minutes(30)[0])).status == "error"
        clock.at = minutes(30)[0]
        await harness.slots(1)


async def test_a_run_that_finds_the_queue_full_is_rejected_for_all_to_see(harness: Harness) -> None:  # SC-10
    clock, dues = SetClock(START), minutes(30, 60, 90)
    async with harness.scheduler(clock=clock, **QUICK):
        await harness.keep(a_clocked(HALF_HOURLY, quota={"max": 1, "queue": 1}))
        for number, due in enumerate(dues):
            await armed(harness, due)
            clock.at = due
            await (harness.admitted(number + 1) if number < 2 else harness.rejected(1))
        await armed(harness, minutes(120)[0])
    (fact,) = await harness.facts(catalog.TRIGGER_REJECTED)
    assert (fact.trigger_id, fact.reason, fact.type) == (tid(dues[2]), RejectReason.QUEUE_FULL, TriggerType.CLOCK)


@pytest.mark.parametrize("still", STILL.values(), ids=STILL)
async def test_a_robot_that_is_not_to_run_is_not_woken(
    harness: InMemoryHarness, still: Robot
) -> None:  # TG-02 TG-18 TG-20
    clock = SetClock(START)
    async with harness.scheduler(clock=clock, **QUICK):
        await harness.keep(a_clocked(HALF_HOURLY))
        await harness.keep(a_clocked(HALF_HOURLY, member_id="bob"))
        await armed(harness, minutes(30)[0], "bob")
        await armed(harness, minutes(30)[0])
        await harness.keep(still)
        while len(await harness.adapters.clocks.due(minutes(10_000)[0], 9)) > 1:
            await asyncio.sleep(0.02)
        clock.at = minutes(30)[0]
        assert await harness.slots(1) == [tid(minutes(30)[0], "bob")]
        await armed(harness, minutes(60)[0], "bob")
    assert len(await requests(harness)) == 1
    assert await harness.facts(catalog.TRIGGER_REJECTED) == []


async def test_a_robot_that_is_paused_before_its_run_is_decided_about_does_not_run() -> None:  # TG-18
    clock, due = SetClock(START), minutes(30)[0]
    given = InMemoryHarness(lease=60)
    await given.adapters.queue.acquire("elsewhere")  # due triggers are queued, and none is decided
    async with given.open() as harness, harness.scheduler(clock=clock, **QUICK):
        await harness.keep(a_clocked(HALF_HOURLY))
        await armed(harness, due)
        clock.at = due
        assert (await harness.until("queued", tid(due))).message.startswith("it is due")
        await harness.keep(a_clocked(HALF_HOURLY, robot_status="paused", rev=2))
        await once(harness, lambda state: not state.active)
        await given.adapters.queue.release("elsewhere")
        await harness.rejected(1)
    (fact,) = await harness.facts(catalog.TRIGGER_REJECTED)
    assert (fact.trigger_id, fact.reason) == (tid(due), RejectReason.NOT_ACTIVE)
    assert await requests(harness) == []
