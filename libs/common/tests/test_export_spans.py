"""The export of spans: a queue with a limit, batches, tries with an end, and what is lost."""

import json
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from pydantic import ValidationError

from rota_common.runtime import traces
from rota_common.runtime.metrics import SPANS
from rota_common.spans.export_spans import BATCH, TRIES, ExportSpans, Sent
from rota_common.spans.otlp import encoded, export_request, traces_url
from rota_common.spans.settings import TraceSettings
from rota_common.testing.samples import NOON
from rota_contracts.messages.run_trace import SpanKind, TraceSpan


def a_span(number: int = 1, **fields: Any) -> TraceSpan:
    given = {"trace_id": "a" * 32, "span_id": f"{number:016x}", "name": "chat small", "kind": SpanKind.MODEL}
    times = {"started_at": NOON, "ended_at": NOON + timedelta(milliseconds=1500)}
    return TraceSpan.model_validate(given | times | fields)


class ScriptedReceiver:
    """Answers as it is scripted, then takes all."""

    def __init__(self, *answers: Sent) -> None:
        self.answers, self.batches = [*answers], list[int]()
        self.closed = False

    async def send(self, body: bytes) -> Sent:
        self.batches.append(len(json.loads(body)["resourceSpans"][0]["scopeSpans"][0]["spans"]))
        return self.answers.pop(0) if self.answers else Sent.TAKEN

    async def close(self) -> None:
        self.closed = True


class Export:
    """An export of its own name, whose pauses are counted and not waited for."""

    def __init__(self, name: str, *answers: Sent, limit: int = 1000) -> None:
        self.name, self.pauses = name, list[float]()
        self.receiver = ScriptedReceiver(*answers)
        self.spans = ExportSpans(service=name, receiver=self.receiver, random=Random(7), pause=self._pause, limit=limit)

    async def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)

    def count(self, outcome: str) -> float:
        value: float = SPANS.labels(self.name, outcome)._value.get()
        return value


async def test_spans_are_sent_in_batches() -> None:
    export = Export("batches")
    export.spans.offer([a_span(number) for number in range(1, BATCH + 2)])
    assert await export.spans() is True
    assert await export.spans() is False
    assert (export.receiver.batches, export.count("sent")) == ([BATCH, 1], BATCH + 1)


async def test_a_receiver_that_is_away_is_tried_again_a_few_times_and_then_the_batch_is_lost() -> None:
    export = Export("away", Sent.LATER, Sent.LATER)
    export.spans.offer([a_span()])
    await export.spans()
    assert (len(export.pauses), export.count("sent")) == (2, 1)
    export.receiver.answers = [Sent.LATER] * TRIES
    export.spans.offer([a_span(), a_span(2)])
    await export.spans()
    assert (export.receiver.batches, export.count("lost: unreachable")) == ([1] * 3 + [2] * TRIES, 2)
    export.receiver.answers = [Sent.REFUSED]
    export.spans.offer([a_span()])
    await export.spans()
    assert (export.count("lost: refused"), export.spans.waiting) == (1, 0)


async def test_what_a_full_queue_has_no_room_for_is_lost_and_counted() -> None:
    export = Export("full", limit=3)
    export.spans.offer([a_span(number) for number in range(1, 6)])
    assert (export.spans.waiting, export.count("lost: full")) == (3, 2)
    await export.spans()
    export.spans.offer([a_span(attributes={"text": "x" * 50_000 * 1000})])
    assert (export.spans.waiting, export.count("lost: full")) == (0, 3)


async def test_a_stop_sends_what_is_left_and_counts_what_it_cannot() -> None:
    export = Export("stopped", Sent.TAKEN, Sent.LATER)
    export.spans.offer([a_span(number) for number in range(1, 2 * BATCH + 1)])
    await export.spans.stop()
    assert (export.count("sent"), export.count("lost: unreachable"), export.receiver.closed) == (BATCH, BATCH, True)


async def test_without_a_receiver_nothing_is_kept_or_counted() -> None:
    export = ExportSpans(service="off", receiver=None, random=Random(7))
    export.offer([a_span()])
    assert (export.on, export.waiting, await export()) == (False, 0, False)
    await export.stop()


def test_a_request_has_the_form_of_otlp_in_json() -> None:
    failed = a_span(2, parent_id="1" * 16, error="away", attributes={"a": True, "n": 7, "c": 0.5, "t": "ü"})
    body = json.loads(export_request([encoded(a_span()), encoded(failed)], service="executor"))
    (resource,) = body["resourceSpans"]
    assert {"key": "service.name", "value": {"stringValue": "executor"}} in resource["resource"]["attributes"]
    first, second = resource["scopeSpans"][0]["spans"]
    assert (first["kind"], first["status"], "parentSpanId" in first) == (3, {}, False)
    assert int(first["endTimeUnixNano"]) - int(first["startTimeUnixNano"]) == 1_500_000_000
    assert int(first["startTimeUnixNano"]) == int(NOON.timestamp()) * 10**9
    assert (second["parentSpanId"], second["status"]) == ("1" * 16, {"code": 2, "message": "away"})
    values = [{"boolValue": True}, {"intValue": "7"}, {"doubleValue": 0.5}, {"stringValue": "ü"}]
    assert [each["value"] for each in second["attributes"]] == values


def test_an_endpoint_is_a_base_or_a_whole_address() -> None:
    assert traces_url("http://c:4318/") == traces_url("http://c:4318/v1/traces") == "http://c:4318/v1/traces"
    given = TraceSettings(otlp_endpoint="https://c", otlp_headers="authorization=Basic a=b, x-team = acme")
    assert given.otlp_header_map == {"authorization": "Basic a=b", "x-team": "acme"}
    assert "Basic" not in repr(given)
    with pytest.raises(ValidationError, match="begin with http"):
        TraceSettings(otlp_endpoint="collector:4317")


def test_a_message_carries_the_span_that_was_given_and_a_trace_of_its_own_has_none() -> None:  # F19
    given = f"00-{'a' * 32}-{'b' * 16}-00"
    assert traces.continued(given, cause="t1") == given
    assert (traces.trace_id(given), traces.caller(given)) == ("a" * 32, "b" * 16)
    for invalid in ("", "nonsense", f"00-{'0' * 32}-{'b' * 16}-01", f"00-{'a' * 32}-{'0' * 16}-01"):
        began = traces.continued(invalid, cause="t1")
        assert (began, traces.caller(began)) == (traces.derived("t1"), "")
    assert traces.below(given, "c" * 16) == f"00-{'a' * 32}-{'c' * 16}-01"
