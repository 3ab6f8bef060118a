"""The span of an attempt at a target, in the trace of the delivery's execution."""

from delivery_center.domain.delivery import Delivery, Target
from delivery_center.domain.facts import result_of
from rota_common.runtime import traces
from rota_common.spans.delivery_spans import attempt_span, attempt_span_id
from rota_contracts.messages.delivery import AttemptDetail
from rota_contracts.messages.run_trace import TraceSpan


def context_of(delivery: Delivery, target: Target) -> str:
    """The trace context that the next attempt at a target sends along: its own span's."""
    return traces.below(delivery.traceparent, attempt_span_id(target.delivery_id, len(target.attempts) + 1))


def span_of(delivery: Delivery, attempted: Target) -> TraceSpan:
    """The span of the last attempt."""
    last = attempted.attempts[-1]
    attempt = AttemptDetail(at=last.at, ok=last.ok, latency_ms=last.latency_ms, error=last.error)
    trace_id = traces.trace_id(delivery.traceparent)
    number = len(attempted.attempts)
    return attempt_span(delivery.context, result_of(attempted), attempt, number=number, trace_id=trace_id)
