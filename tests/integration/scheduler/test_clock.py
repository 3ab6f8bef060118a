"""A robot's clock wakes it, over a real bus and a real database."""

import asyncio
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from rota_common.stores.mongo import Mongo
from rota_common.testing.samples import SetClock, a_robot
from rota_contracts import catalog
from rota_contracts.messages.execution import TriggerState
from rota_contracts.messages.trigger import RejectReason, TriggerType
from rota_contracts.robots.robot import Robot
from scheduler.adapters.mongo_queue import MongoQueue
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
from tests.integration.scheduler.harness import World

SHANGHAI = {"mode": "times", "times": ["09:00", "17:30"], "days": ["Mon", "Tue"], "tz": "Asia/Shanghai"}
STILL = {
    "paused": a_clocked(HALF_HOURLY, robot_status="paused", rev=2),
    "in maintenance": a_clocked(HALF_HOURLY, robot_status="maintenance", rev=2),
    "never by itself": a_clocked(HALF_HOURLY, autonomous_mode=False, rev=2),
    "not by its clock": a_robot(config={"clock": HALF_HOURLY, "triggers": {"clock": {"enabled": False}}}, rev=2),
    "without a clock": a_robot(rev=2),
    "deleted": a_clocked(HALF_HOURLY, deleted=True, rev=2),
}


async def test_a_clock_of_times_wakes_its_robot_when_it_is_due(world: World) -> None:  # SC-01 SC-02 SC-03 SC-08
    clock = SetClock(START)
    async with world.scheduler(clock=clock, **QUICK):
        await world.keep(a_clocked(SHANGHAI, rev=2))
        due = START.replace(day=4, hour=1)
        await armed(world, due)  # 17:30 of Monday is over in Shanghai
        clock.at = due
        await world.slots(1)
        await world.admitted(1)
        await armed(world, due.replace(hour=9, minute=30))
        assert (await world.read(tid(due))).state is TriggerState.ADMITTED
    (request,) = await requests(world)
    (admitted,) = await world.facts(catalog.TRIGGER_ADMITTED)
    context = request.input.clock
    assert context is not None
    assert (context.tz, context.hour, context.day_of_week, context.day_of_month) == ("Asia/Shanghai", 9, "Tuesday", 4)
    assert context.now == datetime(2036, 3, 4, 9, tzinfo=ZoneInfo("Asia/Shanghai"))
    assert (request.type, request.scheduled_at, request.robot_rev) == (TriggerType.CLOCK, due, 2)
    assert (admitted.trigger_id, admitted.type) == (tid(due), TriggerType.CLOCK)


async def test_an_interval_counts_from_when_its_clock_was_set(world: World) -> None:  # SC-04
    clock, dues = SetClock(START), minutes(30, 60, 90)
    async with world.scheduler(clock=clock, **QUICK):
        await world.keep(a_clocked(HALF_HOURLY))
        await armed(world, dues[0])
        for number, due in enumerate(dues, 1):
            clock.at = due + timedelta(seconds=7)  # found a little later, and the next isn't
            await world.slots(number)
            await world.finished(tid(due))
            await armed(world, due + timedelta(minutes=30))
    assert await instants(world) == dues


async def test_an_interval_keeps_its_pace_over_an_unrelated_change_and_over_a_pause(world: World) -> None:  # SC-04
    clock = SetClock(START)
    async with world.scheduler(clock=clock, **QUICK):
        await world.keep(a_clocked(HALF_HOURLY))
        await armed(world, minutes(30)[0])
        clock.at = minutes(10)[0]
        await world.keep(a_clocked(HALF_HOURLY, quota={"max": 7}, rev=2))
        assert (await once(world, lambda state: state.max_running == 7)).next_run == minutes(30)[0]
        await world.keep(a_clocked(HALF_HOURLY, robot_status="paused", rev=3))
        await armed(world, None)
        clock.at = minutes(65)[0]
        await world.keep(a_clocked(HALF_HOURLY, rev=4))
        await armed(world, minutes(90)[0])
        await world.keep(a_clocked({"mode": "interval", "every": "20m"}, rev=5))
        await armed(world, minutes(85)[0])  # another pace counts from now


@pytest.mark.parametrize("still", STILL.values(), ids=STILL)
async def test_a_robot_that_is_not_to_run_is_not_woken(
    world: World, mongo: Mongo, still: Robot
) -> None:  # TG-02 TG-18 TG-20
    clock = SetClock(START)
    async with world.scheduler(clock=clock, **QUICK):
        await world.keep(a_clocked(HALF_HOURLY))
        await world.keep(a_clocked(HALF_HOURLY, member_id="bob"))
        await armed(world, minutes(30)[0], "bob")
        await armed(world, minutes(30)[0])
        await world.keep(still)
        while await mongo.database["clocks"].count_documents({"look_at": {"$exists": True}}) > 1:
            await asyncio.sleep(0.02)
        clock.at = minutes(30)[0]
        assert await world.slots(1) == [tid(minutes(30)[0], "bob")]
        await armed(world, minutes(60)[0], "bob")
    assert len(await requests(world)) == 1
    assert await world.facts(catalog.TRIGGER_REJECTED) == []


async def test_a_robot_that_is_resumed_wakes_from_then_on(world: World) -> None:  # TG-18
    clock = SetClock(START)
    noon_and_six = {"mode": "times", "times": ["13:00", "18:00"], "catch_up": {"policy": "all"}}
    async with world.scheduler(clock=clock, **QUICK):
        await world.keep(a_clocked(noon_and_six, robot_status="paused"))
        assert (await once(world, lambda state: bool(state.clock))).next_run is None
        clock.at = minutes(100)[0]
        await world.keep(a_clocked(noon_and_six, rev=2))
        await armed(world, START.replace(hour=18))
        clock.at = START.replace(hour=18)
        await world.slots(1)
    assert await instants(world) == [START.replace(hour=18)]
    assert await world.facts(catalog.TRIGGER_MISSED) == []


async def test_a_robot_whose_last_run_has_failed_is_woken_too(world: World) -> None:  # TG-18, DEC-15
    clock = SetClock(START)
    failure = {"execution_id": "e0", "message": "no model answered", "at": START}
    async with world.scheduler(clock=clock, **QUICK):
        await world.keep(a_clocked(HALF_HOURLY, error=failure))
        assert (await armed(world, minutes(30)[0])).status == "error"
        clock.at = minutes(30)[0]
        await world.slots(1)


async def test_a_run_that_finds_the_queue_full_is_rejected_for_all_to_see(world: World) -> None:  # SC-10
    clock, dues = SetClock(START), minutes(30, 60, 90)
    async with world.scheduler(clock=clock, **QUICK):
        await world.keep(a_clocked(HALF_HOURLY, quota={"max": 1, "queue": 1}))
        for number, due in enumerate(dues):
            await armed(world, due)
            clock.at = due
            await (world.admitted(number + 1) if number < 2 else world.rejected(1))
        await armed(world, minutes(120)[0])
    (fact,) = await world.facts(catalog.TRIGGER_REJECTED)
    assert (fact.trigger_id, fact.reason, fact.type) == (tid(dues[2]), RejectReason.QUEUE_FULL, TriggerType.CLOCK)


async def test_a_robot_that_is_paused_before_its_run_is_decided_about_does_not_run(
    world: World, mongo: Mongo
) -> None:  # TG-18
    clock, due = SetClock(START), minutes(30)[0]
    elsewhere = MongoQueue(mongo, lease=60)
    await elsewhere.prepare()
    await elsewhere.acquire("elsewhere")  # it finds what is due, and nobody decides
    async with world.scheduler(clock=clock, **QUICK):
        await world.keep(a_clocked(HALF_HOURLY))
        await armed(world, due)
        clock.at = due
        assert (await world.until("queued", tid(due))).message.startswith("it is due")
        await world.keep(a_clocked(HALF_HOURLY, robot_status="paused", rev=2))
        await once(world, lambda state: not state.active)
        await elsewhere.release("elsewhere")
        await world.rejected(1)
    (fact,) = await world.facts(catalog.TRIGGER_REJECTED)
    assert (fact.trigger_id, fact.reason) == (tid(due), RejectReason.NOT_ACTIVE)
    assert await requests(world) == []
