"""The states of robots, and the facts of their failures and recoveries (TG-18, TG-22)."""

from datetime import timedelta

import pytest

from rota_common.testing.samples import MEMBER, SetClock, a_robot
from rota_contracts import catalog
from rota_contracts.ids import execution_id
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.robots.robot import RobotStatus
from tests.integration.scheduler.clock_harness import (
    HALF_HOURLY,
    QUICK,
    START,
    a_clocked,
    armed,
    minutes,
    once,
    published,
    states,
)
from tests.integration.scheduler.harness import Harness


async def test_a_robots_state_holds_its_runs_and_its_next_run(harness: Harness) -> None:  # TG-22
    clock = SetClock(START)
    async with harness.scheduler(clock=clock, **QUICK):
        await harness.keep(a_clocked(HALF_HOURLY, quota={"max": 1, "queue": 3}))
        idle = await armed(harness, minutes(30)[0])
        await harness.trigger("t1")
        await harness.slots(1)
        for number in (2, 3):
            await harness.trigger(f"t{number}")
            await harness.admitted(number)
        busy = await once(harness, lambda state: state.queued == 2)
        await harness.started("t1")
        await harness.parked("t1")
        parked = await once(harness, lambda state: state.parked == 1)
        await harness.slots(2)
        clock.forward(60)
        for name in ("t2", "t3"):
            await harness.finished(name)
        over = await once(harness, lambda state: state.queued + state.running == 0 and state.last_run is not None)
        (ahead,) = await states(harness, MEMBER, upcoming=3)
    assert (idle.status, idle.active, idle.running, idle.last_run, idle.last_status) == ("idle", True, 0, None, None)
    assert idle.clock == "every 30 minutes, counted from when the clock was set"
    assert (busy.status, busy.running, busy.running_ids) == ("working", 1, [execution_id("t1")])
    assert (busy.max_running, busy.max_queued) == (1, 3)
    assert (parked.running_ids, parked.queued) == ([execution_id("t2")], 1)
    assert (over.status, over.last_status, over.parked) == ("idle", ExecStatus.COMPLETED, 1)
    assert over.last_run is not None
    assert START <= over.last_run <= START + timedelta(seconds=60)
    assert ahead.upcoming == minutes(30, 60, 90)


async def test_a_paused_robot_has_that_status_and_no_next_run(harness: Harness) -> None:  # TG-18 TG-22
    async with harness.scheduler():
        await harness.keep(a_clocked(HALF_HOURLY, robot_status="paused"))
        (state,) = [await once(harness, lambda state: bool(state.clock))]
        (ahead,) = await states(harness, MEMBER, upcoming=3)
        await harness.keep(a_clocked(HALF_HOURLY, autonomous_mode=False, rev=2))
        off = await once(harness, lambda state: state.status is RobotStatus.IDLE)
    assert (state.status, state.active, state.next_run) == ("paused", False, None)
    assert ahead.upcoming == []
    assert not off.active


async def test_robots_are_returned_in_the_order_of_the_question_and_other_teams_not_at_all(
    harness: Harness,
) -> None:  # TG-22 TG-23
    async with harness.scheduler():
        await harness.keep(a_robot(member_id="bob"))
        await harness.keep(a_robot(member_id="dot", deleted=True))
        await harness.keep(a_robot(team_id="globex", member_id="eve"))
        await once(harness, lambda state: True, "bob")
        found = await states(harness, "bob", "eve", "missing", "dot", MEMBER, "bob")
        theirs = await states(harness, MEMBER, "eve", team="globex")
    assert [state.member_id for state in found] == ["bob", MEMBER]
    assert [(state.team_id, state.member_id) for state in theirs] == [("globex", "eve")]


async def run(harness: Harness, number: int, status: str) -> None:
    name = f"t{number}"
    await harness.trigger(name)
    await harness.slots(number)
    await harness.finished(name, status=status, error="no model answered" if status == "failed" else None)
    await once(harness, lambda state: state.running == 0)


async def test_a_failure_is_published_once_until_a_run_completes(harness: Harness) -> None:  # TG-18
    async with harness.scheduler():
        for number, status in enumerate(["completed", "failed", "failed", "cancelled", "completed", "completed"], 1):
            await run(harness, number, status)
        await run(harness, 7, "failed")
        failures = await published(harness, catalog.ROBOT_FAILED, 2)
        (recovery,) = await published(harness, catalog.ROBOT_RECOVERED, 1)
    assert [fact.execution_id for fact in failures] == [execution_id("t2"), execution_id("t7")]
    assert {fact.message for fact in failures} == {"no model answered"}
    assert (recovery.execution_id, recovery.member_id) == (execution_id("t5"), MEMBER)


@pytest.mark.once
async def test_what_the_gateway_has_noted_is_what_holds(harness: Harness) -> None:  # TG-18
    failure = {"execution_id": "e0", "message": "it failed", "at": START}
    async with harness.scheduler():
        await harness.keep(a_robot(error=failure, rev=2))
        assert (await once(harness, lambda state: state.error is not None)).status is RobotStatus.ERROR
        await run(harness, 1, "failed")  # published before this scheduler started
        await harness.keep(a_robot(rev=3))  # its owner has set the status
        await once(harness, lambda state: state.error is None)
        await run(harness, 2, "completed")
        await run(harness, 3, "failed")
        (failed,) = await published(harness, catalog.ROBOT_FAILED, 1)
    assert failed.execution_id == execution_id("t3")
    assert await harness.facts(catalog.ROBOT_RECOVERED) == []
