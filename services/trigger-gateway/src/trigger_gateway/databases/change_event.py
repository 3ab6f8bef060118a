"""Changes of databases as events: their ids and their data."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from rota_contracts.json_values import unstorable
from rota_contracts.model import Json
from rota_contracts.sources import SourceKind
from trigger_gateway.problems import Invalid
from trigger_gateway.sources.source import Source
from trigger_gateway.webhooks.inbound_event import EVENT_ID_LIMIT, InboundEvent

DATA_LIMIT = 512 * 1024
"""Bytes of an event's data as JSON; a message of the bus holds 1 MB."""


@dataclass(frozen=True)
class Change:
    """A change as its database reports it, in plain JSON.

    `token` is the change's resume token: the same for every reader, however often. `truncated`: a part of it was too
    large to be fetched. `unreadable`, if set, is the reason why there is nothing to read.
    """

    token: str
    operation: str
    at: datetime
    key: Json = None
    document: Json = None
    updated: Mapping[str, Json] | None = field(default_factory=dict)
    removed: Sequence[str] | None = ()
    truncated: bool = False
    unreadable: str = ""


def event_of(source: Source, change: Change, received_at: datetime) -> InboundEvent:
    """Raise Invalid for a change that can't be one."""
    if change.unreadable:
        raise Invalid("unreadable_change", change.unreadable)
    event_id, kind, data = event_id_of(change), SourceKind.DATABASE.value, _data(change)
    if problem := unstorable(data):
        raise Invalid("unstorable", f"the change can't be stored: {problem}")
    return InboundEvent(source.team, source.name, event_id, change.operation, data, received_at, kind=kind)


def event_id_of(change: Change) -> str:
    """The change's token, which grows with the document's key: the digest of one that is too long for an id."""
    token = change.token
    return token if len(token) <= EVENT_ID_LIMIT else hashlib.sha256(token.encode()).hexdigest()


def is_wanted(source: Source, event: InboundEvent) -> bool:
    """Do the source's own conditions hold?"""
    conditions = source.database.conditions if source.database else ()
    return all(condition.holds(event.data) for condition in conditions)


def _data(change: Change) -> dict[str, Any]:
    """Without the document if that is too large: the robot still wakes, and knows which one it is."""
    data: dict[str, Any] = {
        "operation": change.operation,
        "document_key": change.key,
        "document": change.document,
        "updated_fields": None if change.updated is None else dict(change.updated),
        "removed_fields": None if change.removed is None else list(change.removed),
        "at": change.at.isoformat(),
    }
    if change.truncated:
        data["truncated"] = True
    for name in ("document", "updated_fields", "removed_fields"):
        if _fits(data):
            return data
        data |= {name: None, "truncated": True}
    if _fits(data):
        return data
    raise Invalid("too_large", f"expected at most {DATA_LIMIT} bytes of JSON: the document's key alone is larger")


def _fits(data: Mapping[str, Any]) -> bool:
    return len(json.dumps(data, ensure_ascii=False).encode()) <= DATA_LIMIT
