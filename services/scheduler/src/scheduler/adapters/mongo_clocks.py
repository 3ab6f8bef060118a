"""Robots' clocks in MongoDB: one document for each, found by the instant at which to check it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pymongo import ASCENDING, DeleteOne, UpdateOne

from rota_common.stores.mongo import Database, Document
from rota_common.stores.set_aside import SetAside
from rota_contracts.messages.trigger import MissReason
from rota_contracts.robots.clock_config import Clock
from scheduler.domain.clock_state import Change, ClockState, Missed, MissedFact
from scheduler.domain.robot_summary import Key


class MongoClocks:
    """`_id` is `<team>/<member>`; neither can hold a slash. `unpublished` are facts of missed runs."""

    def __init__(self, database: Database) -> None:
        self._clocks = database["clocks"]
        self._aside = SetAside(self._clocks, service="scheduler")

    async def prepare(self) -> None:
        await self._aside.prepare()
        await self._clocks.create_index([("check_at", ASCENDING)], sparse=True)
        await self._clocks.create_index("unpublished.at", sparse=True)

    async def revs(self) -> dict[Key, int]:
        return {_key(each["_id"]): each["rev"] async for each in self._clocks.find({}, {"rev": 1}, batch_size=10_000)}

    async def find(self, keys: Sequence[Key]) -> dict[Key, ClockState]:
        found = self._clocks.find({"_id": {"$in": [_id(key) for key in keys]}})
        return {state.key: state async for state in self._aside.readable_of(found, clock_state_of)}

    async def write(self, changes: Sequence[Change]) -> int:
        if not changes:
            return 0
        result = await self._clocks.bulk_write([_operation(each) for each in changes], ordered=False)
        return result.modified_count + result.upserted_count

    async def remove(self, revs: Mapping[Key, int]) -> None:
        if revs:
            gone = [DeleteOne({"_id": _id(key), "rev": {"$lte": rev}}) for key, rev in revs.items()]
            await self._clocks.bulk_write(gone, ordered=False)

    async def due(self, now: datetime, limit: int) -> list[ClockState]:
        due = {"check_at": {"$lte": now}, **self._aside.readable}
        found = self._clocks.find(due).sort("check_at", ASCENDING).limit(limit)
        return [state async for state in self._aside.readable_of(found.batch_size(limit), clock_state_of)]

    async def unpublished(self, limit: int) -> list[MissedFact]:
        unpublished = {"unpublished.at": {"$exists": True}, **self._aside.readable}
        found = self._clocks.find(unpublished, {"unpublished": 1}).limit(limit)
        return [fact async for facts in self._aside.readable_of(found, _facts) for fact in facts]

    async def mark_published(self, facts: Sequence[MissedFact]) -> None:
        pulls = [
            UpdateOne({"_id": _id(each.key)}, {"$pull": {"unpublished": {"number": each.number}}}) for each in facts
        ]
        if pulls:
            await self._clocks.bulk_write(pulls, ordered=False)


def _operation(change: Change) -> UpdateOne:
    new, old = change.new, change.old
    if old is None:
        return UpdateOne({"_id": _id(new.key)}, {"$setOnInsert": _document(new)}, upsert=True)
    update: Document = {"$set": {name: value for name, value in _document(new).items() if value is not None}}
    gone = {name: "" for name, value in _position(new).items() if value is None}
    if gone:
        update["$unset"] = gone
    if change.missed:
        numbered = enumerate(change.missed, old.missed_facts + 1)
        update["$push"] = {
            "unpublished": {"$each": [_unpublished(number, each, change.at) for number, each in numbered]}
        }
        update["$set"]["missed_facts"] = old.missed_facts + len(change.missed)
    return UpdateOne({"_id": _id(old.key), "rev": old.rev, **_position(old)}, update)


def _position(state: ClockState) -> Document:
    """The stored fields that every step moves: as a condition, no other replica has moved the clock."""
    return {"next_run": state.next_run, "check_at": state.check_at, "running": state.running}


def _id(key: Key) -> str:
    return "/".join(key)


def _key(text: str) -> Key:
    team, _, member = text.partition("/")
    return team, member


def _document(state: ClockState) -> Document:
    """Without absent fields: a clock that need not be checked isn't in the index."""
    fields: dict[str, Any] = {
        "rev": state.rev,
        "clock": state.clock.model_dump(mode="json"),
        "anchor": state.anchor,
        "next_run": state.next_run,
        "check_at": state.check_at,
        "running": state.running,
        "failures": state.failures,
        "room": state.room,
        "missed_facts": state.missed_facts,
    }
    return {name: value for name, value in fields.items() if value is not None}


def clock_state_of(document: Document) -> ClockState:
    team, member = _key(document["_id"])
    return ClockState(
        team,
        member,
        document["rev"],
        Clock.model_validate(document["clock"]),
        document["anchor"],
        next_run=document.get("next_run"),
        check_at=document.get("check_at"),
        running=document.get("running"),
        failures=document["failures"],
        room=document["room"],
        missed_facts=document["missed_facts"],
    )


def _unpublished(number: int, missed: Missed, at: datetime | None) -> Document:
    fields = {"first": missed.first, "last": missed.last, "count": missed.count, "message": missed.message}
    return fields | {"number": number, "reason": missed.reason, "at": at}


def _facts(document: Document) -> list[MissedFact]:
    return [_fact(document["_id"], each) for each in document["unpublished"]]


def _fact(name: str, each: Document) -> MissedFact:
    missed = Missed(each["first"], each["last"], each["count"], MissReason(each["reason"]), each["message"])
    return MissedFact(_key(name), each["number"], missed, each["at"])
