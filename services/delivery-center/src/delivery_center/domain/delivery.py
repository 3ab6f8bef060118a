"""A delivery and its targets: what is recorded about them, and what an attempt makes of them. No I/O, no clock."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import assert_never

from rota_common.retries import JITTER
from rota_contracts.messages.delivery import (
    DeliveryContent,
    DeliveryContext,
    DeliveryPermission,
    DeliveryType,
    Permission,
)
from rota_contracts.messages.delivery_log import DeliveryState, TargetState
from rota_contracts.messages.trigger import ExecutorMode
from rota_contracts.model import Instant, Json, Part

AT_ONCE = 8
"""Attempts that one delivery makes at the same time."""

HELD_FOR = timedelta(seconds=5)
"""How long a target rests while its execution is paused, or nobody can say whether it is."""

PERMITTED = DeliveryPermission(leave=Permission.ALLOW)
REASONS = {Permission.DENY: "the execution was stopped", Permission.HOLD: "the execution is paused"}
REASON_LIMIT = 500


class Attempt(Part):
    """One try at one target. `final`: nothing more was to be tried after it."""

    at: Instant
    ok: bool
    final: bool
    latency_ms: int
    error: str | None = None
    recipients: list[str] = []
    details: Json = None


class Target(Part):
    """One place a delivery goes to. `delivery_id` is the same at every attempt: the receiver's idempotency key.

    `target_id` is the same for all deliveries of the team to this place. `label` is how people see it. `config` is the
    owner's target as it was when the delivery was made. `unpublished`: its last change hasn't been published yet. `given_up`
    says why it was dropped without one more attempt, `put_off` why no attempt was made when the delivery was.
    """

    delivery_id: str
    target_id: str = ""
    type: DeliveryType
    label: str
    config: dict[str, Json]
    state: TargetState = TargetState.RETRYING
    attempts: list[Attempt] = []
    next_attempt_at: Instant | None = None
    unpublished: bool = False
    given_up: str | None = None
    put_off: str | None = None


class Delivery(Part):
    """All that is kept of one delivery.

    `due_at` is when a sweeper has to look at it: at its next attempt, or at the end of a claim whose owner may have
    died. `claimed` is true in between. `revision` grows with every claim and fences what an earlier owner writes.
    `replay_of` is the request whose result this one sends once more.
    """

    request_id: str
    content: DeliveryContent
    context: DeliveryContext
    mode: ExecutorMode
    created_at: Instant
    accepted_at: Instant
    targets: list[Target] = []
    error: str | None = None
    traceparent: str = ""
    replay_of: str | None = None
    due_at: Instant | None = None
    claimed: bool = False
    revision: int = 0

    @property
    def settled(self) -> bool:
        return all(target.state is not TargetState.RETRYING for target in self.targets)

    @property
    def state(self) -> DeliveryState:
        """Failed also if there was nowhere to send it to, with the reason in `error`."""
        if not self.settled:
            return DeliveryState.PENDING
        failed = self.error is not None or any(target.state is TargetState.FAILED for target in self.targets)
        return DeliveryState.FAILED if failed else DeliveryState.DELIVERED

    @property
    def last_at(self) -> datetime:
        """The instant of its last attempt; when it was made, if there was none."""
        return max([self.accepted_at, *(attempt.at for target in self.targets for attempt in target.attempts)])


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The receiver has it."""

    recipients: tuple[str, ...] = ()
    details: Json = None


@dataclass(frozen=True, slots=True)
class TransientFailure:
    """It may work later; `after` is the least delay in seconds the receiver asked for."""

    error: str
    after: float | None = None
    details: Json = None


@dataclass(frozen=True, slots=True)
class PermanentFailure:
    """It will never work. `gone`: nor will anything else at this place, it says."""

    error: str
    details: Json = None
    gone: bool = False


Outcome = Succeeded | TransientFailure | PermanentFailure


@dataclass(frozen=True)
class RetryPolicy:
    """`delays` in seconds, after the first, second … failed attempt; jittered, so that retries come spread out."""

    delays: tuple[float, ...]
    random: Random

    def wait(self, failed: int, after: float | None) -> float | None:
        """Seconds until the next attempt, after `failed` of them; None when there is none.

        What the receiver asked for is kept, up to the longest delay of the schedule.
        """
        if failed > len(self.delays):
            return None
        jittered = self.delays[failed - 1] * self.random.uniform(1 - JITTER, 1 + JITTER)
        return max(jittered, min(after or 0.0, max(self.delays)))


def record(
    target: Target, outcome: Outcome, *, at: datetime, latency_ms: int, now: datetime, retry_policy: RetryPolicy
) -> Target:
    """The target after an attempt that began `at` and is over `now`."""
    failed = len(target.attempts) + 1
    state, wait = TargetState.FAILED, None
    match outcome:
        case Succeeded(recipients, details):
            state = TargetState.DELIVERED
            attempt = Attempt(
                at=at, ok=True, final=True, latency_ms=latency_ms, recipients=list(recipients), details=details
            )
        case PermanentFailure(error, details, _):
            attempt = Attempt(at=at, ok=False, final=True, latency_ms=latency_ms, error=error, details=details)
        case TransientFailure(error, after, details):
            wait = retry_policy.wait(failed, after)
            if wait is None:
                error = f"{error} (given up after {failed} attempts)"
            else:
                state = TargetState.RETRYING
            attempt = Attempt(at=at, ok=False, final=wait is None, latency_ms=latency_ms, error=error, details=details)
        case other:
            assert_never(other)
    return target.model_copy(
        update={
            "state": state,
            "attempts": [*target.attempts, attempt],
            "next_attempt_at": None if wait is None else now + timedelta(milliseconds=round(wait * 1000)),
            "unpublished": True,
        }
    )


def due(delivery: Delivery, now: datetime) -> list[Target]:
    """What to attempt now: as many as run at once, so that one claim lasts no longer than one timeout."""
    return [t for t in delivery.targets if t.next_attempt_at is not None and t.next_attempt_at <= now][:AT_ONCE]


def with_targets(delivery: Delivery, changed: Sequence[Target]) -> Delivery:
    """The delivery with these targets in place of the ones with their ids."""
    by_id = {target.delivery_id: target for target in changed}
    return delivery.model_copy(update={"targets": [by_id.get(t.delivery_id, t) for t in delivery.targets]})


def give_up(delivery: Delivery, reason: str) -> Delivery:
    """No more attempts at what is still being tried."""
    return with_targets(delivery, [drop(t, reason) for t in delivery.targets if t.state is TargetState.RETRYING])


def drop(target: Target, reason: str) -> Target:
    """No more attempts at this target."""
    end = {"state": TargetState.FAILED, "next_attempt_at": None, "unpublished": True, "given_up": reason}
    return target.model_copy(update=end)


def hold(delivery: Delivery, now: datetime, reason: str) -> Delivery:
    """What is due rests for a while, and no attempt is counted."""
    resting = [t for t in delivery.targets if t.next_attempt_at is not None and t.next_attempt_at <= now]
    return with_targets(delivery, [put_off(target, now, reason) for target in resting])


def put_off(target: Target, now: datetime, reason: str, *, until: datetime | None = None) -> Target:
    """The target rests for a while. Before its first attempt the reason is kept: it is what the request is answered."""
    update: dict[str, Json] = {"next_attempt_at": until or now + HELD_FOR}
    if not target.attempts and target.put_off is None:
        update["put_off"] = reason
    return target.model_copy(update=update)


def withhold(leave: Permission, reason: str) -> DeliveryPermission:
    """`hold` or `stop` with a reason to show: the one given, as far as it isn't too long, or a plain one."""
    return DeliveryPermission(leave=leave, reason=reason[:REASON_LIMIT] or REASONS[leave])


def published(delivery: Delivery) -> Delivery:
    """Everything is published: nobody's claim, due again at the next attempt."""
    instants = [target.next_attempt_at for target in delivery.targets if target.next_attempt_at is not None]
    targets = [t.model_copy(update={"unpublished": False}) if t.unpublished else t for t in delivery.targets]
    return delivery.model_copy(
        update={"targets": targets, "claimed": False, "due_at": min(instants) if instants else None}
    )
