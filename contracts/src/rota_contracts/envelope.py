"""The envelope: CloudEvents 1.0 in binary mode, with `ce-*` headers and the payload as JSON in the body."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic, TypeVar

from rota_contracts.model import Payload

P_co = TypeVar("P_co", bound=Payload, covariant=True)

MSG_ID = "Nats-Msg-Id"
TRACEPARENT = "traceparent"
SEQUENCE = "ce-sequence"
SEQUENCE_DIGITS = 20
"""Zero-padded, as CloudEvents sequences must sort as text."""
CONTENT_TYPE = "application/json"


class EnvelopeError(ValueError):
    """The headers are not those of an event of Rota."""


class OtherVersion(EnvelopeError):
    """An event of Rota in a version that this reader doesn't know."""


@dataclass(frozen=True, slots=True)
class Event(Generic[P_co]):
    """One fact. `id` is derived from its cause, so the same fact always has the same id.

    `sequence` counts the facts of one subject of the feed: 1, 2, 3 … without a gap. Other facts have none.
    """

    id: str
    type: str
    source: str
    time: datetime
    data: P_co
    cause: str = ""
    traceparent: str = ""
    sequence: int | None = None

    def headers(self) -> dict[str, str]:
        """The message's headers. `Nats-Msg-Id` equals the id, except in messages that are resent on purpose."""
        headers = {
            "ce-specversion": "1.0",
            "ce-id": self.id,
            "ce-type": self.type,
            "ce-source": self.source,
            "ce-time": self.time.astimezone(UTC).isoformat(),
            "content-type": CONTENT_TYPE,
            MSG_ID: self.id,
        }
        if self.cause:
            headers["ce-causationid"] = self.cause
        if self.traceparent:
            headers[TRACEPARENT] = self.traceparent
        if self.sequence is not None:
            headers[SEQUENCE] = f"{self.sequence:0{SEQUENCE_DIGITS}}"
        return headers

    def body(self) -> bytes:
        return self.data.model_dump_json(exclude_defaults=False).encode()


def parse_event(payload: type[P_co], headers: Mapping[str, str] | None, body: bytes, *, expected: str) -> Event[P_co]:
    """Parse a message.

    Raises EnvelopeError when a header is missing or the type is not `expected` (OtherVersion: but for its version), and
    pydantic's ValidationError when the body is not a `payload`.
    """
    headers = {key.lower(): value for key, value in (headers or {}).items()}
    missing = [name for name in ("ce-id", "ce-type", "ce-source", "ce-time") if not headers.get(name)]
    if missing:
        raise EnvelopeError(f"expected the CloudEvents headers {', '.join(missing)}: they are missing")
    if headers["ce-type"] != expected:
        kind = OtherVersion if _unversioned(headers["ce-type"]) == _unversioned(expected) else EnvelopeError
        raise kind(f"expected type {expected}, got {headers['ce-type']}: this reader knows no other version")
    try:
        time = datetime.fromisoformat(headers["ce-time"])
    except ValueError as error:
        raise EnvelopeError(f"expected ce-time as RFC 3339, got {headers['ce-time']!r}") from error
    if time.tzinfo is None:
        raise EnvelopeError(f"expected ce-time with an offset, like 2026-03-02T09:14:07Z, got {headers['ce-time']!r}")
    sequence = headers.get(SEQUENCE)
    if sequence is not None and not sequence.isdecimal():
        raise EnvelopeError(f"expected {SEQUENCE} as a number, got {sequence!r}")
    return Event(
        id=headers["ce-id"],
        type=headers["ce-type"],
        source=headers["ce-source"],
        time=time,
        data=payload.model_validate_json(body),
        cause=headers.get("ce-causationid", ""),
        traceparent=headers.get(TRACEPARENT, ""),
        sequence=None if sequence is None else int(sequence),
    )


def _unversioned(event_type: str) -> str:
    """Of `rota.v1.execution.started` what is the same in every version."""
    return re.sub(r"^rota\.v\d+\.", "", event_type)
