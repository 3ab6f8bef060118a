"""The retry policy: targets after attempts, and when a delivery is due."""

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from delivery_center.domain.delivery import AT_ONCE, Delivery, Target, due, give_up, published
from delivery_center.domain.retry_policy import (
    Outcome,
    PermanentFailure,
    RetryPolicy,
    Succeeded,
    TransientFailure,
    record,
)
from rota_contracts.messages.delivery import DeliveryType
from rota_contracts.messages.delivery_log import TargetState

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
POLICY = RetryPolicy((5, 30), Random(1))


def target(number: int = 1, **fields: Any) -> Target:
    given = {"delivery_id": f"d{number}", "type": DeliveryType.WEBHOOK, "label": "https://a.example", "config": {}}
    return Target.model_validate(given | fields)


def after(*outcomes: Outcome, policy: RetryPolicy = POLICY) -> Target:
    made = target()
    for outcome in outcomes:
        made = record(made, outcome, at=NOON, latency_ms=7, now=NOON, policy=policy)
    return made


def delivery(*targets: Target, **fields: Any) -> Delivery:
    context = {"team_id": "acme", "member_id": "ann", "execution_id": "e1", "trigger_type": "event"}
    content = {"summary": "s", "body": {"inline": "b"}}
    given = {"request_id": "r1", "content": content, "context": context, "mode": "standard"}
    return Delivery.model_validate(given | {"created_at": NOON, "accepted_at": NOON, "targets": targets} | fields)


def test_a_delivered_target_is_final_and_names_its_recipients() -> None:  # DC-14
    done = after(Succeeded(("ann@acme.example",), {"status": 200}))
    assert (done.state, done.next_attempt_at) == (TargetState.DELIVERED, None)
    (attempt,) = done.attempts
    assert (attempt.ok, attempt.final, attempt.latency_ms, attempt.error) == (True, True, 7, None)
    assert (attempt.recipients, attempt.details) == (["ann@acme.example"], {"status": 200})


def test_a_permanent_failure_is_final_at_once() -> None:
    done = after(PermanentFailure("answered 410"))
    assert (done.state, done.next_attempt_at) == (TargetState.FAILED, None)
    assert (done.attempts[0].final, done.attempts[0].error) == (True, "answered 410")


def test_a_transient_failure_is_retried_after_the_delay_of_the_policy() -> None:
    waiting = after(TransientFailure("timeout"))
    assert waiting.state is TargetState.RETRYING
    assert waiting.next_attempt_at is not None
    assert timedelta(seconds=4) <= waiting.next_attempt_at - NOON <= timedelta(seconds=6)
    assert not waiting.attempts[0].final


def test_after_the_last_delay_the_target_is_given_up_with_all_attempts_kept() -> None:
    done = after(*[TransientFailure("timeout")] * 3)
    assert (done.state, done.next_attempt_at) == (TargetState.FAILED, None)
    assert [attempt.final for attempt in done.attempts] == [False, False, True]
    assert done.attempts[-1].error == "timeout (given up after 3 attempts)"


def test_a_policy_without_delays_allows_one_attempt() -> None:
    assert after(TransientFailure("timeout"), policy=RetryPolicy((), Random(1))).state is TargetState.FAILED


def test_a_target_can_be_reached_after_failures() -> None:
    done = after(TransientFailure("timeout"), Succeeded())
    assert (done.state, [attempt.ok for attempt in done.attempts]) == (TargetState.DELIVERED, [False, True])


@pytest.mark.parametrize(("asked", "least", "most"), [(20, 20, 20), (1, 4, 6), (10_000, 30, 30)])
def test_the_receiver_may_ask_for_a_longer_delay_up_to_the_longest_of_the_policy(
    asked: float, least: float, most: float
) -> None:
    waiting = after(TransientFailure("answered 429", after=asked))
    assert waiting.next_attempt_at is not None
    assert least <= (waiting.next_attempt_at - NOON).total_seconds() <= most


def test_delays_have_a_jitter_of_a_fifth() -> None:
    policy = RetryPolicy((100,), Random(3))
    waits = [policy.delay(1, None) or 0 for _ in range(500)]
    assert 80 <= min(waits) < 85
    assert 115 < max(waits) <= 120


def test_instants_are_whole_milliseconds_as_the_store_keeps_them() -> None:
    waiting = after(TransientFailure("timeout"))
    assert waiting.next_attempt_at is not None
    assert waiting.next_attempt_at.microsecond % 1000 == 0


def test_a_delivery_is_settled_when_every_target_is_final() -> None:
    assert delivery().settled
    assert delivery(after(Succeeded()), after(PermanentFailure("no"))).settled
    assert not delivery(after(Succeeded()), after(TransientFailure("timeout"))).settled


def test_only_what_is_due_is_attempted_and_no_more_than_run_at_once() -> None:
    past, future = NOON - timedelta(seconds=1), NOON + timedelta(seconds=1)
    late = [target(number, next_attempt_at=past) for number in range(AT_ONCE + 3)]
    early = target(99, next_attempt_at=future)
    assert due(delivery(early, late[0], after(Succeeded())), NOON) == [late[0]]
    assert due(delivery(*late), NOON) == late[:AT_ONCE]


def test_a_published_delivery_is_released_and_due_at_its_next_attempt() -> None:
    soon, later = NOON + timedelta(seconds=5), NOON + timedelta(seconds=9)
    targets = [target(1, next_attempt_at=later, unpublished=True), target(2, next_attempt_at=soon), after(Succeeded())]
    released = published(delivery(*targets, claimed=True, due_at=NOON))
    assert (released.due_at, released.claimed) == (soon, False)
    assert not any(each.unpublished for each in released.targets)
    assert published(delivery(after(Succeeded()), due_at=NOON)).due_at is None


def test_giving_up_ends_pending_targets_and_leaves_final_ones() -> None:
    ended = give_up(
        delivery(after(Succeeded()), after(TransientFailure("timeout")).model_copy(update={"delivery_id": "d2"})),
        "gone",
    )
    assert [each.state for each in ended.targets] == [TargetState.DELIVERED, TargetState.FAILED]
    assert [each.given_up for each in ended.targets] == [None, "gone"]
    assert ended.settled
