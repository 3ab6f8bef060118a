"""The heart of the executor: whole lives of executions, without a clock, a server or a model."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from services.executor.tests.lives import BAD, GOOD, PATIENCE, answer, at, begun, lived, taken

from executor import domain
from executor.outcomes import (
    DeliveryTaken,
    GoalsSet,
    Inspired,
    Learnt,
    Outcome,
    Planned,
    Recalled,
    RulesAnswered,
    StepDelayed,
    StepFailed,
    TaskAnswered,
    Unusable,
    VerdictGiven,
    Written,
)
from executor.run import Run, Waiting
from executor.steps import (
    AskAgent,
    CheckRules,
    Done,
    Finish,
    RecallLessons,
    RequestDelivery,
    RequestLearning,
    RequestVerdict,
    RunTurn,
)
from rota_common.testing.samples import NOON, a_robot
from rota_contracts.execution import ExecStatus, LearningResult, TaskStatus
from rota_contracts.robot import Phase
from rota_contracts.trigger import ExecutorMode
from rota_contracts.validation import RulesChecked

STEPS: list[type[object] | Phase] = [
    RecallLessons, Phase.INSPIRATION, Phase.GOALS, Phase.TASKS, RunTurn, CheckRules, RequestVerdict,
    Phase.DELIVERY, RequestDelivery, RequestLearning,
]  # fmt: skip
"""Every step of a clock run's life but the last."""


def names(steps: list[Any]) -> list[str]:
    return [step.phase if isinstance(step, AskAgent) else type(step).__name__ for step in steps]


def on_the_way(until: type[object] | Phase) -> Run:
    """A clock run with two tasks that both need a semantic verdict, about to take that step."""
    return at(until, run=begun("clock"), expected="a result")


def test_a_clock_run_goes_through_all_six_phases() -> None:  # EX-01 EX-02
    run, steps = lived(begun("clock"), tasks=1)
    ways = ["RecallLessons", "inspiration", "goals", "tasks", "RunTurn", "CheckRules", "delivery"]
    assert names(steps) == [*ways, "RequestDelivery", "RequestLearning", "Finish"]
    assert (run.execution.status, run.execution.phase) == (ExecStatus.COMPLETED, Phase.LEARNING)


@pytest.mark.parametrize("type", ["event", "human", "callback"])
def test_a_run_that_somebody_wanted_begins_with_its_goals(type: str) -> None:  # EX-01
    _, steps = lived(begun(type), tasks=1)
    assert names(steps)[:2] == ["RecallLessons", "goals"]
    assert "inspiration" not in names(steps)


def test_a_finished_run_holds_every_phase() -> None:  # EX-05
    run, _ = lived(begun("clock"))
    done = run.execution
    outputs = (done.inspiration, done.goals, done.tasks, done.results, done.content, done.delivery, done.learning)
    assert all(outputs)
    assert (done.started_at, done.finished_at, done.error) == (NOON, NOON, None)
    assert (done.progress.tasks_done, done.progress.tasks_total) == (2, 2)


def test_tasks_run_in_their_order_each_checked_before_the_next_begins() -> None:  # EX-21
    _, steps = lived(at(RunTurn, expected="a result"))
    turns = [
        (type(step).__name__, step.task.id) for step in steps if isinstance(step, RunTurn | CheckRules | RequestVerdict)
    ]
    once = ["RunTurn", "CheckRules", "RequestVerdict"]
    assert turns == [(name, "task-1") for name in once] + [(name, "task-2") for name in once]


def test_a_result_without_open_rules_and_expectations_needs_no_semantic_verdict() -> None:  # EX-21
    _, steps = lived(begun())
    assert "RequestVerdict" not in names(steps)


def test_a_rule_in_words_needs_a_semantic_verdict() -> None:  # EX-21
    run = at(CheckRules)
    run = taken(run, RulesAnswered("task-1", RulesChecked(verdict=GOOD, open_rules=["Be kind."])))
    assert isinstance(domain.next_step(run), RequestVerdict)


def test_a_completed_task_keeps_its_output_and_its_verdict() -> None:  # EX-21
    (first, second) = lived(begun())[0].execution.results
    assert [first.task_id, second.task_id] == ["task-1", "task-2"]
    assert (first.status, first.validation, first.error) == (TaskStatus.COMPLETED, GOOD, None)
    assert first.output is not None
    assert first.output.inline == "result of task-1"
    assert first.step_id != second.step_id


def test_the_mode_of_the_trigger_goes_before_the_robots() -> None:  # EX-07 TG-14
    dry = a_robot(config={"executor": {"mode": "dryrun"}})
    assert begun(robot=dry).execution.executor_mode is ExecutorMode.DRYRUN
    assert begun(robot=dry, executor_mode="standard").execution.executor_mode is ExecutorMode.STANDARD
    assert begun().execution.executor_mode is ExecutorMode.STANDARD


def test_a_sandbox_run_says_that_it_behaves_like_a_dry_run() -> None:  # EX-09, Decision 28
    assert "behaves like dryrun" in begun(executor_mode="sandbox").execution.notes[0]
    assert begun(executor_mode="dryrun").execution.notes == []


def test_an_answer_that_can_not_be_used_is_asked_for_again_with_the_reason() -> None:
    run = at(Phase.GOALS)
    first = domain.next_step(run)
    run = domain.apply(run, Unusable("expected JSON"), now=NOON)
    again = domain.next_step(run)
    assert isinstance(again, AskAgent)
    assert isinstance(first, AskAgent)
    assert (again.phase, run.feedback) == (Phase.GOALS, "expected JSON")
    assert again.step_id != first.step_id  # another question, so a stored answer to the first isn't its answer


def test_after_a_usable_answer_nothing_is_left_of_the_ones_before() -> None:
    run = at(Phase.GOALS)
    run = domain.apply(run, Unusable("expected JSON"), now=NOON)
    run = domain.apply(run, StepDelayed("busy", None), now=NOON, retry_after=5)
    run = taken(run, answer(run, domain.next_step(run)))
    assert (run.feedback, run.attempts, run.failures, run.retry_at) == ("", 0, 0, None)


@pytest.mark.parametrize("phase", [Phase.INSPIRATION, Phase.GOALS, Phase.TASKS, Phase.DELIVERY])
def test_the_third_unusable_answer_fails_the_run_with_the_reason(phase: Phase) -> None:
    run = on_the_way(phase)
    for _ in range(domain.MAX_ATTEMPTS):
        assert names([domain.next_step(run)]) == [phase]
        run = domain.apply(run, Unusable("expected a plan"), now=NOON)
    assert run.execution.error == f"{phase}: expected a plan (3 attempts)"
    assert isinstance(domain.next_step(run), RequestLearning)


def test_a_delayed_step_is_tried_again_when_the_other_side_says() -> None:
    run = domain.apply(at(Phase.GOALS), StepDelayed("rate limited", 42), now=NOON, retry_after=1)
    assert run.retry_at == NOON + timedelta(seconds=42)
    assert (run.execution.error, names([domain.next_step(run)])) == (None, ["goals"])


def test_without_a_word_from_the_other_side_our_own_delay_holds() -> None:
    run = domain.apply(at(Phase.GOALS), StepDelayed("down", None), now=NOON, retry_after=7)
    assert (run.retry_at, run.failures) == (NOON + timedelta(seconds=7), 1)


def test_a_delayed_step_is_the_same_step_when_it_is_tried_again() -> None:
    before = at(Phase.GOALS)
    assert domain.next_step(domain.apply(before, StepDelayed("down", None), now=NOON)) == domain.next_step(before)


@pytest.mark.parametrize("until", [Phase.GOALS, RunTurn])
def test_a_step_that_fails_for_too_long_fails_the_run(until: Any) -> None:
    run = at(until)
    for _ in range(domain.MAX_FAILURES - 1):
        run = domain.apply(run, StepDelayed("down", None), now=NOON, retry_after=300)
        assert run.execution.error is None
    run = domain.apply(run, StepDelayed("down", None), now=NOON, retry_after=300)
    assert run.execution.error == f"{_of(until)}{_phase(until)}: down (20 attempts)"
    assert (run.retry_at, run.failures) == (None, 0)
    assert [result.finished_at for result in run.execution.results] in ([], [NOON])  # now, not when it would have been


def _phase(until: Any) -> Phase:
    return until if isinstance(until, Phase) else Phase.RUN


def _of(until: Any) -> str:
    """In whose name a reason is given: inside a task, in the task's."""
    return "task task-1 (Step 1): " if until in (RunTurn, CheckRules, RequestVerdict) else ""


def test_a_refused_step_fails_the_run_at_once() -> None:
    run = domain.apply(at(Phase.TASKS), StepFailed("there is no agent rota.tasks"), now=NOON)
    assert run.execution.error == "there is no agent rota.tasks"
    assert isinstance(domain.next_step(run), RequestLearning)


def test_a_refused_task_is_the_failed_one() -> None:  # EX-25
    run = domain.apply(at(RunTurn), StepFailed("no connector"), now=NOON)
    (result,) = run.execution.results
    assert (result.task_id, result.status, result.error) == ("task-1", TaskStatus.FAILED, "no connector")
    assert run.execution.error == "task task-1 (Step 1): no connector"


def test_a_broken_rule_fails_the_task_and_stops_the_run() -> None:  # EX-25, Decision 17
    run = taken(at(CheckRules), RulesAnswered("task-1", RulesChecked(verdict=BAD, open_rules=["Be kind."])))
    (result,) = run.execution.results
    assert (result.status, result.error, result.validation) == (TaskStatus.FAILED, "too short; no figures", BAD)
    assert run.execution.error == "task task-1 (Step 1): too short; no figures"
    assert isinstance(domain.next_step(run), RequestLearning)


@pytest.mark.parametrize(
    ("verdict", "error", "reason"),
    [
        (BAD, None, "too short; no figures"),
        (BAD.model_copy(update={"issues": []}), None, "the result was not accepted"),
        (BAD, "the agent gave no verdict", "the agent gave no verdict"),
        (GOOD, "the agent gave no verdict", "the agent gave no verdict"),
    ],
)
def test_a_verdict_that_is_not_a_yes_fails_the_run(verdict: Any, error: str | None, reason: str) -> None:  # EX-25
    run = at(RequestVerdict, expected="a result")
    step = domain.next_step(run)
    assert isinstance(step, RequestVerdict)
    run = taken(run, VerdictGiven(step.validation_id, "task-1", verdict, error))
    assert run.execution.error == f"task task-1 (Step 1): {reason}"
    assert isinstance(domain.next_step(run), RequestLearning)


def test_the_tasks_after_a_failed_one_are_not_begun() -> None:  # EX-25
    run = taken(at(CheckRules), RulesAnswered("task-1", RulesChecked(verdict=BAD)))
    run, steps = lived(run)
    assert names(steps) == ["RequestLearning", "Finish"]
    assert [result.task_id for result in run.execution.results] == ["task-1"]


@pytest.mark.parametrize("until", STEPS[:-2])
def test_a_failed_run_learns_delivers_nothing_and_ends_failed(until: Any) -> None:  # Decision 33
    failed = domain.apply(on_the_way(until), StepFailed("no luck"), now=NOON)
    if until is RecallLessons:
        failed = taken(failed, Recalled([]))
    run, steps = lived(failed)
    assert names(steps) == ["RequestLearning", "Finish"]
    assert (run.execution.status, run.execution.delivery) == (ExecStatus.FAILED, None)
    assert run.execution.error == f"{_of(until)}no luck"


def test_a_run_that_delivered_but_could_not_learn_is_complete_all_the_same() -> None:
    run = taken(at(RequestLearning), Learnt(LearningResult(error="the learner gave up")))
    assert domain.next_step(run) == Finish(ExecStatus.COMPLETED)


@pytest.mark.parametrize("until", [*STEPS, Finish])
def test_a_run_can_be_cancelled_at_any_point(until: Any) -> None:  # TG-20
    run = on_the_way(until).model_copy(update={"cancelled": "the robot was deleted"})
    assert domain.next_step(run) == Finish(ExecStatus.CANCELLED)
    over = domain.finish(run, ExecStatus.CANCELLED, now=NOON)
    assert (over.execution.status, over.execution.error) == (ExecStatus.CANCELLED, "the robot was deleted")
    assert (over.execution.finished_at, domain.next_step(over)) == (NOON, Done())


def outcomes() -> list[Outcome]:
    """One of each kind that ends a step, from the whole life of a clock run."""
    run, found = begun("clock"), list[Outcome]()
    while not isinstance(step := domain.next_step(run), Finish):
        found.append(answer(run, step, expected="a result"))
        run = taken(run, found[-1])
    return [*found, StepFailed("no luck")]


def test_every_kind_of_outcome_is_in_the_table() -> None:
    kinds = {Inspired, GoalsSet, Planned, Recalled, Written, TaskAnswered, RulesAnswered, VerdictGiven, DeliveryTaken}
    assert {type(outcome) for outcome in outcomes()} == {*kinds, Learnt, StepFailed}


@pytest.mark.parametrize("number", range(len(outcomes())))
def test_an_outcome_that_comes_twice_is_applied_once(number: int) -> None:
    run = begun("clock")
    for outcome in outcomes()[:number]:
        run = taken(run, outcome)
    once = taken(run, outcomes()[number])
    assert once != run
    assert domain.apply(once, outcomes()[number], now=NOON + timedelta(hours=1)) == once


ANSWERS = [outcome for outcome in outcomes() if isinstance(outcome, VerdictGiven | DeliveryTaken | Learnt)]


@pytest.mark.parametrize("stale", ANSWERS, ids=lambda each: f"{type(each).__name__}-{getattr(each, 'task_id', '')}")
@pytest.mark.parametrize("until", STEPS)
def test_an_answer_that_is_not_waited_for_changes_nothing(until: Any, stale: Outcome) -> None:
    run = on_the_way(until)
    step = domain.next_step(run)
    if isinstance(step, RequestVerdict | RequestDelivery | RequestLearning):
        run = domain.asking(run, step, now=NOON, patience=PATIENCE)
    awaited = answer(run, step, expected="a result") == stale
    changed = domain.apply(run, stale, now=NOON) != run
    assert changed == (awaited and isinstance(stale, VerdictGiven | DeliveryTaken | Learnt))


@pytest.mark.parametrize("status", [ExecStatus.COMPLETED, ExecStatus.FAILED, ExecStatus.CANCELLED])
@pytest.mark.parametrize("until", STEPS)
def test_nothing_changes_a_run_that_is_over(until: Any, status: ExecStatus) -> None:
    over = domain.finish(on_the_way(until), status, now=NOON)
    late = [*outcomes(), Unusable("what?"), StepDelayed("busy", 1)]
    assert [domain.apply(over, outcome, now=NOON) for outcome in late] == [over] * len(late)


def test_a_verdict_of_another_request_is_not_the_one_waited_for() -> None:
    run = at(RequestVerdict, expected="a result")
    assert taken(run, VerdictGiven("another", "task-1", GOOD, None)).execution == run.execution


def test_asking_again_within_patience_is_the_same_request() -> None:
    run, step = _waiting(RequestDelivery)
    again = domain.asking(run, step, now=NOON + PATIENCE - timedelta(milliseconds=1), patience=PATIENCE)
    assert (again, again.asks) == (run, 1)


def test_asking_again_past_patience_is_a_new_request() -> None:
    run, step = _waiting(RequestDelivery)
    again = domain.asking(run, step, now=NOON + PATIENCE, patience=PATIENCE)
    assert (again.asks, again.asked_at) == (2, NOON + PATIENCE)


def test_the_next_service_is_asked_anew() -> None:
    run, _ = _waiting(RequestDelivery)
    run = domain.apply(run, answer(run, RequestDelivery("r")), now=NOON)
    assert (run.waiting, run.asks, run.asked_at) == (Waiting.NOTHING, 0, None)
    learning = domain.asking(run, RequestLearning(), now=NOON, patience=PATIENCE)
    assert (learning.waiting, learning.asks) == (Waiting.LEARNING, 1)


def _waiting(kind: type[Any]) -> tuple[Run, Any]:
    run = at(kind)
    step: Any = domain.next_step(run)
    return domain.asking(run, step, now=NOON, patience=PATIENCE), step


def test_a_run_in_hand_should_have_been_looked_at_since_it_was_made() -> None:
    assert begun().next_look(PATIENCE) == NOON


def test_a_delayed_run_is_looked_at_when_its_delay_is_over() -> None:
    run = domain.apply(at(Phase.GOALS), StepDelayed("busy", 42), now=NOON)
    assert run.next_look(PATIENCE) == NOON + timedelta(seconds=42)


@pytest.mark.parametrize(("asks", "seconds"), [(1, 60), (2, 120), (3, 240), (4, 480), (5, 600), (40, 600)])
def test_a_waiting_run_is_looked_at_after_ever_longer_times(asks: int, seconds: int) -> None:
    run = _waiting(RequestLearning)[0].model_copy(update={"asks": asks})
    assert run.next_look(PATIENCE) == NOON + timedelta(seconds=seconds)


def test_a_run_that_is_over_is_never_looked_at() -> None:
    assert lived(begun())[0].next_look(PATIENCE) is None


def test_steps_have_ids_of_their_own_in_every_run() -> None:
    mine = domain.next_step(at(Phase.GOALS))
    other = begun()
    other = other.seen(execution_id="e2")
    theirs = domain.next_step(at(Phase.GOALS, run=other))
    assert isinstance(mine, AskAgent)
    assert isinstance(theirs, AskAgent)
    assert mine.step_id != theirs.step_id
    assert replace(mine, step_id=theirs.step_id) == theirs
