"""The circuit breaker of a connector.

Closed, calls pass. After `CONSECUTIVE_FAILURES`, or at once where the provider asks for a pause, it opens until
`open_until`. Then it is half-open: one call passes as a probe, and the others are held back for `PROBE_S`. An answer
closes it; a probe that fails opens it again, for longer.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

CONSECUTIVE_FAILURES = 3
OPEN_S, LONGEST_OPEN_S = 30.0, 300.0
PROBE_S = 30.0


@dataclass(frozen=True, slots=True)
class Circuit:
    """The consecutive `failures` of a connector that one replica has seen, the `reason` of the last one, and how often
    it has opened since the last answer. `asked_for`: it is open because the provider asked for a pause.
    """

    failures: int = 0
    times_opened: int = 0
    open_until: datetime | None = None
    asked_for: bool = False
    reason: str = ""

    def rest(self, now: datetime) -> float:
        """Seconds that it is still open; 0 if it is closed or half-open."""
        return max((self.open_until - now).total_seconds(), 0.0) if self.open_until is not None else 0.0


def before_call(circuit: Circuit, *, now: datetime) -> tuple[Circuit, bool]:
    """The circuit while a call passes, and whether that call is the probe."""
    if circuit.open_until is None or circuit.rest(now):
        return circuit, False
    return replace(circuit, open_until=now + timedelta(seconds=PROBE_S), asked_for=False), True


def after_failure(circuit: Circuit, reason: str, *, pause: float | None, probe: bool, now: datetime) -> Circuit:
    """The circuit after a call without an answer. `pause`: the seconds that the provider asked for."""
    failed = replace(circuit, failures=circuit.failures + 1, reason=reason)
    if pause:
        longest = max(pause, circuit.rest(now) if circuit.asked_for else 0.0)
        return replace(failed, open_until=now + timedelta(seconds=longest), asked_for=True)
    if not probe and (failed.failures < CONSECUTIVE_FAILURES or circuit.open_until is not None):
        return failed
    seconds = min(OPEN_S * 2**circuit.times_opened, LONGEST_OPEN_S)
    until = now + timedelta(seconds=seconds)
    return replace(failed, times_opened=circuit.times_opened + 1, open_until=until, asked_for=False)


def after_answer(circuit: Circuit, *, now: datetime) -> Circuit:
    """Closed, unless the provider has asked for a pause meanwhile."""
    return circuit if circuit.asked_for and circuit.rest(now) else Circuit()
