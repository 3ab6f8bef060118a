"""The heart of the executor: whole lives of executions, without a clock, a server or a model."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from services.executor.tests.fixtures import (
    BAD,
    GOOD,
    STEPS,
    advance_until,
    at,
    new_run,
    on_the_way,
    outcome_of,
    with_outcome,
)

from executor.domain import failures, lifecycle
from executor.domain.outcomes import (
    Learnt,
    Recalled,
    RulesAnswered,
    StepDelayed,
    StepFailed,
    Unusable,
    VerdictGiven,
)
from executor.domain.steps import (
    AskAgent,
    CheckRules,
    Done,
    Finish,
    RecallLessons,
    RequestLearning,
    RequestVerdict,
    RunTurn,
)
from rota_common.testing.samples import NOON, a_robot
from rota_contracts.messages.execution import ExecStatus, LearningResult, TaskStatus
from rota_contracts.messages.trigger import ExecutorMode
from rota_contracts.messages.validation import RulesReply
from rota_contracts.robots.robot import Phase


def names(steps: list[Any]) -> list[str]:
    return [step.phase if isinstance(step, AskAgent) else type(step).__name__ for step in steps]


def test_a_clock_run_goes_through_all_six_phases() -> None:  # EX-01 EX-02
    run, steps = advance_until(new_run("clock"), tasks=1)
    ways = ["RecallLessons", "inspiration", "goals", "tasks", "RunTurn", "CheckRules", "delivery"]
    assert names(steps) == [*ways, "RequestDelivery", "RequestLearning", "Finish"]
    assert (run.execution.status, run.execution.phase) == (ExecStatus.COMPLETED, Phase.LEARNING)


@pytest.mark.parametrize("type", ["event", "human", "callback"])
def test_a_run_of_a_person_or_an_event_begins_with_its_goals(type: str) -> None:  # EX-01
    _, steps = advance_until(new_run(type), tasks=1)
    assert names(steps)[:2] == ["RecallLessons", "goals"]
    assert "inspiration" not in names(steps)


def test_a_finished_run_holds_every_phase() -> None:  # EX-05
    run, _ = advance_until(new_run("clock"))
    done = run.execution
    outputs = (done.inspiration, done.goals, done.tasks, done.results, done.content, done.delivery, done.learning)
    assert all(outputs)
    assert (done.started_at, done.finished_at, done.error) == (NOON, NOON, None)
    assert (done.progress.tasks_done, done.progress.tasks_total) == (2, 2)


def test_tasks_run_in_their_order_each_checked_before_the_next_begins() -> None:  # EX-21
    _, steps = advance_until(at(RunTurn, expected="a result"))
    turns = [
        (type(step).__name__, step.task.id) for step in steps if isinstance(step, RunTurn | CheckRules | RequestVerdict)
    ]
    once = ["RunTurn", "CheckRules", "RequestVerdict"]
    assert turns == [(name, "task-1") for name in once] + [(name, "task-2") for name in once]


def test_a_result_without_open_rules_and_expectations_needs_no_semantic_verdict() -> None:  # EX-21
    _, steps = advance_until(new_run())
    assert "RequestVerdict" not in names(steps)


def test_a_semantic_rule_needs_a_verdict() -> None:  # EX-21
    run = at(CheckRules)
    run = with_outcome(run, RulesAnswered("task-1", RulesReply(verdict=GOOD, open_rules=["Be kind."])))
    assert isinstance(lifecycle.next_step(run), RequestVerdict)


def test_a_completed_task_keeps_its_output_and_its_verdict() -> None:  # EX-21
    (first, second) = advance_until(new_run())[0].execution.results
    assert [first.task_id, second.task_id] == ["task-1", "task-2"]
    assert (first.status, first.validation, first.error) == (TaskStatus.COMPLETED, GOOD, None)
    assert first.output is not None
    assert first.output.inline == "result of task-1"
    assert first.step_id != second.step_id


def test_the_mode_of_the_trigger_goes_before_the_robots() -> None:  # EX-07 TG-14
    dry = a_robot(config={"executor": {"mode": "dryrun"}})
    assert new_run(robot=dry).execution.executor_mode is ExecutorMode.DRYRUN
    assert new_run(robot=dry, executor_mode="standard").execution.executor_mode is ExecutorMode.STANDARD
    assert new_run().execution.executor_mode is ExecutorMode.STANDARD


def test_a_sandbox_run_says_that_it_behaves_like_a_dry_run() -> None:  # EX-09, DEC-28
    assert "behaves like dryrun" in new_run(executor_mode="sandbox").execution.notes[0]
    assert new_run(executor_mode="dryrun").execution.notes == []


def test_an_answer_that_can_not_be_used_is_asked_for_again_with_the_reason() -> None:
    run = at(Phase.GOALS)
    first = lifecycle.next_step(run)
    run = lifecycle.apply(run, Unusable("expected JSON"), now=NOON)
    again = lifecycle.next_step(run)
    assert isinstance(again, AskAgent)
    assert isinstance(first, AskAgent)
    assert (again.phase, run.feedback) == (Phase.GOALS, "expected JSON")
    assert again.step_id != first.step_id  # another question, so a stored answer to the first isn't its answer


def test_after_a_usable_answer_nothing_is_left_of_the_ones_before() -> None:
    run = at(Phase.GOALS)
    run = lifecycle.apply(run, Unusable("expected JSON"), now=NOON)
    run = lifecycle.apply(run, StepDelayed("busy", None), now=NOON, retry_after=5)
    run = with_outcome(run, outcome_of(run, lifecycle.next_step(run)))
    assert (run.feedback, run.attempts, run.failures, run.retry_at) == ("", 0, 0, None)


def test_the_third_unusable_answer_fails_the_run_with_the_reason(subtests: pytest.Subtests) -> None:
    for phase in [Phase.INSPIRATION, Phase.GOALS, Phase.TASKS, Phase.DELIVERY]:
        with subtests.test(phase=phase):
            run = on_the_way(phase)
            for _ in range(failures.MAX_ATTEMPTS):
                assert names([lifecycle.next_step(run)]) == [phase]
                run = lifecycle.apply(run, Unusable("expected a plan"), now=NOON)
            assert run.execution.error == f"{phase}: expected a plan (3 attempts)"
            assert isinstance(lifecycle.next_step(run), RequestLearning)


def test_a_delayed_step_is_tried_again_when_the_other_side_says() -> None:
    run = lifecycle.apply(at(Phase.GOALS), StepDelayed("rate limited", 42), now=NOON, retry_after=1)
    assert run.retry_at == NOON + timedelta(seconds=42)
    assert (run.execution.error, names([lifecycle.next_step(run)])) == (None, ["goals"])


def test_without_a_requested_delay_our_own_holds() -> None:
    run = lifecycle.apply(at(Phase.GOALS), StepDelayed("down", None), now=NOON, retry_after=7)
    assert (run.retry_at, run.failures) == (NOON + timedelta(seconds=7), 1)


def test_a_delayed_step_is_the_same_step_when_it_is_tried_again() -> None:
    before = at(Phase.GOALS)
    assert lifecycle.next_step(lifecycle.apply(before, StepDelayed("down", None), now=NOON)) == lifecycle.next_step(
        before
    )


@pytest.mark.parametrize("until", [Phase.GOALS, RunTurn])
def test_a_step_that_fails_for_too_long_fails_the_run(until: Any) -> None:
    run = at(until)
    for _ in range(failures.MAX_FAILURES - 1):
        run = lifecycle.apply(run, StepDelayed("down", None), now=NOON, retry_after=300)
        assert run.execution.error is None
    run = lifecycle.apply(run, StepDelayed("down", None), now=NOON, retry_after=300)
    assert run.execution.error == f"{_of(until)}{_phase(until)}: down (20 attempts)"
    assert (run.retry_at, run.failures) == (None, 0)
    assert [result.finished_at for result in run.execution.results] in ([], [NOON])  # now, not when it would have been


def _phase(until: Any) -> Phase:
    return until if isinstance(until, Phase) else Phase.RUN


def _of(until: Any) -> str:
    """In whose name a reason is given: inside a task, in the task's."""
    return "task task-1 (Step 1): " if until in (RunTurn, CheckRules, RequestVerdict) else ""


def test_a_refused_step_fails_the_run_at_once() -> None:
    run = lifecycle.apply(at(Phase.TASKS), StepFailed("there is no agent rota.tasks"), now=NOON)
    assert run.execution.error == "there is no agent rota.tasks"
    assert isinstance(lifecycle.next_step(run), RequestLearning)


def test_a_refused_task_is_the_failed_one() -> None:  # EX-25
    run = lifecycle.apply(at(RunTurn), StepFailed("no connector"), now=NOON)
    (result,) = run.execution.results
    assert (result.task_id, result.status, result.error) == ("task-1", TaskStatus.FAILED, "no connector")
    assert run.execution.error == "task task-1 (Step 1): no connector"


def test_a_broken_rule_fails_the_task_and_stops_the_run() -> None:  # EX-25, DEC-17
    run = with_outcome(at(CheckRules), RulesAnswered("task-1", RulesReply(verdict=BAD, open_rules=["Be kind."])))
    (result,) = run.execution.results
    assert (result.status, result.error, result.validation) == (TaskStatus.FAILED, "too short; no figures", BAD)
    assert run.execution.error == "task task-1 (Step 1): too short; no figures"
    assert isinstance(lifecycle.next_step(run), RequestLearning)


def test_a_verdict_that_is_not_a_yes_fails_the_run(subtests: pytest.Subtests) -> None:  # EX-25
    cases = [
        (BAD, None, "too short; no figures"),
        (BAD.model_copy(update={"issues": []}), None, "the result was not accepted"),
        (BAD, "the agent gave no verdict", "the agent gave no verdict"),
        (GOOD, "the agent gave no verdict", "the agent gave no verdict"),
    ]
    for verdict, error, reason in cases:
        with subtests.test(verdict=verdict, error=error, reason=reason):
            run = at(RequestVerdict, expected="a result")
            step = lifecycle.next_step(run)
            assert isinstance(step, RequestVerdict)
            run = with_outcome(run, VerdictGiven(step.validation_id, "task-1", verdict, error))
            assert run.execution.error == f"task task-1 (Step 1): {reason}"
            assert isinstance(lifecycle.next_step(run), RequestLearning)


def test_the_tasks_after_a_failed_one_are_not_begun() -> None:  # EX-25
    run = with_outcome(at(CheckRules), RulesAnswered("task-1", RulesReply(verdict=BAD)))
    run, steps = advance_until(run)
    assert names(steps) == ["RequestLearning", "Finish"]
    assert [result.task_id for result in run.execution.results] == ["task-1"]


def test_a_failed_run_learns_delivers_nothing_and_ends_failed(subtests: pytest.Subtests) -> None:  # DEC-33
    for until in STEPS[:-2]:
        with subtests.test(until=until):
            failed = lifecycle.apply(on_the_way(until), StepFailed("no luck"), now=NOON)
            if until is RecallLessons:
                failed = with_outcome(failed, Recalled([]))
            run, steps = advance_until(failed)
            assert names(steps) == ["RequestLearning", "Finish"]
            assert (run.execution.status, run.execution.delivery) == (ExecStatus.FAILED, None)
            assert run.execution.error == f"{_of(until)}no luck"


def test_a_run_that_delivered_but_could_not_learn_is_complete_all_the_same() -> None:
    run = with_outcome(at(RequestLearning), Learnt(LearningResult(error="the learner gave up")))
    assert lifecycle.next_step(run) == Finish(ExecStatus.COMPLETED)


def test_a_run_can_be_cancelled_at_any_point(subtests: pytest.Subtests) -> None:  # TG-20
    for until in [*STEPS, Finish]:
        with subtests.test(until=until):
            run = on_the_way(until).model_copy(update={"cancelled": "the robot was deleted"})
            assert lifecycle.next_step(run) == Finish(ExecStatus.CANCELLED)
            over = lifecycle.finish(run, ExecStatus.CANCELLED, now=NOON)
            assert (over.execution.status, over.execution.error) == (ExecStatus.CANCELLED, "the robot was deleted")
            assert (over.execution.finished_at, lifecycle.next_step(over)) == (NOON, Done())


def test_steps_have_ids_of_their_own_in_every_run() -> None:
    mine = lifecycle.next_step(at(Phase.GOALS))
    other = new_run()
    other = other.with_execution(execution_id="e2")
    theirs = lifecycle.next_step(at(Phase.GOALS, run=other))
    assert isinstance(mine, AskAgent)
    assert isinstance(theirs, AskAgent)
    assert mine.step_id != theirs.step_id
    assert replace(mine, step_id=theirs.step_id) == theirs
