"""Calls of tools and processes: each is made once, whatever fails or dies in between (EX-24, F9)."""

from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from services.executor.tests.fixtures import (
    BAD,
    a_process_task,
    a_task,
    advance,
    an_mcp_task,
    equipped,
    signalled,
    with_outcome,
    with_tasks,
)

from executor.domain import failures, journal, lifecycle
from executor.domain.outcomes import CallsBegun, NotCalled, RulesAnswered, StepFailed, TaskAnswered, Thought, Used
from executor.domain.run import Run
from executor.domain.steps import BeginCalls, CheckRules, Finish, MakeCalls, Park, RequestSlot, RunTurn
from executor.domain.tasks.take_over import take_over as at_take_over
from rota_common.testing.samples import NOON
from rota_contracts.messages.control import TaskChange
from rota_contracts.messages.conversation import ToolStatus, ToolUse
from rota_contracts.messages.execution import ExecStatus, Task, TaskStatus
from rota_contracts.messages.text import Text
from rota_contracts.messages.validation import RulesReply

SINGLE = [an_mcp_task(1), a_process_task(1)]
KINDS = ["mcp", "process"]
GOING_ON = equipped(continue_on_failure=True)
PAID = "It was paid."
WANTS_REPLY = BAD.model_copy(update={"need_reply": True, "reply_content": "Once more."})


def new_run(*given: Task, robot: Any = GOING_ON) -> tuple[Run, MakeCalls]:
    """A run that is about to make its first task's calls."""
    run = advance(with_tasks(*given, robot=robot))
    step = lifecycle.next_step(run)
    assert isinstance(step, MakeCalls)
    return run, step


def uses(*names: str, idempotent: bool = False) -> list[ToolUse]:
    return [ToolUse(step_id=f"s-{name}", name=name, server="crm", tool=name, idempotent=idempotent) for name in names]


def thinking(*names: str, idempotent: bool = False) -> Run:
    """A run whose assistant wants these tools, and is about to have them called."""
    run = with_tasks(a_task(1), a_task(2), robot=GOING_ON)
    run = with_outcome(run, Thought("task-1", "I'll look.", uses(*names, idempotent=idempotent)))
    return advance(run)


def statuses(run: Run, task: int = 1) -> dict[str, str]:
    (turn,) = run.execution.results[task - 1].turns
    return {use.name: str(use.status) for use in turn.rounds[-1].uses}


def take_over(run: Run) -> Run:
    return journal.record_taken_over(run, now=NOON)


def asked(run: Run) -> str:
    """What the run asks a person; it waits for nothing else."""
    question = run.execution.question
    assert question is not None
    assert (lifecycle.next_step(run), run.execution.status) == (Park(), ExecStatus.WAITING)
    assert question.task_id == "task-1"
    return question.question


def used(name: str, error: str | None = None) -> Used:
    return Used("task-1", f"s-{name}", None if error else Text(inline=f"{name} did it"), error)


@pytest.mark.parametrize("task", SINGLE, ids=KINDS)
def test_that_a_call_begins_is_a_step_of_its_own_before_it_is_made(task: Task) -> None:
    run = with_tasks(task)
    step = lifecycle.next_step(run)
    assert isinstance(step, BeginCalls)
    run = with_outcome(run, CallsBegun("task-1", list(step.uses)))
    made = lifecycle.next_step(run)
    assert isinstance(made, MakeCalls)
    assert [use.status for use in made.uses] == [ToolStatus.STARTED]
    assert made.uses[0].step_id == step.uses[0].step_id


def test_a_task_of_type_mcp_calls_its_tool_with_its_named_arguments() -> None:  # EX-19 EX-24
    _, step = new_run(an_mcp_task(1))
    (use,) = step.uses
    assert (use.server, use.tool, use.arguments) == ("crm", "lookup", {"name": "Globex"})


def test_a_task_of_type_process_calls_it_with_its_list_of_arguments() -> None:  # EX-24
    _, step = new_run(a_process_task(1))
    (use,) = step.uses
    assert (use.server, use.name, use.arguments) == (None, "crm.pay", ["Globex", 7])


def test_what_may_be_called_again_is_what_is_declared_so(subtests: pytest.Subtests) -> None:
    cases = [
        (an_mcp_task(1), False),
        (an_mcp_task(1, idempotent=True), True),
        (a_process_task(1), False),
        (a_process_task(1, executor_id="crm.ping"), True),
        (a_process_task(1, executor_id="crm.ping", idempotent=False), True),
    ]
    for task, idempotent in cases:
        with subtests.test(task=task, idempotent=idempotent):
            _, step = new_run(task)
            assert step.uses[0].idempotent is idempotent


@pytest.mark.parametrize("task", SINGLE, ids=KINDS)
def test_the_answer_of_a_single_call_is_the_tasks_result(task: Task) -> None:  # EX-24
    run, step = new_run(task)
    run = with_outcome(run, Used("task-1", step.uses[0].step_id, Text(inline="42")))
    assert isinstance(lifecycle.next_step(run), CheckRules)
    run = advance(run)
    (result,) = run.execution.results
    assert (result.status, result.output and result.output.inline, len(result.turns)) == ("completed", "42", 1)


@pytest.mark.parametrize("task", SINGLE, ids=KINDS)
def test_a_single_call_gets_no_reply(task: Task) -> None:  # EX-24 VA-14
    run = advance(new_run(task)[0])
    step = lifecycle.next_step(run)
    assert isinstance(step, CheckRules)
    assert step.conversation.max_turns == 1
    run = with_outcome(run, RulesAnswered("task-1", RulesReply(verdict=WANTS_REPLY)))
    (result,) = run.execution.results
    assert (result.status, result.error, len(result.turns)) == ("failed", "too short; no figures", 1)


def test_a_single_call_that_failed_is_never_made_again(subtests: pytest.Subtests) -> None:  # EX-24
    for error, task in product(["500: boom", "no answer within 60 s: outcome unknown"], SINGLE):
        with subtests.test(error=error, task=task):
            run, step = new_run(task)
            run = with_outcome(run, Used("task-1", step.uses[0].step_id, None, error))
            (result,) = run.execution.results
            assert (result.status, result.error, result.turns[0].rounds[0].uses[0].status) == (
                "failed",
                error,
                "failed",
            )
            assert run.execution.error == f"task task-1 (Step 1): {error}"


@pytest.mark.parametrize("task", SINGLE, ids=KINDS)
def test_an_undelivered_call_is_repeated_under_the_same_id(task: Task) -> None:  # EX-24
    run, step = new_run(task)
    run = lifecycle.apply(run, NotCalled("task-1", step.uses[0].step_id, "no answer to it", 7), now=NOON)
    assert (run.retry_at, run.failures) == (NOON + timedelta(seconds=7), 1)
    again = lifecycle.next_step(run)
    assert isinstance(again, BeginCalls)
    assert again.uses[0].step_id == step.uses[0].step_id
    run = advance(advance(run))
    assert isinstance(lifecycle.next_step(run), CheckRules)
    assert (run.retry_at, run.failures) == (None, 0)


@pytest.mark.parametrize("task", SINGLE, ids=KINDS)
def test_a_call_that_stays_undelivered_fails_its_task(task: Task) -> None:
    run = with_tasks(task, a_task(2), robot=GOING_ON)
    for number in range(1, failures.MAX_FAILURES + 1):
        run = advance(run)
        step = lifecycle.next_step(run)
        assert isinstance(step, MakeCalls)
        run = lifecycle.apply(run, NotCalled("task-1", step.uses[0].step_id, "no responder", None), now=NOON)
        assert run.failures == (number if number < failures.MAX_FAILURES else 0)
    assert run.execution.results[0].error == "run: no responder (20 attempts)"
    step_2 = lifecycle.next_step(run)
    assert isinstance(step_2, RunTurn)
    assert (step_2.task.id, run.retry_at) == ("task-2", None)


def test_tools_that_are_wanted_at_once_are_called_at_once() -> None:  # EX-51
    run = thinking("a", "b", "c")
    step = lifecycle.next_step(run)
    assert isinstance(step, MakeCalls)
    assert [use.name for use in step.uses] == ["a", "b", "c"]


def test_the_assistant_thinks_on_when_the_last_of_its_calls_is_back_in_whatever_order() -> None:  # EX-51
    run = thinking("a", "b", "c")
    for name in "cab":
        assert isinstance(lifecycle.next_step(run), MakeCalls)
        run = with_outcome(run, used(name))
    step = lifecycle.next_step(run)
    assert isinstance(step, RunTurn)
    assert (step.turn, step.iteration) == (1, 1)
    (turn,) = run.execution.results[0].turns
    assert [use.name for use in turn.rounds[0].uses] == ["a", "b", "c"]


def test_a_failed_tool_goes_back_to_the_assistant_and_fails_no_task() -> None:  # EX-52
    run = with_outcome(thinking("a"), used("a", "404"))
    assert isinstance(lifecycle.next_step(run), RunTurn)
    assert run.execution.results[0].status is TaskStatus.RUNNING


@pytest.mark.parametrize("first", [used("b"), used("b", "404")], ids=["done", "failed"])
def test_an_answer_beside_an_undelivered_call_is_not_lost(first: Used) -> None:
    run = lifecycle.apply(thinking("a", "b"), NotCalled("task-1", "s-a", "away", 30), now=NOON)
    run = lifecycle.apply(run, first, now=NOON)
    assert statuses(run) == {"a": "pending", "b": "failed" if first.error else "completed"}
    assert run.retry_at == NOON + timedelta(seconds=30)  # the one is still to be waited for
    step = lifecycle.next_step(run)
    assert isinstance(step, BeginCalls)
    assert [use.name for use in step.uses] == ["a"]
    run = advance(run)
    step_2 = lifecycle.next_step(run)
    assert isinstance(step_2, MakeCalls)
    assert [use.name for use in step_2.uses] == ["a"]  # the other is never called twice


def test_undelivered_calls_are_all_repeated() -> None:
    run = thinking("a", "b")
    for name in "ab":
        run = lifecycle.apply(run, NotCalled("task-1", f"s-{name}", "away", 30), now=NOON)
    step = lifecycle.next_step(run)
    assert isinstance(step, BeginCalls)
    assert [use.name for use in step.uses] == ["a", "b"]


def test_a_call_answers_once() -> None:
    run = with_outcome(thinking("a", "b"), used("a"))
    assert with_outcome(run, used("a", "another answer")) == run
    assert with_outcome(run, NotCalled("task-1", "s-a", "away")) == run
    assert with_outcome(run, Used("task-1", "s-c", Text(inline="not asked"))) == run


def test_a_worker_that_died_before_its_call_began_leaves_nothing_to_mend() -> None:
    for run in (with_tasks(an_mcp_task(1)), with_tasks(a_task(1))):
        assert take_over(run) is run


@pytest.mark.parametrize(
    "task", [an_mcp_task(1, idempotent=True), a_process_task(1, executor_id="crm.ping")], ids=KINDS
)
def test_after_a_crash_an_idempotent_call_is_made_again_under_the_same_id(task: Task) -> None:
    run, step = new_run(task)
    run = take_over(run)
    again = lifecycle.next_step(run)
    assert isinstance(again, BeginCalls)
    assert [use.step_id for use in again.uses] == [use.step_id for use in step.uses]
    assert again.uses[0].status is ToolStatus.PENDING


def test_after_a_crash_a_person_says_what_came_of_a_call_that_is_not_idempotent(
    subtests: pytest.Subtests,
) -> None:  # F9
    for task, robot in product(SINGLE, [equipped(), GOING_ON]):
        with subtests.test(task=task, robot=robot):
            run, step = new_run(task, a_task(2), robot=robot)
            run = take_over(run)
            (use,) = run.execution.results[0].turns[0].rounds[0].uses
            name = task.executor_id if task.mcp_server is None else f"{task.mcp_server}.{task.mcp_tool}"
            assert use.status is ToolStatus.UNKNOWN
            assert asked(run).startswith(f"The outcome of {name} (call {step.uses[0].step_id}) is unknown: the worker ")
            assert "answer what came of it: what you answer is taken as its result" in asked(run)
            assert "cancel task task-1 (task.cancel) or stop the run" in asked(run)
            assert take_over(run) is run
            assert with_outcome(run, Used("task-1", use.step_id, Text(inline="late"))) == run
            run = signalled(journal.record_parked(run, now=NOON), "instruct", PAID)
            assert (lifecycle.next_step(run), run.execution.question) == (RequestSlot(1), None)
            checked = lifecycle.next_step(journal.record_granted(run, 1, now=NOON))
            assert isinstance(checked, CheckRules)
            assert checked.output.inline == PAID


def test_a_person_who_knows_that_a_call_failed_cancels_its_task_or_stops_the_run() -> None:
    run = take_over(new_run(an_mcp_task(1), a_task(2))[0])
    cancelled = signalled(run, "task.cancel", task=TaskChange(id="task-1"))
    step = lifecycle.next_step(cancelled)
    assert isinstance(step, RunTurn)
    assert (step.task.id, cancelled.execution.question) == ("task-2", None)
    assert cancelled.execution.results[0].turns[0].rounds[0].uses[0].status is ToolStatus.UNKNOWN
    assert lifecycle.next_step(signalled(run, "stop")) == Finish(ExecStatus.CANCELLED)


def test_the_take_over_of_an_earlier_version_is_replayed_as_a_failed_task(subtests: pytest.Subtests) -> None:  # F24
    for task, robot in product(SINGLE, [equipped(), GOING_ON]):
        with subtests.test(task=task, robot=robot):
            before, _ = new_run(task, a_task(2), robot=robot)
            for known in (None, list[str]()):
                run = at_take_over(before, known, now=NOON)
                result = run.execution.results[0]
                name = task.executor_id
                lost = f"outcome unknown: its worker ended while it called {name}, which isn't declared idempotent"
                assert (result.status, result.error) == (TaskStatus.FAILED, lost)
                assert result.turns[0].rounds[0].uses[0].status is ToolStatus.UNKNOWN
                assert run.execution.question is None
                step = lifecycle.next_step(run)
                if robot is GOING_ON:
                    assert isinstance(step, RunTurn)
                    assert (step.task.id, run.execution.error) == ("task-2", None)
                else:
                    assert run.execution.error == f"task task-1 (Step 1): {lost}"


def test_after_a_crash_in_several_calls_what_is_done_stays_and_what_is_harmless_is_made_again() -> None:
    run = with_outcome(thinking("a", "b", idempotent=True), used("a"))
    run = take_over(run)
    assert statuses(run) == {"a": "completed", "b": "pending"}
    step = lifecycle.next_step(run)
    assert isinstance(step, BeginCalls)
    assert [use.name for use in step.uses] == ["b"]


def test_after_a_crash_in_several_calls_what_is_harmless_is_done_before_a_person_is_asked_about_the_rest() -> None:
    run = with_tasks(a_task(1), a_task(2), robot=GOING_ON)
    run = advance(with_outcome(run, Thought("task-1", "", [*uses("a", idempotent=True), *uses("b", "c", "d")])))
    run = take_over(with_outcome(run, used("c")))
    assert statuses(run) == {"a": "pending", "b": "unknown", "c": "completed", "d": "unknown"}
    assert (run.execution.question, run.blocked) == (None, False)
    run = advance(run)
    step = lifecycle.next_step(run)
    assert isinstance(step, MakeCalls)
    assert [use.name for use in step.uses] == ["a"]
    run = with_outcome(run, used("a"))
    assert asked(run).startswith("The outcome of crm.b (call s-b) and of crm.d (call s-d) is unknown: the worker ended")
    assert "what you answer is what the assistant reads as its result" in asked(run)
    run = journal.record_granted(signalled(journal.record_parked(run, now=NOON), "instruct", PAID), 1, now=NOON)
    assert isinstance(lifecycle.next_step(run), RunTurn)
    made = run.execution.results[0].turns[0].rounds[-1].uses  # every call has a result, as providers want it
    said = f"Whether this call happened was unknown, since its worker ended in its middle. A person says of it: {PAID}"
    assert [use.output and use.output.inline for use in made] == ["a did it", said, "c did it", said]
    assert {use.status for use in made} == {ToolStatus.COMPLETED}
    assert {use.error for use in made} == {None}


def test_a_second_crash_beside_a_call_of_unknown_outcome_is_asked_about_as_well() -> None:
    run = with_tasks(a_task(1), robot=GOING_ON)
    run = advance(with_outcome(run, Thought("task-1", "", [*uses("a", idempotent=True), *uses("b")])))
    run = take_over(advance(take_over(run)))
    assert statuses(run) == {"a": "pending", "b": "unknown"}
    assert asked(with_outcome(advance(run), used("a", "404"))).startswith("The outcome of crm.b (call s-b) is unknown")


def test_a_late_outcome_of_a_dead_worker_is_dropped() -> None:
    run = take_over(thinking("a"))
    assert with_outcome(run, used("a")) == run


def test_to_be_taken_over_changes_nothing_where_no_call_is_under_way() -> None:
    lives = [
        with_tasks(a_task(1)),
        with_outcome(with_tasks(a_task(1)), TaskAnswered("task-1", Text(inline="x"))),
        with_outcome(thinking("a"), used("a")),
        lifecycle.apply(with_tasks(a_task(1)), StepFailed("no"), now=NOON),
    ]
    assert [take_over(run) is run for run in lives] == [True] * len(lives)
