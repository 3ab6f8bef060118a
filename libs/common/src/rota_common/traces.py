"""W3C trace context, carried from message to message so that one id finds all of a run."""

import re
from secrets import token_hex

_TRACEPARENT = re.compile(r"^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$")


def child(traceparent: str) -> str:
    """A new span in the trace of `traceparent`, or in a new trace if that isn't one."""
    match = _TRACEPARENT.match(traceparent)
    trace = match.group(1) if match else token_hex(16)
    return f"00-{trace}-{token_hex(8)}-01"


def trace_id(traceparent: str) -> str:
    match = _TRACEPARENT.match(traceparent)
    return match.group(1) if match else ""
