"""Pause, resume, stop and the deadline, at every point of a run's life (TG-16, F11, DEC-16, DEC-34)."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from services.executor.tests.fixtures import (
    BAD,
    STEPS,
    a_signal,
    a_task,
    advance,
    advance_until,
    at,
    effect,
    equipped,
    new_run,
    on_the_way,
    outcome_of,
    signalled,
    with_outcome,
    with_tasks,
)

from executor.domain import journal, lifecycle
from executor.domain.outcomes import Recalled, RulesAnswered
from executor.domain.run import Run, Waiting
from executor.domain.signals import control
from executor.domain.steps import (
    CheckRules,
    Finish,
    Park,
    RecallLessons,
    RequestDelivery,
    RequestLearning,
    RequestSlot,
    RequestVerdict,
    RunTurn,
)
from rota_common.testing.samples import NOON, a_robot
from rota_contracts.messages.execution import ExecStatus, TaskStatus
from rota_contracts.messages.trigger import InterventionAction
from rota_contracts.messages.validation import RulesReply
from rota_contracts.robots.robot import Phase

HOUR = NOON + timedelta(hours=1)
POINTS: list[Any] = [*STEPS, Finish]
QUESTIONS = (RequestVerdict, RequestDelivery, RequestLearning)


def parked(run: Run, at: datetime = NOON) -> Run:
    return journal.record_parked(run, now=at)


def back(run: Run, grant: int | None = None, at: datetime = NOON) -> Run:
    return journal.record_granted(run, run.parks if grant is None else grant, now=at)


def test_a_paused_run_holds_wherever_it_is_and_goes_on_from_there(subtests: pytest.Subtests) -> None:  # TG-16 DEC-16
    for until in POINTS:
        with subtests.test(until=until):
            before = on_the_way(until)
            run = signalled(before, "pause")
            assert (lifecycle.next_step(run), run.execution.status) == (Park(), ExecStatus.PAUSED)
            run = signalled(parked(run), "resume")
            assert (lifecycle.next_step(run), run.execution.status) == (RequestSlot(1), ExecStatus.PENDING)
            run = back(run)
            assert (lifecycle.next_step(run), run.execution.status) == (lifecycle.next_step(before), ExecStatus.RUNNING)
            assert advance_until(run)[0].execution.status is ExecStatus.COMPLETED


def test_a_stopped_run_ends_cancelled_wherever_it_is(subtests: pytest.Subtests) -> None:  # TG-16 F11
    for until in POINTS:
        with subtests.test(until=until):
            run = signalled(on_the_way(until), "stop", reason="wrong customer")
            assert (lifecycle.next_step(run), effect(run)) == (Finish(ExecStatus.CANCELLED), "stops")
            over = lifecycle.finish(run, ExecStatus.CANCELLED, now=HOUR)
            assert (over.execution.status, over.execution.error) == (ExecStatus.CANCELLED, "wrong customer")
            assert (over.execution.deadline_at, over.execution.phases[-1].finished_at) == (None, HOUR)


def test_a_stop_without_a_reason_says_who_it_was() -> None:
    assert signalled(new_run(), "stop").cancelled == "stopped by a person"


def test_the_first_reason_to_stop_is_the_one_that_counts() -> None:
    run = signalled(signalled(new_run(), "stop", reason="first"), "stop", reason="second")
    assert run.cancelled == "first"


def test_a_stop_goes_before_a_pause_and_before_a_question() -> None:
    run = signalled(signalled(new_run(), "pause"), "stop")
    assert lifecycle.next_step(run) == Finish(ExecStatus.CANCELLED)
    assert lifecycle.next_step(signalled(parked(signalled(new_run(), "pause")), "stop")) == Finish(ExecStatus.CANCELLED)


DEADLINE = "deadline: it worked longer than its max_duration 30m"


def test_a_run_past_its_deadline_fails_with_the_setting_and_learns(subtests: pytest.Subtests) -> None:  # DEC-34
    for until in [point for point in STEPS if point is not RequestLearning]:
        with subtests.test(until=until):
            run = signalled(on_the_way(until), "deadline", at=HOUR)
            execution = run.execution
            assert (execution.error, execution.phase, execution.deadline_at) == (DEADLINE, Phase.LEARNING, None)
            assert effect(run) == "fails"
            if until is RecallLessons:
                run = with_outcome(run, Recalled([]))
            over, steps = advance_until(run)
            assert [type(step) for step in steps] == [RequestLearning, Finish]
            assert (over.execution.status, over.execution.error) == (ExecStatus.FAILED, DEADLINE)


@pytest.mark.parametrize("until", [RunTurn, CheckRules, RequestVerdict])
def test_the_deadline_fails_the_current_task_even_with_continue_on_failure(until: Any) -> None:  # DEC-34
    run = at(until, run=new_run(robot=equipped(continue_on_failure=True)), expected="a result")
    run = signalled(run, "deadline", at=HOUR)
    (result,) = run.execution.results
    assert (result.status, result.error, result.finished_at) == (TaskStatus.FAILED, DEADLINE, HOUR)
    assert run.execution.phase is Phase.LEARNING


@pytest.mark.parametrize("until", [RequestLearning, Finish])
def test_a_deadline_cuts_no_learning_off(until: Any) -> None:
    run = signalled(on_the_way(until), "deadline", at=HOUR)
    assert (run.execution.error, effect(run)) == (None, "nothing to do: it doesn't work any more")
    assert advance_until(run)[0].execution.status is ExecStatus.COMPLETED


def test_a_deadline_that_comes_as_a_run_is_paused_waits_for_its_next_working_time() -> None:  # DEC-34
    run = signalled(signalled(at(RunTurn), "pause", at=HOUR), "deadline", at=HOUR)
    assert (run.execution.error, lifecycle.next_step(run)) == (None, Park())
    run = signalled(parked(run, at=HOUR), "resume", at=HOUR + timedelta(days=9))
    run = back(run, at=HOUR + timedelta(days=9))
    assert run.execution.deadline_at == HOUR + timedelta(days=9)  # no time is left: it is signalled again at once
    assert signalled(run, "deadline", at=HOUR + timedelta(days=9)).execution.error == DEADLINE


def test_the_smaller_of_both_time_limits_holds_and_is_named(subtests: pytest.Subtests) -> None:
    cases = [
        ({}, 30 * 60, "max_duration 30m"),
        ({"executor": {"max_duration": "90s"}}, 90, "max_duration 90s"),
        ({"clock": {"mode": "interval", "every": "1h", "timeout": "5m"}}, 300, "clock.timeout 5m"),
        (
            {"clock": {"mode": "interval", "every": "1h", "timeout": "2h"}, "executor": {"max_duration": "10m"}},
            600,
            "max_duration 10m",
        ),
    ]
    for config, limit, named in cases:
        with subtests.test(config=config, limit=limit, named=named):
            run = new_run(robot=a_robot(config=config))  # DEC-34
            assert run.execution.deadline_at == NOON + timedelta(seconds=limit)
            assert signalled(run, "deadline", at=HOUR).execution.error == f"deadline: it worked longer than its {named}"


def test_working_time_stands_still_while_a_run_is_parked() -> None:  # DEC-34
    run = signalled(at(RunTurn), "pause")
    run = parked(run, at=NOON + timedelta(minutes=10))
    assert (run.time_left, run.execution.deadline_at) == (20 * 60, None)
    weeks = NOON + timedelta(weeks=3)
    run = signalled(run, "resume", at=weeks)
    assert run.execution.deadline_at is None  # it waits for a slot now, which isn't work either
    run = back(run, at=weeks)
    assert (run.execution.deadline_at, run.time_left) == (weeks + timedelta(minutes=20), None)


def test_time_that_is_over_is_not_less_than_none() -> None:
    assert parked(signalled(at(RunTurn), "pause"), at=HOUR).time_left == 0


def test_a_run_is_parked_once_for_each_time_it_held_a_slot() -> None:
    run = parked(signalled(at(RunTurn), "pause"))
    assert (run.parks, run.granted) == (1, 0)
    assert parked(run) is run
    run = parked(signalled(signalled(run, "resume"), "pause"))  # it never got its slot back
    assert (run.parks, run.granted) == (1, 0)
    run = back(signalled(run, "resume"))
    assert (run.parks, run.granted) == (1, 1)
    assert (parked(signalled(run, "pause")).parks, run.granted) == (2, 1)


@pytest.mark.parametrize("grant", [0, 1, 3])
def test_a_grant_that_is_not_the_one_waited_for_changes_nothing(grant: int) -> None:
    run = back(signalled(parked(signalled(at(RunTurn), "pause")), "resume"))
    run = signalled(parked(signalled(run, "pause")), "resume")
    assert (run.parks, run.granted) == (2, 1)
    assert back(run, grant) is run
    assert back(run, 2).granted == 2


def test_a_doubled_grant_is_one() -> None:
    run = back(signalled(parked(signalled(at(RunTurn), "pause")), "resume"))
    assert back(run, 1) is run


def test_a_grant_for_a_run_that_is_paused_again_is_given_back() -> None:
    run = signalled(signalled(parked(signalled(at(RunTurn), "pause")), "resume"), "pause")
    run = back(run)
    assert lifecycle.next_step(run) == Park()
    assert (parked(run).parks, parked(run).granted) == (2, 1)


def test_a_run_that_is_over_gets_no_slot() -> None:
    run = lifecycle.finish(signalled(parked(signalled(at(RunTurn), "pause")), "stop"), ExecStatus.CANCELLED, now=NOON)
    assert back(run) is run


def test_an_answer_to_a_parked_run_is_taken_and_waits_with_it() -> None:
    run = at(RequestVerdict, expected="a result")
    verdict = outcome_of(run, lifecycle.next_step(run))
    run = lifecycle.wait_for_answer(run, RequestVerdict(*_fields(run)), now=NOON, patience=timedelta(seconds=60))
    run = lifecycle.apply(parked(signalled(run, "pause")), verdict, now=HOUR)
    assert run.execution.results[0].status is TaskStatus.COMPLETED
    assert (lifecycle.next_step(run), run.execution.status) == (Park(), ExecStatus.PAUSED)


def _fields(run: Run) -> Any:
    step = lifecycle.next_step(run)
    assert isinstance(step, RequestVerdict)
    return step.task, step.output, step.validation_id, step.conversation


def test_a_request_from_before_parking_is_repeated_after_it() -> None:
    run = lifecycle.wait_for_answer(at(RequestDelivery), RequestDelivery("r"), now=NOON, patience=timedelta(seconds=60))
    run = back(signalled(parked(signalled(run, "pause")), "resume"))
    assert (run.waiting, run.asked_at, run.asks) == (Waiting.NOTHING, None, 0)


def test_a_resume_for_a_run_that_is_not_paused_says_so() -> None:
    run = signalled(at(RunTurn), "resume")
    assert (effect(run), lifecycle.next_step(run)) == (
        "nothing to do: it isn't paused",
        lifecycle.next_step(at(RunTurn)),
    )


def test_every_signal_leaves_a_record_with_its_effect() -> None:
    run = signalled(new_run(), "pause", reason="lunch")
    (trace,) = run.execution.interventions
    assert (trace.intervention_id, trace.action, trace.text, trace.at) == ("w-pause", "pause", "lunch", NOON)
    assert trace.effect == "pauses after the current step"


def test_an_unknown_signal_is_refused_without_harm() -> None:
    run = signalled(new_run(), InterventionAction.PLAN_ADD, "tomorrow")
    assert effect(run) == "refused: a run under way has no action plan.add"
    assert lifecycle.next_step(run) == lifecycle.next_step(new_run())


def test_a_finished_run_applies_no_signal(subtests: pytest.Subtests) -> None:
    for action in ["pause", "resume", "stop", "deadline", *InterventionAction]:
        with subtests.test(action=action):
            over = lifecycle.finish(at(RequestLearning), ExecStatus.COMPLETED, now=NOON)
            assert signalled(over, action, "again") == over.model_copy(update={"applied": 1})


def test_the_signals_of_an_inbox_are_applied_in_order() -> None:
    words = [a_signal("pause", id="w1"), a_signal("resume", id="w2"), a_signal("instruct", "Be brief.", id="w3")]
    run = control.apply_signals(new_run().model_copy(update={"inbox": words}), now=NOON)
    assert [trace.intervention_id for trace in run.execution.interventions] == ["w1", "w2", "w3"]
    assert (run.inbox, run.applied, run.paused) == ([], 3, False)


def test_a_failure_while_it_was_being_paused_is_kept() -> None:
    run = signalled(advance(with_tasks(a_task(1))), "pause")
    run = with_outcome(run, RulesAnswered("task-1", RulesReply(verdict=BAD)))
    assert (run.execution.phase, run.execution.status) == (Phase.LEARNING, ExecStatus.PAUSED)
    assert run.execution.error == "task task-1 (Step 1): too short; no figures"
