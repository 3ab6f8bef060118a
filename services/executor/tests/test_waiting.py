"""A run that waits for another service: its request, the repeats, and when a sweeper checks it."""

from datetime import timedelta
from typing import Any

import pytest
from services.executor.tests.fixtures import PATIENCE, advance_until, at, new_run, outcome_of

from executor.domain import lifecycle
from executor.domain.outcomes import StepDelayed
from executor.domain.run import Run, Waiting
from executor.domain.steps import RequestDelivery, RequestLearning
from rota_common.testing.samples import NOON
from rota_contracts.robots.robot import Phase


def test_asking_again_within_patience_is_the_same_request() -> None:
    run, step = _waiting(RequestDelivery)
    again = lifecycle.wait_for_answer(run, step, now=NOON + PATIENCE - timedelta(milliseconds=1), patience=PATIENCE)
    assert (again, again.asks) == (run, 1)


def test_asking_again_past_patience_is_a_new_request() -> None:
    run, step = _waiting(RequestDelivery)
    again = lifecycle.wait_for_answer(run, step, now=NOON + PATIENCE, patience=PATIENCE)
    assert (again.asks, again.asked_at) == (2, NOON + PATIENCE)


def test_the_next_service_gets_a_new_request() -> None:
    run, _ = _waiting(RequestDelivery)
    run = lifecycle.apply(run, outcome_of(run, RequestDelivery("r")), now=NOON)
    assert (run.waiting, run.asks, run.asked_at) == (Waiting.NOTHING, 0, None)
    learning = lifecycle.wait_for_answer(run, RequestLearning(), now=NOON, patience=PATIENCE)
    assert (learning.waiting, learning.asks) == (Waiting.LEARNING, 1)


def _waiting(kind: type[Any]) -> tuple[Run, Any]:
    run = at(kind)
    step: Any = lifecycle.next_step(run)
    return lifecycle.wait_for_answer(run, step, now=NOON, patience=PATIENCE), step


def test_a_held_run_is_due_from_its_creation() -> None:
    assert new_run().next_check(PATIENCE) == NOON


def test_a_delayed_run_is_looked_at_when_its_delay_is_over() -> None:
    run = lifecycle.apply(at(Phase.GOALS), StepDelayed("busy", 42), now=NOON)
    assert run.next_check(PATIENCE) == NOON + timedelta(seconds=42)


def test_a_waiting_run_is_looked_at_after_ever_longer_times(subtests: pytest.Subtests) -> None:
    for asks, seconds in [(1, 60), (2, 120), (3, 240), (4, 480), (5, 600), (40, 600)]:
        with subtests.test(asks=asks, seconds=seconds):
            run = _waiting(RequestLearning)[0].model_copy(update={"asks": asks})
            assert run.next_check(PATIENCE) == NOON + timedelta(seconds=seconds)


def test_a_run_that_is_over_is_never_looked_at() -> None:
    assert advance_until(new_run())[0].next_check(PATIENCE) is None
