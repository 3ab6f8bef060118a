"""OTLP's request for spans, in its JSON encoding. No I/O."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from rota_contracts.messages.run_trace import SpanKind, TraceSpan

INTERNAL, CLIENT = 1, 3
KINDS = {SpanKind.RUN: INTERNAL, SpanKind.MODEL: CLIENT, SpanKind.TOOL: INTERNAL, SpanKind.DELIVERY: CLIENT}
ERROR = 2
PATH = "/v1/traces"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def traces_url(endpoint: str) -> str:
    """`http://collector:4318` → `http://collector:4318/v1/traces`; a whole path stays."""
    base = endpoint.rstrip("/")
    return base if base.endswith(PATH) else base + PATH


def encoded(span: TraceSpan) -> bytes:
    """One span of a request."""
    return _json(_span(span))


def export_request(spans: Sequence[bytes], *, service: str) -> bytes:
    """The body of one ExportTraceServiceRequest, of encoded spans."""
    resource = {"attributes": [_attribute("service.name", service), _attribute("service.namespace", "rota")]}
    before = b'{"resourceSpans":[{"resource":' + _json(resource) + b',"scopeSpans":[{"scope":{"name":"rota"},"spans":['
    return before + b",".join(spans) + b"]}]}]}"


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


def _span(span: TraceSpan) -> dict[str, Any]:
    """Ids in hexadecimal, 64-bit numbers as strings."""
    given = {
        "traceId": span.trace_id,
        "spanId": span.span_id,
        "name": span.name,
        "kind": KINDS[span.kind],
        "startTimeUnixNano": _nanoseconds(span.started_at),
        "endTimeUnixNano": _nanoseconds(span.ended_at),
        "attributes": [_attribute(name, value) for name, value in span.attributes.items()],
        "status": {"code": ERROR, "message": span.error} if span.error is not None else {},
    }
    return given | ({"parentSpanId": span.parent_id} if span.parent_id else {})


def _nanoseconds(at: datetime) -> str:
    return str((at - _EPOCH) // timedelta(microseconds=1) * 1000)


def _attribute(name: str, value: bool | int | float | str) -> dict[str, Any]:
    match value:
        case bool():
            return {"key": name, "value": {"boolValue": value}}
        case int():
            return {"key": name, "value": {"intValue": str(value)}}
        case float():
            return {"key": name, "value": {"doubleValue": value}}
        case str():
            return {"key": name, "value": {"stringValue": value}}
