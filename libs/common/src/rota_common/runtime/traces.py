"""W3C trace context, carried from message to message, so that one id finds all messages of a run."""

import hashlib
import re
from random import Random

_TRACEPARENT = re.compile(r"^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$")

_IDS = Random()
"""Names, not secrets: the operating system's own randomness would cost a system call for each message."""


def child(traceparent: str) -> str:
    """A new span in the trace of `traceparent`, or in a new trace if it is invalid."""
    match = _TRACEPARENT.match(traceparent)
    trace = match.group(1) if match else f"{_IDS.getrandbits(128):032x}"
    return f"00-{trace}-{_IDS.getrandbits(64):016x}-01"


def derived(cause: str) -> str:
    """The trace of a cause that came without one: always the same, so that publishing again continues it."""
    digest = hashlib.sha256(cause.encode()).hexdigest()
    return f"00-{digest[:32]}-{digest[32:48]}-01"


def trace_id(traceparent: str) -> str:
    match = _TRACEPARENT.match(traceparent)
    return match.group(1) if match else ""
