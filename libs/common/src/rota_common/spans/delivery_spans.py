"""The spans of a delivery: one for each attempt at a target, below the span of its execution. No I/O."""

from collections.abc import Iterator
from datetime import timedelta

from rota_common.redaction import without_credentials
from rota_common.runtime import traces
from rota_contracts.messages.delivery import AttemptDetail, ChannelResult, DeliveryContext, DeliveryReply
from rota_contracts.messages.execution import excerpt
from rota_contracts.messages.run_trace import SpanKind, TraceSpan


def attempt_span_id(delivery_id: str, number: int) -> str:
    """Of the attempt with this number, from 1."""
    return traces.span_id("attempt", delivery_id, number)


def attempt_span(
    context: DeliveryContext, result: ChannelResult, attempt: AttemptDetail, *, number: int, trace_id: str = ""
) -> TraceSpan:
    """`trace_id`: of the delivery; without one, that of an execution that came without a trace."""
    error = None if attempt.ok else excerpt(without_credentials(attempt.error or "failed"), 500)
    attributes: dict[str, bool | int | float | str] = {
        "rota.team_id": context.team_id,
        "rota.member_id": context.member_id,
        "rota.execution_id": context.execution_id,
        "rota.delivery_id": result.delivery_id,
        "rota.delivery.type": result.type.value,
        "rota.delivery.target": without_credentials(result.target),
        "rota.delivery.attempt": number,
    }
    if error is not None:
        attributes["error.type"] = "_OTHER"
    return TraceSpan(
        trace_id=trace_id or traces.trace_id(traces.derived(context.execution_id)),
        span_id=attempt_span_id(result.delivery_id, number),
        parent_id=traces.run_span(context.execution_id),
        name=f"deliver {result.type}",
        kind=SpanKind.DELIVERY,
        started_at=attempt.at,
        ended_at=attempt.at + timedelta(milliseconds=attempt.latency_ms),
        error=error,
        attributes=attributes,
    )


def spans_of(delivery: DeliveryReply, *, trace_id: str) -> Iterator[TraceSpan]:
    """All attempts so far."""
    if delivery.context is None:
        return
    for target in delivery.targets:
        for number, attempt in enumerate(target.attempts, start=1):
            yield attempt_span(delivery.context, target.result, attempt, number=number, trace_id=trace_id)
