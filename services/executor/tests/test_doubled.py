"""Answers that come twice, late, or to a run that doesn't wait for them."""

from datetime import timedelta
from itertools import product

import pytest
from services.executor.tests.fixtures import GOOD, PATIENCE, STEPS, at, new_run, on_the_way, outcome_of, with_outcome

from executor.domain import lifecycle
from executor.domain.outcomes import (
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
from executor.domain.steps import Finish, RequestDelivery, RequestLearning, RequestVerdict
from rota_common.testing.samples import NOON
from rota_contracts.messages.execution import ExecStatus


def outcomes() -> list[Outcome]:
    """One of each kind that ends a step, from the whole life of a clock run."""
    run, found = new_run("clock"), list[Outcome]()
    while not isinstance(step := lifecycle.next_step(run), Finish):
        found.append(outcome_of(run, step, expected="a result"))
        run = with_outcome(run, found[-1])
    return [*found, StepFailed("no luck")]


def test_every_kind_of_outcome_is_in_the_table() -> None:
    kinds = {Inspired, GoalsSet, Planned, Recalled, Written, TaskAnswered, RulesAnswered, VerdictGiven, DeliveryTaken}
    assert {type(outcome) for outcome in outcomes()} == {*kinds, Learnt, StepFailed}


def test_an_outcome_that_comes_twice_is_applied_once(subtests: pytest.Subtests) -> None:
    for number in range(len(outcomes())):
        with subtests.test(number=number):
            run = new_run("clock")
            for outcome in outcomes()[:number]:
                run = with_outcome(run, outcome)
            once = with_outcome(run, outcomes()[number])
            assert once != run
            assert lifecycle.apply(once, outcomes()[number], now=NOON + timedelta(hours=1)) == once


ANSWERS = [outcome for outcome in outcomes() if isinstance(outcome, VerdictGiven | DeliveryTaken | Learnt)]


def test_an_answer_that_is_not_waited_for_changes_nothing(subtests: pytest.Subtests) -> None:
    for until, stale in product(STEPS, ANSWERS):
        with subtests.test(until=until, stale=stale):
            run = on_the_way(until)
            step = lifecycle.next_step(run)
            if isinstance(step, RequestVerdict | RequestDelivery | RequestLearning):
                run = lifecycle.wait_for_answer(run, step, now=NOON, patience=PATIENCE)
            awaited = outcome_of(run, step, expected="a result") == stale
            changed = lifecycle.apply(run, stale, now=NOON) != run
            assert changed == (awaited and isinstance(stale, VerdictGiven | DeliveryTaken | Learnt))


def test_nothing_changes_a_run_that_is_over(subtests: pytest.Subtests) -> None:
    for until, status in product(STEPS, [ExecStatus.COMPLETED, ExecStatus.FAILED, ExecStatus.CANCELLED]):
        with subtests.test(until=until, status=status):
            over = lifecycle.finish(on_the_way(until), status, now=NOON)
            late = [*outcomes(), Unusable("what?"), StepDelayed("busy", 1)]
            assert [lifecycle.apply(over, outcome, now=NOON) for outcome in late] == [over] * len(late)


def test_a_verdict_of_another_request_is_not_the_one_waited_for() -> None:
    run = at(RequestVerdict, expected="a result")
    assert with_outcome(run, VerdictGiven("another", "task-1", GOOD, None)).execution == run.execution
