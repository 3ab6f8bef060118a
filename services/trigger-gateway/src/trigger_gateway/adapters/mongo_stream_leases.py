"""Leases of change streams and their resume points, in MongoDB, by the clock of its server."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from pymongo import ReturnDocument
from pymongo.errors import DuplicateKeyError

from rota_common.clock import Clock
from rota_common.errors import Transient
from rota_common.stores.mongo import OUTAGES, Database, Document
from rota_contracts.ids import derived_id
from trigger_gateway.databases.change_streams import Lease, LeaseLost, ReadingState, ReadingStatus, ResumePoint, key_of
from trigger_gateway.sources.source import Source

LEASE_S = 10.0
KEPT_S = 60.0
UNREAD = "no replica of the gateway reads it now"
OPENING = "it is being opened"
NOW = "$$NOW"
HELD = {"$gt": ["$until", NOW]}


@contextlib.contextmanager
def _transient() -> Iterator[None]:
    try:
        yield
    except OUTAGES as error:
        raise Transient(f"the gateway's store is away: {type(error).__name__}") from error


class MongoStreamLeases:
    """`_id` is `<team>/<name>`. Every write of a reader names its `epoch`: a replaced reader can't write any more.

    `what` identifies the source and its collection: with another one, the resume point is void.
    """

    def __init__(self, database: Database, clock: Clock, *, lease: float = LEASE_S, kept: float = KEPT_S) -> None:
        self._readings, self._clock = database["readings"], clock
        self._kept_ms = int(kept * 1000)
        self._until = {"$add": [NOW, int(lease * 1000)]}

    async def prepare(self) -> None:
        await self._readings.create_index("owner")

    async def unleased(self, sources: Sequence[Source]) -> list[Source]:
        with _transient():
            ids = [key_of(source) for source in sources]
            held = {each["_id"] async for each in self._readings.find({"_id": {"$in": ids}, "$expr": HELD}, {"_id": 1})}
        return [source for source in sources if key_of(source) not in held]

    async def acquire(self, source: Source, owner: str) -> Lease | None:
        key = key_of(source)
        with _transient():
            with contextlib.suppress(DuplicateKeyError):  # several replicas may do it concurrently
                await self._readings.update_one(
                    {"_id": key}, {"$setOnInsert": {"epoch": 0, "owner": None}}, upsert=True
                )
            found = await self._readings.find_one_and_update(
                {"_id": key, "$expr": {"$not": [HELD]}},
                self._claiming(source, owner),
                return_document=ReturnDocument.AFTER,
            )
        return Lease(key, owner, found["epoch"]) if found else None

    def _claiming(self, source: Source, owner: str) -> list[Document]:
        """The resume point is kept for the same collection. A new source is read since its creation, a changed
        one since now."""
        what, same = _what(source), {"$eq": ["$what", _what(source)]}
        since = {"$cond": [{"$eq": ["$made_at", source.created_at]}, self._clock(), source.created_at]}
        kept: Document = {"after": None, "lost": None, "last_change_at": None, "changes": 0, "since": since}
        fields: Document = {name: {"$cond": [same, f"${name}", other]} for name, other in kept.items()}
        fields |= {"owner": owner, "until": self._until, "epoch": {"$add": ["$epoch", 1]}}
        fields |= {"what": what, "made_at": source.created_at, "rev": source.rev}
        # An owner who changes a source has seen what was lost.
        fields["lost"] = {"$cond": [{"$and": [same, {"$eq": ["$rev", source.rev]}]}, "$lost", None]}
        return [{"$set": fields}]

    async def renew(self, owner: str) -> Mapping[str, int]:
        with _transient():
            await self._readings.update_many({"owner": owner}, [{"$set": {"until": self._until}}])
            found = self._readings.find({"owner": owner}, {"epoch": 1})
            return {each["_id"]: each["epoch"] async for each in found}

    async def release(self, lease: Lease) -> None:
        with _transient():
            await self._readings.update_one(_mine(lease), [{"$set": {"until": NOW, "owner": None}}])

    async def forget(self, kept: Sequence[Source]) -> None:
        long_ended = {"$lt": ["$until", {"$subtract": [NOW, self._kept_ms]}]}
        with _transient():
            ids = [key_of(source) for source in kept]
            await self._readings.delete_many({"_id": {"$nin": ids}, "$expr": long_ended})

    async def resume_point(self, lease: Lease) -> ResumePoint:
        with _transient():
            found = await self._readings.find_one(_mine(lease))
        if found is None:
            raise LeaseLost(lease.key)
        return ResumePoint(found["since"], found["after"])

    async def advance(
        self, lease: Lease, after: str, *, changes: int = 0, last_change_at: datetime | None = None
    ) -> None:
        done: Document = {"after": after} | ({"last_change_at": last_change_at} if last_change_at else {})
        await self._write(lease, {"$set": done, "$inc": {"changes": changes}})

    async def note(self, lease: Lease, state: ReadingState, reason: str = "") -> None:
        unchanged = {"$eq": ["$state", state.value]}
        noted: Document = {"state": state.value, "reason": {"$literal": reason}}
        noted["state_since"] = {"$cond": [unchanged, "$state_since", NOW]}
        await self._write(lease, [{"$set": noted}])

    async def mark_lost(self, lease: Lease, reason: str, *, after: str | None, now: datetime) -> None:
        place: Document = {"after": after} if after else {"after": None, "since": now}
        await self._write(lease, {"$set": {**place, "lost": {"reason": reason, "at": now}}})

    async def _write(self, lease: Lease, change: Any) -> None:
        with _transient():
            done = await self._readings.update_one(_mine(lease), change)
        if done.matched_count == 0:
            raise LeaseLost(lease.key)

    async def status(self, team: str, name: str) -> ReadingStatus:
        fields = {"held": HELD, **dict.fromkeys(("until", "state", "reason", "state_since"), 1)}
        fields |= dict.fromkeys(("lost", "last_change_at", "changes"), 1)
        with _transient():
            found = await self._readings.find_one({"_id": f"{team}/{name}"}, fields)
        if found is None or "until" not in found:  # made, but not acquired yet
            return ReadingStatus(ReadingState.UNREAD, UNREAD)
        return _status(found)


def _what(source: Source) -> str:
    settings = source.database
    if settings is None:
        raise TypeError(f"expected {key_of(source)} to be a database: it is a webhook")
    return derived_id("reading", source.created_at, settings.url, settings.database, settings.collection)


def _mine(lease: Lease) -> Document:
    return {"_id": lease.key, "owner": lease.owner, "epoch": lease.epoch}


def _status(found: Document) -> ReadingStatus:
    progress = {"last_change_at": found["last_change_at"], "changes": found["changes"]}
    state = ReadingState(found.get("state", "waiting"))
    if not found["held"]:
        return ReadingStatus(ReadingState.UNREAD, UNREAD, found["until"], **progress)
    if state is ReadingState.READING and (lost := found["lost"]) is not None:
        return ReadingStatus(ReadingState.LOST, lost["reason"], lost["at"], **progress)
    return ReadingStatus(state, found.get("reason", OPENING), found.get("state_since"), **progress)
