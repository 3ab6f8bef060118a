"""How a place fares: when it is left alone for a while, and when it is switched off. No I/O, no clock."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import Random
from typing import Any, assert_never

from delivery_center.domain.delivery import Outcome, Reached, Refused, Target, Unreached
from rota_common.retries import backoff
from rota_contracts.messages.delivery import DeliveryType
from rota_contracts.messages.targets import TargetCondition, TargetHealth
from rota_contracts.model import Instant, Name, Part

IN_A_ROW = 5
"""So many attempts in vain, with none between that worked, say that a place doesn't work, and not one result."""

REST_S, LONGEST_REST_S = 30.0, 600.0
HAVE_HEALTH = frozenset({DeliveryType.WEBHOOK, DeliveryType.PROCESS})
"""Mail goes to our own mail server, notifications to our own bus: neither says anything about the receiver."""


class Place(Part):
    """Where results of a team go. `member_id` is the robot whose delivery went there last."""

    target_id: str
    team_id: Name
    member_id: Name
    type: DeliveryType
    label: str

    def named(self) -> dict[str, Any]:
        """What tells it from others, also if more is known of it."""
        return self.model_dump(mode="json", include=set(Place.model_fields))


class UnwellTarget(Place):
    """A place that fails or is switched off; nothing is kept of a healthy one.

    `failures` in a row, since `failing_since`; the last was `last_error` at `last_at`. `untold`: that it was disabled
    or enabled hasn't been published yet; `enabled_at` is kept as long as that.
    """

    failures: int = 0
    failing_since: Instant | None = None
    last_at: Instant | None = None
    last_error: str = ""
    disabled_at: Instant | None = None
    reason: str = ""
    enabled_at: Instant | None = None
    untold: bool = False


@dataclass(frozen=True, slots=True)
class Circuit:
    """What one replica remembers of a place that fails: `failures` in a row, and the rests it has had since it worked.

    Until `shut_until` nothing is sent there; then one attempt is made to see.
    """

    failures: int = 0
    rests: int = 0
    shut_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Go:
    """Send. `probe`: nobody else does until it is known how this fares."""

    probe: bool = False


@dataclass(frozen=True, slots=True)
class Rest:
    """Send nothing until then."""

    until: datetime


def has_health(target: Target) -> bool:
    return target.type in HAVE_HEALTH and target.target_id != ""


def approach(circuit: Circuit, *, now: datetime, probe_for: timedelta) -> tuple[Circuit, Go | Rest]:
    """May something be sent there now? A probe shuts out the others for as long as it may take."""
    if circuit.shut_until is None:
        return circuit, Go()
    if now < circuit.shut_until:
        return circuit, Rest(circuit.shut_until)
    return replace(circuit, shut_until=now + probe_for), Go(probe=True)


def after(circuit: Circuit, outcome: Outcome, went: Go, *, now: datetime, random: Random) -> Circuit | None:
    """The circuit after an attempt; None if there is nothing to remember: it answers."""
    match outcome:
        case Reached():
            return None
        case Refused(details=None):  # nothing was sent, so nothing is known
            return replace(circuit, shut_until=now) if went.probe else circuit
        case Refused():
            return None
        case Unreached():
            return _shut(circuit, went, now, random)
        case other:
            assert_never(other)


def _shut(circuit: Circuit, went: Go, now: datetime, random: Random) -> Circuit:
    failures = circuit.failures + 1
    if failures < IN_A_ROW:
        return Circuit(failures)
    if circuit.shut_until is not None and not went.probe:  # it was under way already when the circuit opened
        return circuit
    rests = circuit.rests + 1
    rest = backoff(rests, random=random, base=REST_S, cap=LONGEST_REST_S)
    return Circuit(failures, rests, now + timedelta(seconds=rest))


def why_switch_off(target: UnwellTarget, outcome: Outcome, *, now: datetime, patience: timedelta) -> str | None:
    """The reason to send nothing there any more; None to go on. `patience`: how long it may fail with no success."""
    if isinstance(outcome, Refused) and outcome.gone:
        return f"it says it is gone: {outcome.error}"
    since = target.failing_since
    if since is None or now - since < patience or target.failures < IN_A_ROW:
        return None
    return f"it has failed since {instant(since)}: {target.last_error}"


def why_off(target: UnwellTarget) -> str | None:
    """What becomes of a delivery to a place that is switched off; None if it isn't."""
    if target.disabled_at is None:
        return None
    return f"switched off since {instant(target.disabled_at)}: rota targets enable {target.target_id}"


def health_of(target: UnwellTarget) -> TargetHealth:
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
