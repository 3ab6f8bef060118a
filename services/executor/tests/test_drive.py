"""The loop around the domain: what is saved, asked and told, in which order, whatever happens in between."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest
from services.executor.tests.lives import DELIVERED, GOOD, answer, begun

from executor import domain
from executor.adapters.fakes import MemoryRuns
from executor.drive import Drive, Pace
from executor.run import Run, Waiting
from executor.steps import Outcome, Question, RequestDelivery, RequestLearning, RunTurn, Step, StepDelayed, VerdictGiven
from executor.stop_robot import StopRobot
from executor.sweep import Sweep
from rota_common.errors import Transient
from rota_common.testing.samples import MEMBER, NOON, TEAM, SetClock
from rota_contracts.execution import ExecStatus
from rota_contracts.robot import RobotDeletedV1

PACE = Pace(lease=10, patience=60)
Doing = Callable[[Run, Step], Awaitable[Outcome]]


class Told:
    """What was announced, and how the run was stored at that moment."""

    def __init__(self, runs: MemoryRuns) -> None:
        self._runs = runs
        self.facts: list[str] = []
        self.asked: list[tuple[Question, Run | None]] = []
        self.away: set[str] = set()

    async def _tell(self, fact: str) -> None:
        if fact in self.away:
            raise ConnectionError("NATS is away")
        self.facts.append(fact)

    async def started(self, run: Run) -> None:
        await self._tell("started")

    async def finished(self, run: Run) -> None:
        await self._tell(f"finished {run.execution.status}")

    async def ask(self, run: Run, question: Question) -> None:
        self.asked.append((question, await self._runs.find(run.id)))
        await self._tell(f"asked {run.waiting} {run.asks}")

    async def beginning(self, run: Run, step: Step) -> None: ...

    async def happened(self, run: Run, outcome: Outcome) -> None: ...


class Desk:
    """A worker with its surroundings. `doing` may be exchanged for what should happen while a step is carried out."""

    def __init__(self, *, expected: str = "", pace: Pace = PACE, runs: MemoryRuns | None = None) -> None:
        self.runs, self.clock, self.steps = runs or MemoryRuns(), SetClock(), list[str]()
        self.told = Told(self.runs)
        self._expected = expected
        self.doing: Doing = self.well
        self.drive = self.worker("first", pace)

    def worker(self, owner: str, pace: Pace = PACE) -> Drive:
        given: dict[str, Any] = {"owner": owner, "pace": pace, "clock": self.clock, "random": Random(7)}
        perform: Any = self._perform
        announce: Any = self.told
        return Drive(self.runs, perform, announce, **given)

    async def well(self, run: Run, step: Step) -> Outcome:
        return answer(run, step, tasks=1, expected=self._expected)

    async def _perform(self, run: Run, step: Step) -> Outcome:
        self.steps.append(type(step).__name__)
        return await self.doing(run, step)

    async def found(self) -> Run:
        run = await self.runs.find("e1")
        assert run is not None
        return run

    async def verdict(self) -> VerdictGiven:
        step: Any = domain.next_step(await self.found())
        return VerdictGiven(step.validation_id, step.task.id, GOOD, None)


async def test_a_run_goes_on_until_it_is_another_services_turn() -> None:  # EX-21
    desk = Desk(expected="a result")
    await desk.drive.start(begun())
    assert desk.steps == ["RecallLessons", "AskAgent", "AskAgent", "RunTurn", "CheckRules"]
    assert sorted(desk.told.facts) == ["asked validation 1", "started"]


async def test_that_it_waits_is_saved_before_the_other_is_asked() -> None:
    desk = Desk()
    await desk.drive.start(begun())
    ((question, stored),) = desk.told.asked
    assert isinstance(question, RequestDelivery)
    assert stored is not None
    assert (stored.waiting, stored.execution.content is not None) == (Waiting.DELIVERY, True)


async def test_a_request_that_could_not_be_sent_is_sent_when_the_message_comes_again() -> None:
    desk = Desk()
    desk.told.away = {"asked delivery 1"}
    with pytest.raises(ConnectionError):
        await desk.drive.start(begun())
    done = list(desk.steps)
    desk.told.away.clear()
    await desk.drive.start(begun())
    assert "asked delivery 1" in desk.told.facts  # the same request: nobody can tell the difference
    assert desk.steps == [*done, "RecallLessons"]  # a question, asked before it is known that the run is there


async def test_that_it_began_is_told_when_the_message_comes_again() -> None:
    desk = Desk()
    desk.told.away = {"started"}
    with pytest.raises(ConnectionError):
        await desk.drive.start(begun())
    assert "asked delivery 1" in desk.told.facts  # what was begun is gone on with all the same
    desk.told.away.clear()
    await desk.drive.start(begun())
    assert desk.told.facts.count("started") == 1


async def test_an_answer_takes_a_run_to_its_end() -> None:
    desk = Desk(expected="a result")
    await desk.drive.start(begun())
    await desk.drive.resume("e1", await desk.verdict())
    await desk.drive.resume("e1", answer(await desk.found(), RequestDelivery("r1")))
    await desk.drive.resume("e1", answer(await desk.found(), RequestLearning()))
    ways = ["asked validation 1", "asked delivery 1", "asked learning 1", "finished completed"]
    assert [fact for fact in desk.told.facts if fact != "started"] == ways
    assert (await desk.found()).execution.delivery == DELIVERED


async def test_an_answer_that_comes_twice_makes_the_same_request_again_and_nothing_else() -> None:
    desk = Desk(expected="a result")
    await desk.drive.start(begun())
    verdict = await desk.verdict()
    await desk.drive.resume("e1", verdict)
    before, steps = await desk.found(), list(desk.steps)
    await desk.drive.resume("e1", verdict)
    assert (await desk.found(), desk.steps) == (before, steps)
    assert desk.told.facts[-2:] == ["asked delivery 1", "asked delivery 1"]


async def test_an_answer_to_a_run_that_is_over_tells_its_end_again() -> None:
    desk = Desk()
    await desk.drive.start(begun())
    await desk.drive.resume("e1", answer(await desk.found(), RequestDelivery("r1")))
    learnt = answer(await desk.found(), RequestLearning())
    await desk.drive.resume("e1", learnt)
    await desk.drive.resume("e1", learnt)
    assert desk.told.facts[-2:] == ["finished completed", "finished completed"]


async def test_an_answer_to_nobody_is_waited_with() -> None:
    with pytest.raises(Transient, match="isn't there yet"):
        await Desk().drive.resume("e1", answer(begun(), RequestDelivery("r1")))


async def test_an_answer_waits_while_the_run_is_in_hand() -> None:
    desk = Desk(expected="a result")
    go = asyncio.Event()

    async def slowly(run: Run, step: Step) -> Outcome:
        if isinstance(step, RunTurn):
            await go.wait()
        return await desk.well(run, step)

    desk.doing = slowly
    working = asyncio.create_task(desk.drive.start(begun()))
    while "RunTurn" not in desk.steps:
        await asyncio.sleep(0)
    with pytest.raises(Transient, match="is being worked on"):
        await desk.worker("second").resume("e1", answer(await desk.found(), RequestDelivery("r1")))
    await desk.worker("second").resume("e1")  # nothing is lost without it: it is the first one's
    go.set()
    await working
    assert desk.steps.count("RunTurn") == 1


async def test_a_worker_that_was_taken_for_dead_writes_nothing() -> None:
    desk = Desk()
    second = desk.worker("second")

    async def overtaken(run: Run, step: Step) -> Outcome:
        if isinstance(step, RunTurn):
            desk.doing = desk.well
            desk.clock.forward(PACE.lease)
            await second.resume("e1")
        return await desk.well(run, step)

    desk.doing = overtaken
    with pytest.raises(Transient, match="somebody else's by now"):
        await desk.drive.start(begun())
    after = await desk.found()
    assert after.waiting is Waiting.DELIVERY
    assert [fact for fact in desk.told.facts if fact.startswith("asked")] == ["asked delivery 1"]


async def test_a_delayed_step_is_given_back_until_its_time() -> None:
    desk = Desk()

    async def busy(run: Run, step: Step) -> Outcome:
        return StepDelayed("rate limited", 30) if isinstance(step, RunTurn) else await desk.well(run, step)

    desk.doing = busy
    await desk.drive.start(begun())
    due = [run_id async for run_id in desk.runs.overdue(NOON + timedelta(seconds=29), limit=10)]
    assert due == []
    desk.doing = desk.well
    desk.clock.forward(30)
    assert [run_id async for run_id in desk.runs.overdue(desk.clock(), limit=10)] == ["e1"]
    await desk.drive.resume("e1", swept=True)
    assert "asked delivery 1" in desk.told.facts
    assert desk.steps.count("RunTurn") == 2


async def test_past_patience_a_request_is_sent_as_a_new_one() -> None:
    desk = Desk()
    await desk.drive.start(begun())
    desk.clock.forward(PACE.patience - 1)
    await desk.drive.resume("e1", swept=True)
    desk.clock.forward(1)
    await desk.drive.resume("e1", swept=True)
    assert [fact for fact in desk.told.facts if fact.startswith("asked")] == [
        "asked delivery 1",
        "asked delivery 1",
        "asked delivery 2",
    ]


async def test_a_dry_run_is_not_saved_before_something_leaves() -> None:
    saved = list[Run]()

    class Counting(MemoryRuns):
        async def save(self, run: Run, epoch: int) -> Run:
            saved.append(run)
            return await super().save(run, epoch)

    dry, standard = Desk(runs=Counting()), Desk(runs=Counting())
    await dry.drive.start(begun(executor_mode="dryrun"))
    assert saved == []
    await standard.drive.start(begun())
    assert [run.execution.phase for run in saved] == [
        "tasks",
        "run",
        "run",
    ]  # goals, plan, result: no model is asked twice


async def test_a_claim_is_renewed_while_a_step_takes_long_and_through_an_outage() -> None:
    renewals = list[datetime]()
    enough = asyncio.Event()

    class Shaky(MemoryRuns):
        async def renew(self, run_id: str, epoch: int, *, until: datetime) -> None:
            renewals.append(until)
            if len(renewals) == 1:
                raise ConnectionError("the database is away")
            await super().renew(run_id, epoch, until=until)
            enough.set()

    desk = Desk(pace=Pace(lease=0.03, patience=60), runs=Shaky())

    async def slowly(run: Run, step: Step) -> Outcome:
        if isinstance(step, RunTurn):
            await enough.wait()
        return await desk.well(run, step)

    desk.doing = slowly
    await asyncio.wait_for(desk.drive.start(begun()), 5)
    assert len(renewals) >= 2
    assert "asked delivery 1" in desk.told.facts


GONE = RobotDeletedV1(team_id=TEAM, member_id=MEMBER, rev=2)


async def test_a_waiting_run_of_a_deleted_robot_ends_at_once() -> None:  # TG-20
    desk = Desk()
    await desk.drive.start(begun())
    await StopRobot(desk.runs, desk.drive)(GONE)
    assert desk.told.facts[-1] == "finished cancelled"
    assert (await desk.found()).execution.error == "the robot was deleted"


async def test_a_run_in_hand_of_a_deleted_robot_ends_at_its_next_write() -> None:  # TG-20
    desk = Desk()
    stop = StopRobot(desk.runs, desk.worker("second"))

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
        await StopRobot(desk.runs, desk.drive)(GONE)
    desk.told.away.clear()
    await StopRobot(desk.runs, desk.drive)(GONE)
    assert desk.told.facts[-1] == "finished cancelled"


async def test_an_end_that_a_sweeper_could_not_tell_is_told_by_the_next() -> None:
    desk = Desk()
    await desk.drive.start(begun())
    await desk.runs.cancel_all(TEAM, MEMBER, "the robot was deleted")
    desk.told.away = {"finished cancelled"}
    with pytest.raises(ConnectionError):
        await desk.drive.resume("e1", swept=True)
    assert (await desk.found()).execution.status is ExecStatus.CANCELLED
    desk.told.away.clear()
    desk.clock.forward(PACE.patience)
    assert [run_id async for run_id in desk.runs.overdue(desk.clock(), limit=10)] == ["e1"]
    await desk.drive.resume("e1", swept=True)
    assert desk.told.facts[-1] == "finished cancelled"
    assert [run_id async for run_id in desk.runs.overdue(desk.clock.forward(9999), limit=10)] == []


async def test_one_bad_run_keeps_no_other_from_being_swept() -> None:
    runs, clock = MemoryRuns(), SetClock()
    for run_id in ("bad", "good"):
        epoch = await runs.create(begun().seen(execution_id=run_id), owner="dead", until=NOON)
        assert epoch == 1
    seen, both = list[str](), asyncio.Event()

    class Driving:
        async def resume(self, run_id: str, *, swept: bool) -> None:
            seen.append(run_id)
            if len(seen) >= 2:
                both.set()
            if run_id == "bad":
                raise ValueError("a bug")

    given: Any = Driving()
    loop = asyncio.create_task(Sweep(runs, given, clock, interval=60).run())
    await asyncio.wait_for(both.wait(), 5)
    loop.cancel()
    assert sorted(seen) == ["bad", "good"]
