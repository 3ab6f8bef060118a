"""The rules of circuit breakers, and of disabling targets."""

from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from delivery_center.domain.circuit_breaker import CONSECUTIVE_FAILURES, Allowed, Blocked, Circuit, after, allow
from delivery_center.domain.retry_policy import Outcome, PermanentFailure, Succeeded, TransientFailure
from delivery_center.domain.target_health import FailingTarget, disabled_reason, health_of, reason_to_disable
from rota_contracts.messages.delivery import DeliveryType
from rota_contracts.messages.targets import TargetCondition

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
PROBE = timedelta(seconds=12)
DOWN = TransientFailure("answered 500")
DAYS_5 = timedelta(days=5)


def turned(circuit: Circuit, *outcomes: Outcome, now: datetime = NOON, probe: bool = False) -> Circuit:
    for outcome in outcomes:
        circuit = after(circuit, outcome, Allowed(probe), now=now, random=Random(1)) or Circuit()
    return circuit


def opened(now: datetime = NOON) -> Circuit:
    return turned(Circuit(), *[DOWN] * CONSECUTIVE_FAILURES, now=now)


def failing(**fields: object) -> FailingTarget:
    given = {
        "target_id": "t1",
        "team_id": "acme",
        "member_id": "ann",
        "type": "webhook",
        "label": "https://a.example/1",
    }
    failing = {"failures": 9, "failing_since": NOON, "last_at": NOON, "last_error": "answered 500"}
    return FailingTarget.model_validate(given | failing | fields)


def test_the_fifth_consecutive_failure_opens_the_circuit_for_half_a_minute() -> None:
    circuit = turned(Circuit(), *[DOWN] * 4)
    assert allow(circuit, now=NOON, probe_for=PROBE) == (circuit, Allowed())
    circuit = turned(circuit, DOWN)
    assert circuit.open_until is not None
    assert 24 <= (circuit.open_until - NOON).total_seconds() <= 36
    assert allow(circuit, now=NOON, probe_for=PROBE) == (circuit, Blocked(circuit.open_until))


@pytest.mark.parametrize("between", [Succeeded(), PermanentFailure("answered 404", {"status": 404})])
def test_any_final_answer_resets_the_count(between: Outcome) -> None:
    assert turned(Circuit(), *[DOWN] * 4, between, *[DOWN] * 4) == Circuit(failures=4)


def test_a_failure_before_sending_does_not_count() -> None:
    unsigned = PermanentFailure("expected the environment variable HOOK")
    assert turned(Circuit(), *[DOWN] * 4, unsigned) == Circuit(failures=4)


def test_a_half_open_circuit_allows_one_probe() -> None:
    circuit = opened()
    assert circuit.open_until is not None
    later = circuit.open_until
    circuit, first = allow(circuit, now=later, probe_for=PROBE)
    assert first == Allowed(probe=True)
    assert allow(circuit, now=later, probe_for=PROBE) == (circuit, Blocked(later + PROBE))


def test_a_probe_without_an_outcome_is_followed_by_another() -> None:
    circuit = opened()
    later = NOON + timedelta(minutes=1)
    circuit, _ = allow(circuit, now=later, probe_for=PROBE)
    assert allow(circuit, now=later + PROBE, probe_for=PROBE)[1] == Allowed(probe=True)


def test_an_answered_probe_closes_the_circuit() -> None:
    assert turned(opened(), Succeeded(), probe=True) == Circuit()
    assert turned(opened(), PermanentFailure("answered 404", {"status": 404}), probe=True) == Circuit()


def test_a_probe_that_could_not_be_sent_is_followed_by_another() -> None:
    circuit = turned(opened(), PermanentFailure("no secret"), probe=True)
    assert allow(circuit, now=NOON, probe_for=PROBE)[1] == Allowed(probe=True)


def test_each_failed_probe_doubles_the_open_time_up_to_ten_minutes() -> None:
    circuit, pauses = opened(), list[float]()
    for _ in range(8):
        assert circuit.open_until is not None
        now = circuit.open_until
        circuit, _ = allow(circuit, now=now, probe_for=PROBE)
        circuit = turned(circuit, DOWN, now=now, probe=True)
        assert circuit.open_until is not None
        pauses.append((circuit.open_until - now).total_seconds())
    for rest, plain in zip(pauses, [60, 120, 240, 480, 600, 600, 600, 600], strict=True):
        assert plain * 0.8 <= rest <= plain * 1.2


def test_an_attempt_begun_before_the_circuit_opened_may_close_it_but_not_extend_it() -> None:
    assert turned(opened(), DOWN, DOWN, DOWN) == opened()
    assert turned(opened(), Succeeded()) == Circuit()


def test_a_target_is_disabled_after_days_of_failure() -> None:
    at = NOON + DAYS_5
    assert reason_to_disable(failing(), DOWN, now=at - timedelta(seconds=1), disable_after=DAYS_5) is None
    reason = reason_to_disable(failing(), DOWN, now=at, disable_after=DAYS_5)
    assert reason == "it has failed since 2026-03-02T12:00:00Z: answered 500"


def test_two_failures_a_week_apart_do_not_disable_a_target() -> None:
    seldom = failing(failures=CONSECUTIVE_FAILURES - 1)
    assert reason_to_disable(seldom, DOWN, now=NOON + timedelta(days=9), disable_after=DAYS_5) is None


def test_a_target_that_replies_gone_is_disabled_at_once() -> None:
    gone = PermanentFailure("answered 410", {"status": 410}, gone=True)
    reason = reason_to_disable(failing(failures=1), gone, now=NOON, disable_after=DAYS_5)
    assert reason == "it says it is gone: answered 410"
    not_found = PermanentFailure("answered 404", {"status": 404})
    assert reason_to_disable(failing(failures=1), not_found, now=NOON, disable_after=DAYS_5) is None


def test_the_error_of_a_disabled_target_names_the_remedy() -> None:
    assert disabled_reason(failing()) is None
    assert (
        disabled_reason(failing(disabled_at=NOON)) == "switched off since 2026-03-02T12:00:00Z: rota targets enable t1"
    )


def test_the_health_of_a_target_is_shown() -> None:
    shown, off = health_of(failing()), health_of(failing(disabled_at=NOON, reason="by hand"))
    assert (shown.condition, shown.failures, shown.reason) == (TargetCondition.FAILING, 9, "answered 500")
    assert (off.condition, off.disabled_at, off.reason) == (TargetCondition.DISABLED, NOON, "by hand")
    healthy = health_of(failing(failures=0, failing_since=None, last_error=""))
    assert (healthy.condition, healthy.type, healthy.target) == (
        TargetCondition.HEALTHY, DeliveryType.WEBHOOK, "https://a.example/1",
    )  # fmt: skip
