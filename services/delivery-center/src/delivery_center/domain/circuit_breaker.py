"""The circuit breaker of a target.

Closed, attempts pass. After `CONSECUTIVE_FAILURES` it opens and blocks attempts until `open_until`. Then it is
half-open: one attempt passes as a probe, and the others stay blocked for as long as it may take. A probe that reaches
the target closes the circuit; one that fails opens it again, for longer.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import Random
from typing import assert_never

from delivery_center.domain.delivery import Target
from delivery_center.domain.retry_policy import Outcome, PermanentFailure, Succeeded, TransientFailure
from rota_common.retries import backoff
from rota_contracts.messages.delivery import DeliveryType

CONSECUTIVE_FAILURES = 5
"""Before the circuit opens. One failure may be the payload's fault; this many are the target's."""

OPEN_S, LONGEST_OPEN_S = 30.0, 600.0

WITH_BREAKER = frozenset({DeliveryType.WEBHOOK, DeliveryType.PROCESS})
"""Mail goes to our own mail server, notifications to our own bus: neither says anything about the receiver."""


@dataclass(frozen=True, slots=True)
class Circuit:
    """The consecutive `failures` of a target that one replica has seen, and how often the circuit has opened since the
    last success. Closed while `open_until` is None."""

    failures: int = 0
    times_opened: int = 0
    open_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Allowed:
    """Send. `probe`: the circuit is half-open, and this attempt decides."""

    probe: bool = False


@dataclass(frozen=True, slots=True)
class Blocked:
    """The circuit is open: send nothing until then."""

    until: datetime


def has_breaker(target: Target) -> bool:
    return target.type in WITH_BREAKER and target.target_id != ""


def allow(circuit: Circuit, *, now: datetime, probe_for: timedelta) -> tuple[Circuit, Allowed | Blocked]:
    """Whether an attempt passes now. A probe blocks the others for `probe_for`."""
    if circuit.open_until is None:
        return circuit, Allowed()
    if now < circuit.open_until:
        return circuit, Blocked(circuit.open_until)
    return replace(circuit, open_until=now + probe_for), Allowed(probe=True)


def after(circuit: Circuit, outcome: Outcome, allowed: Allowed, *, now: datetime, random: Random) -> Circuit | None:
    """The circuit after an attempt; None if the target answered, so that there is nothing to remember."""
    match outcome:
        case Succeeded():
            return None
        case PermanentFailure(details=None):  # nothing was sent, so nothing is known
            return replace(circuit, open_until=now) if allowed.probe else circuit
        case PermanentFailure():
            return None
        case TransientFailure():
            return _after_failure(circuit, allowed, now, random)
        case other:
            assert_never(other)


def _after_failure(circuit: Circuit, allowed: Allowed, now: datetime, random: Random) -> Circuit:
    failures = circuit.failures + 1
    if failures < CONSECUTIVE_FAILURES:
        return Circuit(failures)
    if circuit.open_until is not None and not allowed.probe:  # it had begun before the circuit opened
        return circuit
    opened = circuit.times_opened + 1
    seconds = backoff(opened, random=random, base=OPEN_S, cap=LONGEST_OPEN_S)
    return Circuit(failures, opened, now + timedelta(seconds=seconds))
