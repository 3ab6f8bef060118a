"""Results that come later: the run waits without a slot, and goes on as if it had been the answer (TG-01)."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from services.executor.tests.fixtures import (
    SECRET,
    a_process_task,
    a_signal,
    a_task,
    advance,
    advance_until,
    effect,
    equipped,
    new_run,
    outcome_of,
    signalled,
    with_outcome,
    with_tasks,
)

from executor.domain import journal, lifecycle
from executor.domain.outcomes import CallsBegun, NotCalled, Outcome, Planned, Promised, Used
from executor.domain.run import CALLBACK, Run
from executor.domain.signals import control
from executor.domain.steps import AskAgent, BeginCalls, CheckRules, Finish, MakeCalls, Park, RequestSlot, RunTurn, id_of
from executor.reads.replay import replay
from executor.steps.call_runner import process_call
from rota_common.testing.samples import NOON
from rota_contracts.messages.execution import ExecStatus, TaskStatus
from rota_contracts.messages.text import Text
from rota_contracts.robots.robot import Phase

LATER = NOON + timedelta(days=6)
GOING_ON = equipped(continue_on_failure=True)
RESULT = Text(inline='{"paid": true}')


def calling(**fields: Any) -> Run:
    """A run whose first task calls a process just now."""
    run = advance(with_tasks(a_process_task(1, **fields), a_task(2), robot=GOING_ON))
    assert isinstance(lifecycle.next_step(run), MakeCalls)
    return run


def key(run: Run) -> str:
    return run.callbacks[0].step_id


def promised(run: Run) -> Run:
    """The process has taken the call, and will send its result."""
    return with_outcome(run, Promised("task-1", key(run)))


def waiting(**fields: Any) -> Run:
    return journal.record_parked(promised(calling(**fields)), now=NOON)


def came(run: Run, output: Text | None = RESULT, *, at: datetime = LATER, **fields: Any) -> Run:
    return control.apply_signal(run, a_signal(CALLBACK, id="cb", callback=SECRET, output=output, **fields), now=at)


def test_a_call_of_a_process_names_where_its_result_may_be_sent() -> None:
    run = calling()
    step = lifecycle.next_step(run)
    assert isinstance(step, MakeCalls)
    assert process_call(run, id_of(step.of), step.uses[0]).callback == f"/v1/callbacks/{SECRET}"


def test_a_promised_result_is_waited_for_without_a_slot_and_says_so() -> None:
    run = promised(calling())
    assert (lifecycle.next_step(run), run.execution.status) == (Park(), ExecStatus.WAITING)
    assert run.execution.progress.text == "task task-1: waits for the result of process crm.pay"
    assert run.parked_for == "waits for the result of process crm.pay"
    run = journal.record_parked(run, now=NOON)
    assert (lifecycle.next_step(run), run.parks, run.execution.status) == (Park(), 1, ExecStatus.WAITING)
    assert (run.execution.deadline_at, run.time_left) == (None, 30 * 60)
    assert run.expires_at == NOON + timedelta(days=7)


def test_a_result_is_what_the_answer_would_have_been() -> None:
    later = journal.record_granted(came(waiting()), 1, now=LATER)
    at_once = with_outcome(calling(), Used("task-1", key(calling()), RESULT))
    for run in (later, at_once):
        step = lifecycle.next_step(run)
        assert isinstance(step, CheckRules)
        assert step.output == RESULT
        over = advance_until(run)[0].execution
        assert (over.status, [str(result.status) for result in over.results]) == ("completed", ["completed"] * 2)
    assert later.execution.results[0].turns[0].output == at_once.execution.results[0].turns[0].output
    assert later.execution.deadline_at == LATER + timedelta(minutes=30)


def test_with_its_result_it_asks_for_a_slot() -> None:
    run = came(waiting())
    assert (lifecycle.next_step(run), run.execution.status, run.expires_at) == (RequestSlot(1), "pending", None)
    assert effect(run) == "the result of process crm.pay"


def test_an_error_that_comes_later_fails_the_task_as_it_would_have_at_once() -> None:
    run = came(waiting(), None, error="the account is closed")
    (result,) = run.execution.results
    assert (result.status, result.error) == (TaskStatus.FAILED, "the account is closed")
    assert run.execution.interventions[-1].text == "the account is closed"


def test_an_expired_result_fails_the_task_with_a_reason() -> None:
    run = waiting()
    assert run.expires_at is not None
    assert journal.record_expired(run, now=run.expires_at - timedelta(seconds=1)) is run
    run = journal.record_expired(run, now=run.expires_at)
    (result,) = run.execution.results
    assert (result.status, result.error) == (TaskStatus.FAILED, "no result came within 7d")
    assert (lifecycle.next_step(run), run.execution.status) == (RequestSlot(1), ExecStatus.PENDING)
    late = came(run)
    assert effect(late) == "too late: the call of process crm.pay is over"
    assert late.execution.results == run.execution.results


def test_how_long_a_result_is_waited_for_is_the_robots_to_say() -> None:
    config = GOING_ON.robot_config.model_dump()
    config["resources"]["processes"] = [{"name": "crm.pay", "callback_within": "90m"}]
    robot = GOING_ON.model_validate(GOING_ON.model_dump() | {"robot_config": config})
    run = promised(advance(with_tasks(a_process_task(1), robot=robot)))
    assert run.expires_at == NOON + timedelta(minutes=90)
    assert journal.record_expired(run, now=run.expires_at).execution.results[0].error == "no result came within 90m"


def test_the_first_result_counts() -> None:
    once = came(waiting())
    twice = came(once, Text(inline="another"))
    assert twice.execution.results == once.execution.results
    assert effect(twice) == "too late: the call of process crm.pay is over"


def test_a_result_of_no_call_of_this_run_changes_nothing() -> None:
    run = signalled(waiting(), CALLBACK, callback="guessed", output=RESULT)
    assert (lifecycle.next_step(run), run.execution.results) == (Park(), waiting().execution.results)
    assert effect(run) == "refused: no call of this run waits for it"


@pytest.mark.parametrize("first", ["came", "answered"])
def test_a_result_that_is_faster_than_the_promise_is_taken(first: str) -> None:
    run = (
        came(calling(), at=NOON) if first == "came" else with_outcome(calling(), Used("task-1", key(calling()), RESULT))
    )
    assert isinstance(lifecycle.next_step(run), CheckRules)
    assert (promised(run), run.parks) == (run, 0)


def test_a_result_of_a_call_that_is_to_be_made_again_is_taken() -> None:
    run = lifecycle.apply(calling(), NotCalled("task-1", key(calling()), "the connection broke", 30), now=NOON)
    run = came(run, at=NOON)
    assert isinstance(lifecycle.next_step(run), CheckRules)
    assert run.retry_at is None


def test_a_call_that_is_made_again_has_the_same_callback() -> None:
    run = control.apply_signals(journal.record_taken_over(calling(executor_id="crm.ping"), now=NOON), now=NOON)
    step = lifecycle.next_step(run)
    assert isinstance(step, BeginCalls)
    run = with_outcome(run, CallsBegun("task-1", list(step.uses), {step.uses[0].step_id: "another"}))
    assert [callback.id for callback in run.callbacks] == [SECRET]


def test_a_worker_that_takes_a_waiting_run_over_loses_no_promise() -> None:
    run = waiting()
    assert journal.record_taken_over(run, now=LATER) is run
    assert isinstance(lifecycle.next_step(journal.record_granted(came(run), 1, now=LATER)), CheckRules)


def test_after_a_crash_in_a_call_its_result_is_known_if_it_is_here() -> None:
    known = calling().model_copy(update={"inbox": [a_signal(CALLBACK, callback=SECRET, output=RESULT)]})
    run = journal.record_signals(journal.record_taken_over(known, now=NOON), now=NOON)
    assert isinstance(lifecycle.next_step(run), CheckRules)


def test_a_result_that_comes_after_a_crash_answers_in_place_of_the_person_who_is_asked() -> None:
    asks = journal.record_parked(journal.record_taken_over(calling(), now=NOON), now=NOON)
    assert (lifecycle.next_step(asks), asks.execution.status) == (Park(), ExecStatus.WAITING)
    assert asks.execution.question is not None
    run = came(asks)
    assert (run.execution.question, effect(run)) == (None, "the result of process crm.pay")
    assert isinstance(lifecycle.next_step(journal.record_granted(run, 1, now=LATER)), CheckRules)
    assert effect(came(signalled(asks, "instruct", "It was paid."))) == "too late: the call of process crm.pay is over"


@pytest.mark.parametrize("first", ["pause", "came"])
def test_a_run_that_waits_can_be_paused_as_well_and_needs_both(first: str) -> None:  # TG-16
    run = came(signalled(waiting(), "pause")) if first == "pause" else signalled(came(waiting()), "pause")
    assert (lifecycle.next_step(run), run.execution.status) == (Park(), ExecStatus.PAUSED)
    assert lifecycle.next_step(signalled(run, "resume")) == RequestSlot(1)
    run = signalled(signalled(waiting(), "pause"), "resume")
    assert (lifecycle.next_step(run), run.execution.status) == (Park(), ExecStatus.WAITING)


def test_a_run_that_waits_can_be_stopped() -> None:  # TG-16
    run = signalled(waiting(), "stop")
    step = lifecycle.next_step(run)
    assert step == Finish(ExecStatus.CANCELLED)
    over = lifecycle.finish(run, step.status, now=LATER)
    assert (over.expires_at, came(over).execution) == (None, over.execution)


def test_a_task_that_waits_can_be_cancelled() -> None:  # TG-07
    run = signalled(waiting(), "task.cancel", task={"id": "task-1"})
    assert (run.execution.results[0].status, run.expires_at) == (TaskStatus.SKIPPED, None)
    step = lifecycle.next_step(journal.record_granted(run, 1, now=LATER))
    assert isinstance(step, RunTurn)
    assert effect(came(run)) == "too late: the call of process crm.pay is over"


def test_nothing_that_people_say_is_the_result(subtests: pytest.Subtests) -> None:  # TG-07
    for action in ["instruct", "task.add", "goal.add", "goal.adjust"]:
        with subtests.test(action=action):
            run = signalled(waiting(), action, "Also Initech.")
            assert (lifecycle.next_step(run), run.execution.status) == (Park(), ExecStatus.WAITING)


@pytest.mark.parametrize("end", ["came", "failed", "expired"])
def test_a_run_that_waited_replays_to_the_same_execution(end: str) -> None:  # F24
    run = new_run(robot=GOING_ON)
    for outcome in before_the_call(run):
        run = journal.record_outcome(run, outcome, now=NOON)
    run = journal.record_parked(journal.record_outcome(run, Promised("task-1", key(run)), now=NOON), now=NOON)
    error, output = ("no", None) if end == "failed" else (None, RESULT)
    word = a_signal(CALLBACK, callback=SECRET, output=output, error=error)
    if end == "expired":
        run = journal.record_expired(run, now=NOON + timedelta(days=7))
    run = journal.record_signals(run.model_copy(update={"inbox": [word]}), now=LATER)
    run = journal.record_granted(run, 1, now=LATER)
    entries = [type(entry).model_validate_json(entry.model_dump_json()) for entry in run.unsaved]
    answer = replay(run, entries, [""] * len(entries), signals=[word])
    assert (answer.difference, answer.same) == ("", True)
    assert SECRET not in run.execution.model_dump_json()  # everybody may read that


def before_the_call(run: Run) -> Iterator[Outcome]:
    """What leads a run to its call of a process."""
    while not isinstance(step := lifecycle.next_step(run), MakeCalls):
        plans = isinstance(step, AskAgent) and step.phase is Phase.TASKS
        outcome = Planned([a_process_task(1), a_task(2)], []) if plans else outcome_of(run, step)
        yield outcome
        run = with_outcome(run, outcome)
