"""The inbound log in MongoDB: written in batches in the background, read by many requests at once."""

import asyncio
from datetime import datetime, timedelta

from pymongo.errors import PyMongoError

from rota_common.errors import Transient
from rota_common.runtime.logs import logger
from rota_common.stores.mongo import OUTAGES, Database, Document
from trigger_gateway.adapters.batched_lookup import PATIENCE_S, BatchedLookup
from trigger_gateway.adapters.inbound_batch import Batch, entry_id
from trigger_gateway.adapters.mongo_posts import MongoPosts
from trigger_gateway.webhooks.inbound_event import InboundEvent, StartedRun
from trigger_gateway.webhooks.inbound_log import REFUSALS_KEPT, LogEntry, LogLine, Refusal, Status
from trigger_gateway.webhooks.posts import KeptPost, PostLimits, accepted_post, refused_post

KEPT_S = int(timedelta(days=30).total_seconds())
WAITING_LIMIT = 10_000
GATHER_S = 0.05
"""A write for each event would take as much of the machine as the rest of the webhook."""

AGAIN_S = 1.0
DEFAULTS = PostLimits()
AWAY: tuple[type[Exception], ...] = (TimeoutError, *OUTAGES)
LOOKS_S = (0.02, 0.05, 0.1, 0.2, 0.4)
"""Pauses between look-ups of an entry that another replica is just writing."""


class MongoInboundLog:
    """Lines are buffered and retried while MongoDB is away, up to `WAITING_LIMIT`."""

    def __init__(self, database: Database, *, service: str, limits: PostLimits = DEFAULTS) -> None:
        self._inbound, self._refused = database["inbound"], database["refused"]
        self._waiting, self._written = Batch(), Batch()
        self._writer: asyncio.Task[None] | None = None
        self._lookup = BatchedLookup(self._inbound)
        self._posts = MongoPosts(database, limits, service=service)
        self._log = logger(service=service)

    async def prepare(self) -> None:
        for collection in (self._inbound, self._refused):
            await collection.create_index("received_at", expireAfterSeconds=KEPT_S)
            await collection.create_index([("team", 1), ("source", 1), ("received_at", -1), ("_id", -1)])
        await self._inbound.create_index([("team", 1), ("source", 1), ("digest", 1), ("received_at", 1)])
        await self._inbound.create_index("woken.trigger_id", sparse=True)
        await self._posts.prepare()

    async def add(self, entry: LogEntry) -> None:
        if self._has_room():
            key = self._waiting.add(entry)
            if post := accepted_post(entry.event):
                self._posts.take(key, post)

    def repeated(self, event: InboundEvent) -> None:
        if self._has_room():
            self._waiting.repeated(event)

    def refused(self, refusal: Refusal) -> None:
        if self._has_room():
            key = self._waiting.refused(refusal)
            if post := refused_post(refusal):
                self._posts.take(key, post)

    async def flush(self) -> None:
        """Return once all earlier lines are written, or could not be."""
        for batch in (self._written, self._waiting):
            if len(batch):
                await batch.done.wait()

    async def close(self) -> None:
        """As `flush`, with the posts."""
        await self.flush()
        await self._posts.flush()

    async def recall(self, team: str, source: str, event_id: str) -> LogEntry | None:
        key = entry_id(team, source, event_id)
        if here := self._waiting.events.get(key) or self._written.events.get(key):
            return here
        found = await self._lookup.find(key)
        return _logged(found) if found else None

    async def recall_body(self, team: str, source: str, digest: str) -> LogEntry | None:
        if here := self._waiting.by_body(team, source, digest) or self._written.by_body(team, source, digest):
            return here
        mine = {"team": team, "source": source, "digest": digest}
        try:
            async with asyncio.timeout(PATIENCE_S):
                found = await self._inbound.find_one(mine, sort=[("received_at", 1)])
        except AWAY as error:
            raise Transient(f"MongoDB: {type(error).__name__}") from error
        return _logged(found) if found else None

    async def await_entry(self, team: str, source: str, event_id: str) -> LogEntry | None:
        for pause in LOOKS_S:
            if entry := await self.recall(team, source, event_id):
                return entry
            await asyncio.sleep(pause)
        return await self.recall(team, source, event_id)

    async def find(self, team: str, source: str, name: str) -> LogLine | None:
        await self.flush()
        if found := await self._inbound.find_one({"_id": entry_id(team, source, name)}):
            return _accepted(found)
        named = {"team": team, "source": source, "$or": [{"event_id": name}, {"request_id": name}]}
        found = await self._refused.find_one(named, sort=[("received_at", -1)])
        return _refused(found) if found else None

    async def post(self, team: str, line: LogLine) -> KeptPost | None:
        return await self._posts.find(team, line.key)

    async def by_trigger(self, team: str, trigger_id: str) -> LogLine | None:
        await self.flush()
        found = await self._inbound.find_one({"woken.trigger_id": trigger_id, "team": team})
        return _accepted(found) if found else None

    async def page(self, team: str, source: str, *, page: int, page_size: int) -> tuple[list[LogLine], bool]:
        """The refused lines are few: all are read, and merged with the accepted ones that can be on this page."""
        await self.flush()
        mine, start = {"team": team, "source": source}, (page - 1) * page_size
        newest = self._refused.find(mine).sort("received_at", -1).limit(REFUSALS_KEPT)
        lines = [_refused(each) async for each in newest]
        skipped = max(0, start - len(lines))
        wanted = start - skipped + page_size + 1
        accepted = self._inbound.find(mine).sort([("received_at", -1), ("_id", -1)]).skip(skipped).limit(wanted)
        lines += [_accepted(each) async for each in accepted]
        lines.sort(key=lambda line: line.at, reverse=True)
        rest = lines[start - skipped :]
        return rest[:page_size], len(rest) > page_size

    def _has_room(self) -> bool:
        if len(self._waiting) >= WAITING_LIMIT:
            self._log.warning("inbound log is behind: a line is dropped")
            return False
        if self._writer is None:
            self._writer = asyncio.create_task(self._write_all())
        return True

    async def _write_all(self) -> None:
        """All lines within `GATHER_S`, or during the write of the batch before, are one batch."""
        await asyncio.sleep(GATHER_S)
        while len(self._waiting):
            batch = self._written = self._waiting
            self._waiting = Batch()
            try:
                await self._write(batch)
            except OUTAGES as error:
                self._log.warning("inbound log waits", lines=len(batch), reason=type(error).__name__)
                await self._keep(batch)
            except PyMongoError as error:
                self._log.warning("inbound log failed", lines=len(batch), reason=type(error).__name__)
            batch.done.set()
            self._written = Batch()
            await asyncio.sleep(GATHER_S)
        self._writer = None

    async def _keep(self, batch: Batch) -> None:
        """Try again later, together with later lines."""
        again = Batch()
        again.take_over(batch)
        again.take_over(self._waiting)
        self._waiting, again.done = again, self._waiting.done
        batch.done.set()
        await asyncio.sleep(AGAIN_S)

    async def _write(self, batch: Batch) -> None:
        if updates := batch.updates():
            await self._inbound.bulk_write(updates, ordered=False)
        if updates := batch.refusal_updates():
            written = await self._refused.bulk_write(updates, ordered=False)
            if written.upserted_count:
                await self._prune({(each.last.team, each.last.source) for each in batch.refusals.values()})

    async def _prune(self, sources: set[tuple[str, str]]) -> None:
        """A flood of bad posts must not fill the database."""
        for team, source in sources:
            mine = self._refused.find({"team": team, "source": source}, {"_id": 1}).sort("received_at", -1)
            old = [each["_id"] async for each in mine.skip(REFUSALS_KEPT)]
            if old:
                await self._refused.delete_many({"_id": {"$in": old}})


def _logged(found: Document) -> LogEntry:
    event = InboundEvent(found["team"], found["source"], found["event_id"], found["type"], {}, found["received_at"])
    return LogEntry(event, _runs(found), found.get("digest", ""))


def _runs(found: Document) -> list[StartedRun]:
    return [StartedRun(each["trigger_id"], each["member_id"]) for each in found["woken"]]


def _accepted(found: Document) -> LogLine:
    at: datetime = found["received_at"]
    return LogLine(
        source=found["source"],
        status=Status.ACCEPTED,
        event_id=found["event_id"],
        at=at,
        count=1 + found.get("repeats", 0),
        last_at=found.get("last_at", at),
        type=found["type"],
        runs=_runs(found),
        key=found["_id"],
    )


def _refused(found: Document) -> LogLine:
    return LogLine(
        source=found["source"],
        status=Status.REFUSED,
        event_id=found["event_id"],
        at=found["received_at"],
        count=found["count"],
        last_at=found["last_at"],
        reason=found["reason"],
        request_id=found["request_id"],
        cause=found.get("cause", ""),
        key=found["_id"],
    )
