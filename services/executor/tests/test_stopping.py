"""Ends that come from outside: a robot that is deleted, and the sweeper that tells what nobody told."""

import asyncio
from typing import Any

import pytest
from services.executor.tests.desk import PACE, Desk
from services.executor.tests.lives import begun

from executor.adapters.fakes import InMemoryRuns
from executor.domain.outcomes import Outcome
from executor.domain.run import Run, Signal
from executor.domain.steps import RunTurn, Step
from executor.ports import Scope
from executor.stop_robot import StopRobot
from executor.sweeper import Sweeper
from executor.worker import RunWorker
from rota_common.errors import Transient
from rota_common.testing.samples import MEMBER, NOON, TEAM, SetClock
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.robot_facts import RobotDeletedV1

GONE = RobotDeletedV1(team_id=TEAM, member_id=MEMBER, rev=2)


def stopping(desk: Desk, drive: RunWorker | None = None) -> StopRobot:
    return StopRobot(desk.runs, drive or desk.drive, desk.giving(drive), desk.clock)


async def test_a_waiting_run_of_a_deleted_robot_ends_at_once() -> None:  # TG-20
    desk = Desk()
    await desk.drive.start(begun())
    await stopping(desk)(GONE)
    assert desk.told.facts[-1] == "finished cancelled"
    assert (await desk.found()).execution.error == "the robot was deleted"


async def test_a_run_in_hand_of_a_deleted_robot_ends_at_its_next_write() -> None:  # TG-20
    desk = Desk()
    stop = stopping(desk, desk.worker("second"))

    async def deleted(run: Run, step: Step) -> Outcome:
        if isinstance(step, RunTurn):
            with pytest.raises(Transient, match="1 executions of the robot are still at a step"):
                await stop(GONE)
        return await desk.well(run, step)

    desk.doing = deleted
    await desk.drive.start(begun())
    assert desk.steps[-1] == "RunTurn"
    assert desk.told.facts[-1] == "finished cancelled"
    await stop(GONE)  # the message comes again, and is done with


async def test_an_end_that_was_not_told_is_told_when_the_word_to_stop_comes_again() -> None:  # TG-20
    desk = Desk()
    await desk.drive.start(begun())
    desk.told.away = {"finished cancelled"}
    with pytest.raises(ConnectionError):
        await stopping(desk)(GONE)
    desk.told.away.clear()
    await stopping(desk)(GONE)
    assert desk.told.facts[-1] == "finished cancelled"


async def test_an_end_that_a_sweeper_could_not_tell_is_told_by_the_next() -> None:
    desk = Desk()
    await desk.drive.start(begun())
    await desk.runs.send_signal(Scope(TEAM, MEMBER), Signal(id="w1", action="stop", reason="no more", at=NOON))
    desk.told.away = {"finished cancelled"}
    with pytest.raises(ConnectionError):
        await desk.drive.resume("e1", from_sweeper=True)
    assert (await desk.found()).execution.status is ExecStatus.CANCELLED
    desk.told.away.clear()
    desk.clock.forward(PACE.patience)
    assert [run_id async for run_id in desk.runs.overdue(desk.clock(), limit=10)] == ["e1"]
    await desk.drive.resume("e1", from_sweeper=True)
    assert desk.told.facts[-1] == "finished cancelled"
    assert [run_id async for run_id in desk.runs.overdue(desk.clock.forward(9999), limit=10)] == []


async def test_one_bad_run_keeps_no_other_from_being_swept() -> None:
    runs, clock = InMemoryRuns(), SetClock()
    for run_id in ("bad", "good"):
        epoch = await runs.create(begun().with_execution(execution_id=run_id), owner="dead", until=NOON)
        assert epoch == 1
    seen, both = list[str](), asyncio.Event()

    class Driving:
        async def resume(self, run_id: str, *, from_sweeper: bool) -> None:
            seen.append(run_id)
            if len(seen) >= 2:
                both.set()
            if run_id == "bad":
                raise ValueError("a bug")

    given: Any = Driving()
    give: Any = None  # nobody is late
    loop = asyncio.create_task(Sweeper(runs, given, give, clock, interval=60).run())
    await asyncio.wait_for(both.wait(), 5)
    loop.cancel()
    assert sorted(seen) == ["bad", "good"]
