"""The limits of a run's inbox: what people send may never make a run too large to be stored, read or stopped."""

from collections.abc import Sequence

from executor.domain.run import CALLBACK, DEADLINE, DECISION, Signal
from rota_contracts.messages.control import INTERVENTION_LIMIT, ControlAction

SIGNALS_LIMIT = 1000
INBOX_LIMIT = 2 * 1024 * 1024
"""Bytes of all signals of one run; MongoDB takes 16 MB for the whole run."""

UNLIMITED = (ControlAction.STOP, DEADLINE, CALLBACK, DECISION)
"""There is at most one stop, one deadline for each slot, one result for each call that was promised, and one decision
for each that waits for approval."""

FULL = (
    f"it has got all that it may: {SIGNALS_LIMIT} signals, or {INBOX_LIMIT // 1024**2} MB of them; "
    "stop it, and start a new one"
)
TOO_LONG = f"expected at most {INTERVENTION_LIMIT // 1024} KB of messages and task: attach what is longer, as a file"


def is_limited(signal: Signal) -> bool:
    return signal.action not in UNLIMITED


def size_of(signal: Signal) -> int:
    return len(signal.model_dump_json().encode())


def has_room(inbox: Sequence[Signal], signal: Signal) -> bool:
    if not is_limited(signal):
        return True
    return len(inbox) < SIGNALS_LIMIT and sum(map(size_of, inbox)) + size_of(signal) <= INBOX_LIMIT
