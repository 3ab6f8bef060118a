"""Reading and writing the CloudEvents envelope."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from pydantic import ValidationError

from rota_contracts.catalog import EXECUTION_STARTED
from rota_contracts.envelope import MSG_ID, EnvelopeError, Event, parse_event
from rota_contracts.messages.execution import ExecutionStartedV1

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
STARTED = ExecutionStartedV1(team_id="acme", member_id="lead-processor", execution_id="e1", started_at=NOON)
EVENT = Event(
    id="7f3e",
    type=EXECUTION_STARTED.type,
    source="executor",
    time=NOON,
    data=STARTED,
    cause="c1",
    traceparent="00-a-b-01",
)


def parse(headers: dict[str, str] | None, body: bytes = EVENT.body()) -> Event[ExecutionStartedV1]:
    return parse_event(ExecutionStartedV1, headers, body, expected=EXECUTION_STARTED.type)


def test_an_event_that_was_written_reads_the_same() -> None:
    assert parse(EVENT.headers()) == EVENT


def test_an_event_without_cause_and_trace_reads_the_same() -> None:
    alone = Event(id="7f3e", type=EXECUTION_STARTED.type, source="executor", time=NOON, data=STARTED)
    assert parse(alone.headers()) == alone


def test_the_message_id_of_nats_is_the_event_s_id() -> None:
    assert EVENT.headers()[MSG_ID] == EVENT.id


def test_the_time_is_written_in_utc() -> None:
    paris = NOON.astimezone(timezone(timedelta(hours=1)))
    event = Event(id="7f3e", type=EXECUTION_STARTED.type, source="executor", time=paris, data=STARTED)
    assert event.headers()["ce-time"] == "2026-03-02T12:00:00+00:00"


def test_names_of_headers_are_read_in_any_case() -> None:
    assert parse({name.upper(): value for name, value in EVENT.headers().items()}) == EVENT


@pytest.mark.parametrize("name", ["ce-id", "ce-type", "ce-source", "ce-time"])
def test_a_missing_header_is_named(name: str) -> None:
    headers = {key: value for key, value in EVENT.headers().items() if key != name}
    with pytest.raises(EnvelopeError, match=f"expected the CloudEvents headers {name}: they are missing"):
        parse(headers)


def test_a_message_without_headers_names_them_all() -> None:
    with pytest.raises(EnvelopeError, match="ce-id, ce-type, ce-source, ce-time"):
        parse(None)


def test_an_unknown_version_is_refused_by_both_names() -> None:
    with pytest.raises(
        EnvelopeError, match=r"expected type rota\.v1\.execution\.started, got rota\.v2\.execution\.started"
    ):
        parse({**EVENT.headers(), "ce-type": "rota.v2.execution.started"})


@pytest.mark.parametrize("time", ["yesterday", "2026-03-02T12:00:00", "2026-03-02"])
def test_a_time_that_is_no_instant_is_refused(time: str) -> None:
    with pytest.raises(EnvelopeError, match="expected ce-time"):
        parse({**EVENT.headers(), "ce-time": time})


def test_an_unknown_field_of_a_payload_is_ignored() -> None:
    body = EVENT.body().removesuffix(b"}") + b',"added_later":{"deep":[1]}}'
    assert parse(EVENT.headers(), body).data == STARTED


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"team_id":"acme"}'])
def test_a_body_that_is_no_payload_is_refused(body: bytes) -> None:
    with pytest.raises(ValidationError):
        parse(EVENT.headers(), body)


@pytest.mark.parametrize("name", ["", "a.b", "a b", "*", ">", "ü", "a\n", "x" * 65])
def test_a_name_that_is_no_token_of_a_subject_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="team_id"):
        ExecutionStartedV1(team_id=name, member_id="lead-processor", execution_id="e1", started_at=NOON)


def test_an_instant_without_an_offset_is_refused() -> None:
    body = EVENT.body().replace(b"2026-03-02T12:00:00Z", b"2026-03-02T12:00:00")
    with pytest.raises(ValidationError, match="started_at"):
        parse(EVENT.headers(), body)
