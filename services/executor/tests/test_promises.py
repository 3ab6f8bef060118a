"""Processes that promise their result: the callback, and the result that it takes (TG-01)."""

import asyncio
from datetime import timedelta

import pytest
from services.executor.tests.fixtures import EQUIPPED, SECRET, a_process_task, advance, new_run, with_tasks
from services.executor.tests.harness import StepHarness, WorkerHarness
from services.executor.tests.test_callbacks import calling, waiting

from executor.adapters.in_memory import InMemoryBlobs, ScriptedModel
from executor.domain import lifecycle
from executor.domain.run import Run
from executor.domain.steps import MakeCalls, Park
from executor.runs.signals import TakeResult
from rota_common.testing.samples import NOON, TEAM
from rota_contracts.messages.callback import CallBack, CallbackReply
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.process import ProcessCall


async def later(name: str, call: ProcessCall) -> str | None:
    return None


def shop() -> StepHarness:
    made = StepHarness(ScriptedModel())
    made.processes._answer = later
    return made


async def test_each_call_has_an_unguessable_callback_of_its_own() -> None:
    made, paths = shop(), set[str]()
    for _ in range(20):
        run = await made.until(with_tasks(a_process_task(1)), lambda run: run.blocked)
        assert lifecycle.next_step(run) == Park()
        paths.add(made.processes.calls[-1][1].callback)
        assert made.processes.calls[-1][1].callback == f"/v1/callbacks/{run.callbacks[0].id}"
    assert len(paths) == 20
    assert min(len(path.removeprefix("/v1/callbacks/")) for path in paths) >= 32  # 24 random bytes


async def test_an_answer_at_once_is_the_result_as_ever() -> None:
    made = StepHarness(ScriptedModel())
    run = await made.task_done(with_tasks(a_process_task(1)))
    assert (run.execution.results[0].status, run.promised) == ("completed", [])


async def test_in_a_dry_run_nothing_is_promised() -> None:  # EX-07
    made = shop()
    dry = with_tasks(a_process_task(1), run=new_run(robot=EQUIPPED, executor_mode="dryrun"))
    run = await made.task_done(dry)
    assert (run.execution.results[0].status, run.callbacks, made.processes.calls) == ("completed", [], [])


async def test_a_promise_of_a_call_without_a_callback_is_a_failure() -> None:
    made = shop()
    run = advance(with_tasks(a_process_task(1)))
    without = run.model_copy(update={"callbacks": []})
    assert isinstance(lifecycle.next_step(without), MakeCalls)
    run = await made.step(without)
    assert "the call had no callback" in (run.execution.results[0].error or "")


class Taking:
    """A run in a store, and the use case that takes its result."""

    def __init__(self) -> None:
        self.harness = WorkerHarness()
        self.give = self.harness.sender()
        blobs = InMemoryBlobs()
        self.take = TakeResult(runs=self.harness.runs, blobs=blobs, send=self.give, clock=self.harness.clock)

    async def keep(self, run: Run) -> None:
        assert await self.harness.runs.create(run, owner="first", lease=timedelta(0)) == 1
        await self.harness.runs.release(run, 1, check_in=None)

    async def finished(self) -> Run:
        await self.give.idle()
        return await self.harness.run()


async def test_a_result_is_kept_as_text_and_its_run_goes_on(subtests: pytest.Subtests) -> None:
    for output, kept in [
        ({"paid": True}, '{"paid": true}'),
        ("done", "done"),
        (None, "null"),
        ([1, "ü"], '[1, "ü"]'),
        (0, "0"),
    ]:
        with subtests.test(output=output, kept=kept):
            taking = Taking()
            await taking.keep(waiting())
            answer = await taking.take(CallBack(callback_id=SECRET, output=output))
            assert answer == CallbackReply(team_id=TEAM, execution_id="e1")
            run = await taking.finished()
            assert (run.execution.results[0].output, run.inbox) == (run.execution.results[0].turns[0].output, [])
            assert run.execution.results[0].output is not None
            assert run.execution.results[0].output.inline == kept
            assert taking.harness.published.facts == ["asked slot 1"]
            await taking.harness.worker.resume("e1", grant=1)
            assert "CheckRules" in taking.harness.steps


async def test_a_result_is_in_its_run_before_it_is_answered() -> None:
    taking = Taking()
    await taking.keep(waiting())
    await taking.take(CallBack(callback_id=SECRET, error="no"))
    for task in taking.give._tasks:  # the replica that took it dies now
        task.cancel()
    assert await taking.harness.overdue() == ["e1"]
    await taking.harness.new_worker("second").resume("e1", from_sweeper=True)
    assert (await taking.harness.run()).execution.results[0].error == "no"


async def test_a_second_result_changes_nothing_and_is_answered_as_repeated() -> None:
    taking = Taking()
    await taking.keep(waiting())
    await taking.take(CallBack(callback_id=SECRET, output=1))
    first = await taking.finished()
    again = await taking.take(CallBack(callback_id=SECRET, output=2))
    assert (again.execution_id, again.repeated, again.over) == ("e1", True, None)
    assert await taking.finished() == first


async def test_of_many_results_at_once_one_counts() -> None:
    taking = Taking()
    await taking.keep(waiting())
    results = [CallBack(callback_id=SECRET, output=number) for number in range(10)]
    answers = await asyncio.gather(*(taking.take(result) for result in results))
    assert sum(not answer.repeated for answer in answers) == 1


async def test_unknown_callbacks_and_finished_runs_are_answered_as_such() -> None:
    taking = Taking()
    await taking.keep(lifecycle.finish(waiting(), ExecStatus.CANCELLED, now=NOON))
    assert await taking.take(CallBack(callback_id="guessed", output=1)) == CallbackReply()
    late = await taking.take(CallBack(callback_id=SECRET, output=1))
    assert (late.execution_id, late.over, late.repeated) == ("e1", "cancelled", False)


async def test_a_result_that_is_sent_again_after_its_run_has_ended_was_here_before() -> None:
    taking = Taking()
    await taking.keep(waiting())
    await taking.take(CallBack(callback_id=SECRET, output=1))
    await taking.finished()
    await taking.harness.signal("stop")
    assert (await taking.harness.run()).over
    again = await taking.take(CallBack(callback_id=SECRET, output=1))
    assert (again.repeated, again.over) == (True, None)


async def test_a_result_waits_while_its_run_is_held() -> None:
    harness = WorkerHarness()
    assert await harness.runs.create(calling(), owner="first", lease=timedelta(seconds=10)) == 1
    blobs = InMemoryBlobs()
    take = TakeResult(runs=harness.runs, blobs=blobs, send=harness.sender(), clock=harness.clock)
    assert not (await take(CallBack(callback_id=SECRET, output="soon"))).repeated
    run = await harness.run()
    assert [word.callback for word in run.inbox] == [SECRET]
    assert isinstance(lifecycle.next_step(run), MakeCalls)
    assert harness.published.facts == []
