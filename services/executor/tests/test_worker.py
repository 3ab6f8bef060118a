"""The worker around the domain: what it saves, requests and publishes, in which order."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from services.executor.tests.fixtures import DELIVERED, a_process_task, new_run, outcome_of, with_tasks
from services.executor.tests.harness import TIMEOUTS, HeldStep, WorkerHarness

from executor.adapters.in_memory_runs import InMemoryRuns
from executor.domain.outcomes import Outcome, StepDelayed
from executor.domain.run import Run, Waiting
from executor.domain.steps import RecallLessons, RequestDelivery, RequestLearning, RunTurn, Step
from executor.runs.worker import Timeouts
from rota_common.errors import Transient
from rota_common.testing.samples import NOON


async def test_a_run_goes_on_until_it_is_another_services_turn() -> None:  # EX-21
    harness = WorkerHarness(expected="a result")
    await harness.worker.start(new_run())
    assert harness.steps == ["RecallLessons", "AskAgent", "AskAgent", "RunTurn", "CheckRules"]
    assert sorted(harness.published.facts) == ["asked validation 1", "started"]


async def test_that_it_waits_is_saved_before_the_other_is_asked() -> None:
    harness = WorkerHarness()
    await harness.worker.start(new_run())
    ((question, stored),) = harness.published.requests
    assert isinstance(question, RequestDelivery)
    assert stored is not None
    assert (stored.waiting, stored.execution.content is not None) == (Waiting.DELIVERY, True)


async def test_a_request_that_could_not_be_sent_is_sent_when_the_message_comes_again() -> None:
    harness = WorkerHarness()
    harness.published.unavailable = {"asked delivery 1"}
    with pytest.raises(ConnectionError):
        await harness.worker.start(new_run())
    done = list(harness.steps)
    harness.published.unavailable.clear()
    await harness.worker.start(new_run())
    assert "asked delivery 1" in harness.published.facts  # the same request
    again = harness.steps[len(done) :]
    assert (harness.steps[: len(done)], set(again) - {"RecallLessons"}) == (done, set())  # a question changes nothing


async def test_the_start_is_published_when_the_message_is_redelivered() -> None:
    harness = WorkerHarness()
    harness.published.unavailable = {"started"}
    with pytest.raises(ConnectionError):
        await harness.worker.start(new_run())
    assert "asked delivery 1" in harness.published.facts  # what was begun is gone on with all the same
    harness.published.unavailable.clear()
    await harness.worker.start(new_run())
    assert harness.published.facts.count("started") == 1


async def test_an_answer_takes_a_run_to_its_end() -> None:
    harness = WorkerHarness(expected="a result")
    await harness.worker.start(new_run())
    await harness.worker.resume("e1", await harness.verdict())
    await harness.worker.resume("e1", outcome_of(await harness.run(), RequestDelivery("r1")))
    await harness.worker.resume("e1", outcome_of(await harness.run(), RequestLearning()))
    ways = ["asked validation 1", "asked delivery 1", "asked learning 1", "finished completed"]
    assert [fact for fact in harness.published.facts if fact != "started"] == ways
    assert (await harness.run()).execution.delivery == DELIVERED


async def test_an_answer_that_comes_twice_makes_the_same_request_again_and_nothing_else() -> None:
    harness = WorkerHarness(expected="a result")
    await harness.worker.start(new_run())
    verdict = await harness.verdict()
    await harness.worker.resume("e1", verdict)
    before, steps = await harness.run(), list(harness.steps)
    await harness.worker.resume("e1", verdict)
    assert (await harness.run(), harness.steps) == (before, steps)
    assert harness.published.facts[-2:] == ["asked delivery 1", "asked delivery 1"]


async def test_an_answer_to_a_run_that_is_over_publishes_its_end_again() -> None:
    harness = WorkerHarness()
    await harness.worker.start(new_run())
    await harness.worker.resume("e1", outcome_of(await harness.run(), RequestDelivery("r1")))
    learnt = outcome_of(await harness.run(), RequestLearning())
    await harness.worker.resume("e1", learnt)
    await harness.worker.resume("e1", learnt)
    assert harness.published.facts[-2:] == ["finished completed", "finished completed"]


async def test_an_answer_to_an_unknown_run_is_redelivered() -> None:
    with pytest.raises(Transient, match="isn't there yet"):
        await WorkerHarness().worker.resume("e1", outcome_of(new_run(), RequestDelivery("r1")))


async def test_an_answer_whose_run_has_been_missing_for_long_is_dropped() -> None:
    harness, answer = WorkerHarness(), outcome_of(new_run(), RequestDelivery("r1"))
    with pytest.raises(Transient) as missing:
        await harness.worker.resume("e1", answer, sent_at=NOON - timedelta(minutes=14))
    assert missing.value.after is None  # so that the delay grows
    await harness.worker.resume("e1", answer, sent_at=NOON - timedelta(minutes=16))
    assert await harness.runs.find("e1") is None


async def test_an_answer_is_redelivered_while_the_run_is_held() -> None:
    harness = WorkerHarness(expected="a result")
    held = HeldStep(harness, RunTurn)
    working = asyncio.create_task(harness.worker.start(new_run()))
    await held.reached.wait()
    with pytest.raises(Transient, match="is being worked on"):
        await harness.new_worker("second").resume("e1", outcome_of(await harness.run(), RequestDelivery("r1")))
    await harness.new_worker("second").resume("e1")  # nothing is lost without it: it is the first one's
    held.go.set()
    await working
    assert harness.steps.count("RunTurn") == 1


async def test_a_worker_that_was_taken_for_dead_writes_nothing() -> None:
    harness = WorkerHarness()
    second = harness.new_worker("second")

    async def overtaken(run: Run, step: Step) -> Outcome:
        if isinstance(step, RunTurn):
            harness.run_step = harness.succeed
            harness.clock.forward(TIMEOUTS.lease)
            await second.resume("e1")
        return await harness.succeed(run, step)

    harness.run_step = overtaken
    with pytest.raises(Transient, match="another worker's by now"):
        await harness.worker.start(new_run())
    after = await harness.run()
    assert after.waiting is Waiting.DELIVERY
    assert [fact for fact in harness.published.facts if fact.startswith("asked")] == ["asked delivery 1"]


async def test_a_delayed_step_is_given_back_until_its_time() -> None:
    harness = WorkerHarness()

    async def busy(run: Run, step: Step) -> Outcome:
        return StepDelayed("rate limited", 30) if isinstance(step, RunTurn) else await harness.succeed(run, step)

    harness.run_step = busy
    await harness.worker.start(new_run())
    due = [run_id async for run_id in harness.runs.overdue(limit=10)]
    assert due == []
    harness.run_step = harness.succeed
    harness.clock.forward(30)
    assert [run_id async for run_id in harness.runs.overdue(limit=10)] == ["e1"]
    await harness.worker.resume("e1", from_sweeper=True)
    assert "asked delivery 1" in harness.published.facts
    assert harness.steps.count("RunTurn") == 2


async def test_past_patience_a_request_is_sent_as_a_new_one() -> None:
    harness = WorkerHarness()
    await harness.worker.start(new_run())
    harness.clock.forward(TIMEOUTS.patience - 1)
    await harness.worker.resume("e1", from_sweeper=True)
    harness.clock.forward(1)
    await harness.worker.resume("e1", from_sweeper=True)
    assert [fact for fact in harness.published.facts if fact.startswith("asked")] == [
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

    dry, standard = WorkerHarness(runs=Counting()), WorkerHarness(runs=Counting())
    await dry.worker.start(new_run(executor_mode="dryrun"))
    assert saved == []
    await standard.worker.start(new_run())
    phases = [run.execution.phase for run in saved]  # lessons, goals, plan, result with its verdict
    assert phases == ["goals", "tasks", "run", "delivery"]  # no model is asked twice, or with other words


class Saves(InMemoryRuns):
    """What each write but the last has saved, by the kinds of its entries."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds: list[list[str]] = []

    async def save(self, run: Run, epoch: int) -> Run:
        self.kinds.append([entry.kind for entry in run.unsaved])
        return await super().save(run, epoch)


async def test_a_result_is_saved_before_anyone_is_asked_and_with_the_next_call_where_no_one_is() -> None:
    """The last result is saved before the delivery agent is asked, which reads it."""
    rule = {"validation_rules": ["must contain 'x'"]}

    async def saves(*, hooked: bool = False, **task: Any) -> list[list[str]]:
        runs = Saves()
        worker = replace(WorkerHarness(runs=runs).worker, hooked=lambda run: hooked)
        planned = with_tasks(a_process_task(1, **task), a_process_task(2, **task))
        await worker.start(planned.model_copy(update={"unsaved": []}))
        return runs.kinds

    assert await saves() == [["CallsBegun"], ["Used", "RulesAnswered", "CallsBegun"], ["Used", "RulesAnswered"]]
    assert await saves(**rule) == [
        ["CallsBegun"],
        ["Used"],
        ["RulesAnswered", "CallsBegun"],
        ["Used"],
        ["RulesAnswered"],
    ]
    assert await saves(hooked=True) == [["CallsBegun"], ["Used", "RulesAnswered"]] * 2


@pytest.mark.parametrize("slow", [RecallLessons, RunTurn], ids=["the first step", "a later one"])
async def test_a_claim_is_renewed_while_a_step_takes_long_and_through_an_outage(slow: type[Step]) -> None:
    renewals = list[timedelta]()
    enough = asyncio.Event()

    class Shaky(InMemoryRuns):
        async def renew(self, run_id: str, epoch: int, *, lease: timedelta) -> None:
            renewals.append(lease)
            if len(renewals) == 1:
                raise ConnectionError("the database is away")
            await super().renew(run_id, epoch, lease=lease)
            enough.set()

    harness = WorkerHarness(timeouts=Timeouts(lease=0.03, patience=60), runs=Shaky())

    async def slowly(run: Run, step: Step) -> Outcome:
        if isinstance(step, slow):
            await enough.wait()
        return await harness.succeed(run, step)

    harness.run_step = slowly
    await asyncio.wait_for(harness.worker.start(new_run()), 5)
    assert len(renewals) >= 2
    assert "asked delivery 1" in harness.published.facts
