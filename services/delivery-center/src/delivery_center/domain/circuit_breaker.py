"""How a place fares: when it is left alone for a while, and when it is switched off. No I/O, no clock."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import Random
from typing import Any, assert_never

from delivery_center.domain.delivery import Outcome, PermanentFailure, Succeeded, Target, TransientFailure
from rota_common.retries import backoff
from rota_contracts.messages.delivery import DeliveryType
from rota_contracts.messages.targets import TargetCondition, TargetHealth
from rota_contracts.model import Instant, Name, Part

CONSECUTIVE_FAILURES = 5
"""So many attempts in vain, with none between that worked, say that a place doesn't work, and not one result."""

OPEN_S, LONGEST_OPEN_S = 30.0, 600.0
WITH_BREAKER = frozenset({DeliveryType.WEBHOOK, DeliveryType.PROCESS})
"""Mail goes to our own mail server, notifications to our own bus: neither says anything about the receiver."""


class TargetRef(Part):
    """Where results of a team go. `member_id` is the robot whose delivery went there last."""

    target_id: str
    team_id: Name
    member_id: Name
    type: DeliveryType
    label: str

    def named(self) -> dict[str, Any]:
        """What tells it from others, also if more is known of it."""
        return self.model_dump(mode="json", include=set(TargetRef.model_fields))


class FailingTarget(TargetRef):
    """A place that fails or is switched off; nothing is kept of a healthy one.

    `failures` in a row, since `failing_since`; the last was `last_error` at `last_at`. `unpublished`: that it was disabled
    or enabled hasn't been published yet; `enabled_at` is kept as long as that.
    """

    failures: int = 0
    failing_since: Instant | None = None
    last_at: Instant | None = None
    last_error: str = ""
    disabled_at: Instant | None = None
    reason: str = ""
    enabled_at: Instant | None = None
    unpublished: bool = False


@dataclass(frozen=True, slots=True)
class Circuit:
    """What one replica remembers of a place that fails: `failures` in a row, and the rests it has had since it worked.

    Until `open_until` nothing is sent there; then one attempt is made to see.
    """

    failures: int = 0
    times_opened: int = 0
    open_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Allowed:
    """Send. `probe`: nobody else does until it is known how this fares."""

    probe: bool = False


@dataclass(frozen=True, slots=True)
class Blocked:
    """Send nothing until then."""

    until: datetime


def has_breaker(target: Target) -> bool:
    return target.type in WITH_BREAKER and target.target_id != ""


def allow(circuit: Circuit, *, now: datetime, probe_for: timedelta) -> tuple[Circuit, Allowed | Blocked]:
    """May something be sent there now? A probe shuts out the others for as long as it may take."""
    if circuit.open_until is None:
        return circuit, Allowed()
    if now < circuit.open_until:
        return circuit, Blocked(circuit.open_until)
    return replace(circuit, open_until=now + probe_for), Allowed(probe=True)


def after(circuit: Circuit, outcome: Outcome, allowed: Allowed, *, now: datetime, random: Random) -> Circuit | None:
    """The circuit after an attempt; None if there is nothing to remember: it answers."""
    match outcome:
        case Succeeded():
            return None
        case PermanentFailure(details=None):  # nothing was sent, so nothing is known
            return replace(circuit, open_until=now) if allowed.probe else circuit
        case PermanentFailure():
            return None
        case TransientFailure():
            return _failed(circuit, allowed, now, random)
        case other:
            assert_never(other)


def _failed(circuit: Circuit, allowed: Allowed, now: datetime, random: Random) -> Circuit:
    failures = circuit.failures + 1
    if failures < CONSECUTIVE_FAILURES:
        return Circuit(failures)
    if circuit.open_until is not None and not allowed.probe:  # it was under way already when the circuit opened
        return circuit
    times_opened = circuit.times_opened + 1
    rest = backoff(times_opened, random=random, base=OPEN_S, cap=LONGEST_OPEN_S)
    return Circuit(failures, times_opened, now + timedelta(seconds=rest))


def reason_to_disable(target: FailingTarget, outcome: Outcome, *, now: datetime, patience: timedelta) -> str | None:
    """The reason to send nothing there any more; None to go on. `patience`: how long it may fail with no success."""
    if isinstance(outcome, PermanentFailure) and outcome.gone:
        return f"it says it is gone: {outcome.error}"
    since = target.failing_since
    if since is None or now - since < patience or target.failures < CONSECUTIVE_FAILURES:
        return None
    return f"it has failed since {instant(since)}: {target.last_error}"


def disabled_reason(target: FailingTarget) -> str | None:
    """What becomes of a delivery to a place that is switched off; None if it isn't."""
    if target.disabled_at is None:
        return None
    return f"switched off since {instant(target.disabled_at)}: rota targets enable {target.target_id}"


def health_of(target: FailingTarget) -> TargetHealth:
    """As people see it."""
    condition = TargetCondition.FAILING if target.failures else TargetCondition.HEALTHY
    return TargetHealth(
        target_id=target.target_id,
        type=target.type,
        target=target.label,
        condition=condition if target.disabled_at is None else TargetCondition.DISABLED,
        failures=target.failures,
        failing_since=target.failing_since,
        disabled_at=target.disabled_at,
        reason=target.last_error if target.disabled_at is None else target.reason,
    )


def instant(at: datetime) -> str:
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")
