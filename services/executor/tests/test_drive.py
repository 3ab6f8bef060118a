"""The loop around the domain: what is saved, asked and told, in which order, whatever happens in between."""

import asyncio
from datetime import datetime, timedelta

import pytest
from services.executor.tests.desk import PACE, Desk, Held
from services.executor.tests.lives import DELIVERED, answer, begun

from executor.adapters.fakes import InMemoryRuns
from executor.domain.outcomes import Outcome, StepDelayed
from executor.domain.run import Run, Waiting
from executor.domain.steps import RequestDelivery, RequestLearning, RunTurn, Step
from executor.worker import Timeouts
from rota_common.errors import Transient
from rota_common.testing.samples import NOON


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
    held = Held(desk, RunTurn)
    working = asyncio.create_task(desk.drive.start(begun()))
    await held.reached.wait()
    with pytest.raises(Transient, match="is being worked on"):
        await desk.worker("second").resume("e1", answer(await desk.found(), RequestDelivery("r1")))
    await desk.worker("second").resume("e1")  # nothing is lost without it: it is the first one's
    held.go.set()
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
    await desk.drive.resume("e1", from_sweeper=True)
    assert "asked delivery 1" in desk.told.facts
    assert desk.steps.count("RunTurn") == 2


async def test_past_patience_a_request_is_sent_as_a_new_one() -> None:
    desk = Desk()
    await desk.drive.start(begun())
    desk.clock.forward(PACE.patience - 1)
    await desk.drive.resume("e1", from_sweeper=True)
    desk.clock.forward(1)
    await desk.drive.resume("e1", from_sweeper=True)
    assert [fact for fact in desk.told.facts if fact.startswith("asked")] == [
        "asked delivery 1",
        "asked delivery 1",
        "asked delivery 2",
    ]


async def test_a_dry_run_is_not_saved_before_something_leaves() -> None:
    saved = list[Run]()

    class Counting(InMemoryRuns):
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

    class Shaky(InMemoryRuns):
        async def renew(self, run_id: str, epoch: int, *, until: datetime) -> None:
            renewals.append(until)
            if len(renewals) == 1:
                raise ConnectionError("the database is away")
            await super().renew(run_id, epoch, until=until)
            enough.set()

    desk = Desk(pace=Timeouts(lease=0.03, patience=60), runs=Shaky())

    async def slowly(run: Run, step: Step) -> Outcome:
        if isinstance(step, RunTurn):
            await enough.wait()
        return await desk.well(run, step)

    desk.doing = slowly
    await asyncio.wait_for(desk.drive.start(begun()), 5)
    assert len(renewals) >= 2
    assert "asked delivery 1" in desk.told.facts
