"""W3C trace context, carried from message to message, so that one id finds all messages of a run.

A message makes no span of its own, so it carries on the span that it was given: the sender's, or the beginning of a
trace that has no sender.
"""

import hashlib
import re

_TRACEPARENT = re.compile(r"^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$")


def continued(traceparent: str, *, cause: str) -> str:
    """The same trace and span; of an invalid `traceparent` the trace that its cause begins."""
    return traceparent if _TRACEPARENT.match(traceparent) else derived(cause)


def derived(cause: str) -> str:
    """The trace of a cause that came without one: always the same, so that publishing again continues it."""
    trace = hashlib.sha256(cause.encode()).hexdigest()[:32]
    return f"00-{trace}-{_beginning(trace)}-01"


def trace_id(traceparent: str) -> str:
    match = _TRACEPARENT.match(traceparent)
    return match.group(1) if match else ""


def caller(traceparent: str) -> str:
    """The id of the span that a sender gave; empty if the trace begins at Rota, where there is no such span."""
    match = _TRACEPARENT.match(traceparent)
    if match is None or match.group(2) == _beginning(match.group(1)):
        return ""
    return match.group(2)


def span_id(*parts: str | int) -> str:
    """The id of the span of something with this name: 16 hexadecimal digits, always the same."""
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:16]


def run_span(execution_id: str) -> str:
    """The span of an execution, below which stands all that it does, in whichever service."""
    return span_id("run", execution_id)


def below(traceparent: str, span: str) -> str:
    """The context of a call that is made within `span`; an invalid `traceparent` stays as it is."""
    return f"00-{trace_id(traceparent)}-{span}-01" if trace_id(traceparent) else traceparent


def _beginning(trace: str) -> str:
    return span_id("beginning", trace)
