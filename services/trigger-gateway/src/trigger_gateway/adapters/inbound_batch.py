"""Batches of lines for the inbound log: one line for each event and each reason, however often it occurred."""

import asyncio
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from pymongo import UpdateOne

from rota_contracts.ids import derived_id
from trigger_gateway.webhooks.inbound_event import InboundEvent
from trigger_gateway.webhooks.inbound_log import LogEntry, Refusal


def entry_id(team: str, source: str, event_id: str) -> str:
    return derived_id("inbound", team, source, event_id)


def refusal_id(refusal: Refusal) -> str:
    minute = int(refusal.at.timestamp() // 60)
    cause = [word] if (word := refusal.cause.partition(":")[0]) else []
    return derived_id("refused", refusal.team, refusal.source, refusal.reason, minute, *cause)


@dataclass
class Repeats:
    count: int
    last_at: datetime


@dataclass
class Refusals:
    """Refusals of one reason in one minute; `last` is shown."""

    count: int
    first_at: datetime
    last: Refusal


@dataclass
class Batch:
    """By the ids of the documents, which adding one returns. `done` is set once it was written or given up."""

    events: dict[str, LogEntry] = field(default_factory=dict)
    repeats: dict[str, Repeats] = field(default_factory=dict)
    refusals: dict[str, Refusals] = field(default_factory=dict)
    done: asyncio.Event = field(default_factory=asyncio.Event)
    _bodies: dict[tuple[str, str, str], str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.events) + len(self.repeats) + len(self.refusals)

    def add(self, entry: LogEntry) -> str:
        event = entry.event
        key = entry_id(event.team, event.source, event.id)
        first = self.events.get(key)
        if first is None:
            self.events[key] = replace(entry, event=replace(event, data={}, sent=None))
            self._bodies.setdefault((event.team, event.source, entry.digest), key)
        else:
            more = [run for run in entry.runs if run not in first.runs]
            self.events[key] = replace(first, runs=[*first.runs, *more])
        return key

    def by_body(self, team: str, source: str, digest: str) -> LogEntry | None:
        key = self._bodies.get((team, source, digest))
        return self.events[key] if key else None

    def repeated(self, event: InboundEvent) -> None:
        self._repeated(entry_id(event.team, event.source, event.id), Repeats(1, event.received_at))

    def refused(self, refusal: Refusal) -> str:
        key = refusal_id(refusal)
        self._refused(key, Refusals(1, refusal.at, replace(refusal, sent=None)))
        return key

    def take_over(self, later: "Batch") -> None:
        """Add the lines of a later batch."""
        for entry in later.events.values():
            self.add(entry)
        for key, repeats in later.repeats.items():
            self._repeated(key, repeats)
        for key, refusals in later.refusals.items():
            self._refused(key, refusals)

    def updates(self) -> list[UpdateOne]:
        """Updates of events; a repeat of an event that is gone has no effect."""
        keys = [*self.events, *(key for key in self.repeats if key not in self.events)]
        return [_update(key, self.events.get(key), self.repeats.get(key)) for key in keys]

    def refusal_updates(self) -> list[UpdateOne]:
        return [_refusal_update(key, refusals) for key, refusals in self.refusals.items()]

    def _repeated(self, key: str, more: Repeats) -> None:
        there = self.repeats.get(key)
        count = there.count if there else 0
        self.repeats[key] = Repeats(count + more.count, max(more.last_at, there.last_at if there else more.last_at))

    def _refused(self, key: str, more: Refusals) -> None:
        there = self.refusals.get(key)
        self.refusals[key] = Refusals(there.count + more.count, there.first_at, more.last) if there else more


def _update(key: str, entry: LogEntry | None, repeats: Repeats | None) -> UpdateOne:
    change: dict[str, Any] = {}
    if entry is not None:
        event = entry.event
        runs = [{"trigger_id": each.trigger_id, "member_id": each.member_id} for each in entry.runs]
        change["$addToSet"] = {"woken": {"$each": runs}}
        change["$setOnInsert"] = {
            "team": event.team,
            "source": event.source,
            "event_id": event.id,
            "type": event.type,
            "received_at": event.received_at,
            "digest": entry.digest,
        }
    if repeats is not None:
        change |= {"$inc": {"repeats": repeats.count}, "$max": {"last_at": repeats.last_at}}
    return UpdateOne({"_id": key}, change, upsert=entry is not None)


def _refusal_update(key: str, refusals: Refusals) -> UpdateOne:
    last = refusals.last
    change = {
        "$setOnInsert": {
            "team": last.team,
            "source": last.source,
            "reason": last.reason,
            "received_at": refusals.first_at,
        },
        "$inc": {"count": refusals.count},
        "$max": {"last_at": last.at},
        "$set": {"request_id": last.request_id, "event_id": last.event_id, "cause": last.cause},
    }
    return UpdateOne({"_id": key}, change, upsert=True)
