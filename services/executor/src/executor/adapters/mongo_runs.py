"""Runs in MongoDB: one document for each execution.

Beside the run itself stand the fields that queries and claims need: `owner` and `due_at` (while owned: when the claim
ends; otherwise: when a sweeper must look), `epoch`, `deadline_at`, `expires_at`, the `inbox` that control writes into,
and the `journal`, which is only ever appended to. Of a long run, the older part is in segments
(`mongo_run_segments`).
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from datetime import datetime, timedelta
from time import monotonic

from pymongo import ASCENDING, ReturnDocument
from pymongo.errors import DuplicateKeyError

from executor.adapters.mongo_run_documents import as_stored, change, whole
from executor.adapters.mongo_run_indexes import KEPT_FOR, make_indexes
from executor.adapters.mongo_run_parts import moved, moving, still_apart
from executor.adapters.mongo_run_queries import (
    DECIDED,
    OVER,
    created,
    expired,
    merge_targets_of,
    overdue,
    past_deadline,
    put,
    signalled_by,
    with_room,
)
from executor.adapters.mongo_run_reads import STATE, MongoRunReads
from executor.adapters.mongo_run_segments import SEGMENT_BYTES
from executor.domain.quarantine import kept_from
from executor.domain.run import Run, Signal
from executor.domain.texts import RETRIED_FOR
from executor.ports import Claimed, Fenced, Scope, SignalResult
from rota_common.errors import Unreadable
from rota_common.stores.blobs import Owner
from rota_common.stores.mongo import NOW, OUTAGES, Database, DatabaseClock, Document, after
from rota_contracts.ids import random_id
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.quarantine import QuarantineStatus

LONG_DELIVERY, RELEASED = "run.execution.content.body.ref", "run.execution.quarantine.status"
WRITTEN = {"inbox": 1, "journal_bytes": 1, "segments": {"$slice": 1}}
RETRY_FOR_S, RETRY_EVERY_S = 30.0, 0.2
"""Seconds that a write is retried while the server is away, and between two tries."""


class MongoRuns(MongoRunReads):
    """Runs that are over are to be removed `keep` later."""

    def __init__(self, database: Database, *, keep: timedelta = KEPT_FOR, reader: str | None = None) -> None:
        super().__init__(database, reader=reader)
        self._database = database
        self._keep = keep
        self._clock = DatabaseClock()

    async def prepare(self) -> None:
        """Make the indexes; making them again changes nothing."""
        self._clock.seen((await self._database.command("hello"))["localTime"])
        await self._aside.prepare()
        await make_indexes(self._database, keep=self._keep)
        await self._segments.prepare(keep=self._keep)

    async def create(self, run: Run, *, owner: str, lease: timedelta) -> int | None:
        epoch = 1
        execution = run.execution
        keys = {"_id": run.id, "team_id": execution.team_id, "member_id": execution.member_id}
        inbox = [signal.model_dump(mode="json") for signal in run.inbox]
        state = {"owner": owner, "epoch": epoch, "inbox": inbox, "journal": []}
        new = {**keys, **state, "created_at": execution.created_at, **whole(run)}
        try:
            before = await self._runs.find_one_and_update({"_id": run.id}, created(new, lease), {"_id": 1}, upsert=True)
        except DuplicateKeyError:
            return None
        return epoch if before is None else None

    async def give_up(self, run_id: str, at: datetime) -> bool:
        """Its place is taken by a document that no query but those by id finds."""
        try:
            await self._runs.insert_one({"_id": run_id, "status": ExecStatus.FAILED, "given_up_at": at})
        except DuplicateKeyError:
            return await self._runs.find_one({"_id": run_id, "given_up_at": {"$exists": True}}, {"_id": 1}) is not None
        return True

    async def claim(self, run_id: str, *, owner: str, lease: timedelta) -> Claimed | None:
        document = await self._runs.find_one_and_update(
            {
                "_id": run_id,
                "status": {"$nin": OVER},
                "$or": [{"owner": None}, overdue()],
                **self._aside.readable,
            },
            [{"$set": {"owner": owner, "due_at": after(lease), "epoch": {"$add": ["$epoch", 1]}}}],
            projection=STATE,
            return_document=ReturnDocument.AFTER,
        )
        if document is None:
            return None
        at = document["due_at"] - lease
        self._clock.seen(at)
        epoch = int(document["epoch"])
        try:
            return Claimed(await self._read(document), epoch, at)
        except Unreadable:  # given back at once, for a worker of another version
            await self._runs.update_one({"_id": run_id, "epoch": epoch}, [{"$set": {"owner": None, "due_at": NOW}}])
            raise

    async def read_free(self, run_id: str) -> tuple[Run, int] | None:
        document = await self._runs.find_one({"_id": run_id, "owner": None, "status": {"$nin": OVER}}, STATE)
        return None if document is None else (await self._read(document), int(document["epoch"]))

    async def save(self, run: Run, epoch: int) -> Run:
        return await self._write(run, epoch, {})

    async def release(self, run: Run, epoch: int, *, check_in: timedelta | None) -> Run:
        return await self._write(run, epoch, self._free(check_in), ends=1)

    async def finish(self, run: Run, epoch: int, *, check_in: timedelta | None) -> Run | None:
        all_applied = {"$expr": {"$lte": [{"$size": "$inbox"}, run.applied]}}
        state = self._free(check_in)
        try:
            return await self._write(run, epoch, state, ends=1, only_if=all_applied)
        except Fenced:
            if await self._runs.find_one({"_id": run.id, "epoch": epoch}, {"_id": 1}) is None:
                raise
            return None

    async def renew(self, run_id: str, epoch: int, *, lease: timedelta) -> None:
        found = await self._runs.update_one(
            {"_id": run_id, "epoch": epoch, "owner": {"$ne": None}}, [{"$set": {"due_at": after(lease)}}]
        )
        if found.matched_count == 0:
            raise Fenced(f"execution {run_id} is another worker's by now")

    async def overdue(self, *, limit: int, apart_from: Sequence[str] = ()) -> AsyncIterator[str]:
        for query, instant in ((overdue(), "due_at"), (expired(), "expires_at")):
            wanted = {**query, **self._aside.readable, "_id": {"$nin": [*apart_from]}}
            async for document in self._runs.find(wanted, {"_id": 1}).sort(instant, ASCENDING).limit(limit):
                yield str(document["_id"])

    async def past_deadline(self, *, limit: int, apart_from: Sequence[str] = ()) -> AsyncIterator[Run]:
        wanted = {**past_deadline(), **self._aside.readable, "_id": {"$nin": [*apart_from]}}
        found = self._runs.find(wanted, STATE).sort("deadline_at", ASCENDING).limit(limit)
        async for run in self._runs_of(found):
            yield run

    async def mark_announced(self, run_id: str, *, decided: int = 0) -> None:
        all_applied = {"$lte": [{"$size": "$inbox"}, "$run.heard"]}
        quiet = {"status": {"$in": [ExecStatus.WAITING, ExecStatus.PAUSED]}, "$expr": all_applied}
        over = {"status": {"$in": OVER}, "$expr": {"$eq": [DECIDED, decided]}}
        known = {"_id": run_id, "owner": None, "$or": [over, quiet]}
        await self._runs.update_one(known, {"$set": {"due_at": None}})

    async def send_signal(self, scope: Scope, signal: Signal) -> list[Run]:
        wanted: Document = {"team_id": scope.team}
        if scope.member is not None:
            wanted["member_id"] = scope.member
        if scope.execution_id is not None:
            wanted["_id"] = scope.execution_id
        plain = signal.model_dump(mode="json")
        await self._runs.update_many(
            {**wanted, "status": {"$nin": OVER}, "$and": [{"inbox.id": {"$ne": signal.id}}, with_room(signal)]},
            {"$push": {"inbox": plain}},
        )
        signalled = {**wanted, **signalled_by(signal)}
        unchecked = {"status": {"$nin": OVER}, "owner": None, "due_at": None}
        await self._runs.update_many({"$and": [signalled, unchecked]}, [{"$set": {"due_at": NOW}}])
        return [run async for run in self._runs_of(self._runs.find(signalled, STATE))]

    async def deliver_signal(self, run_id: str, signal: Signal) -> SignalResult:
        if await self._put(signal, {"_id": run_id, "status": {"$nin": OVER}}):
            return SignalResult.ACCEPTED
        return SignalResult.DUPLICATE if await self._has(run_id, signal) else SignalResult.FINISHED

    async def to_remove(self, *, limit: int) -> list[Owner]:
        now = self._clock()
        retried = {"over_at": {"$lte": now - max(self._keep, RETRIED_FOR)}}
        short = {LONG_DELIVERY: None, RELEASED: {"$ne": QuarantineStatus.RELEASED}}
        wanted = {"over_at": {"$lte": now - self._keep}, "$or": [short, retried]}
        found = self._runs.find(wanted, {"team_id": 1}).sort("over_at", ASCENDING).limit(limit)
        return [Owner(document["team_id"], document["_id"]) async for document in found]

    async def remove(self, run_ids: Sequence[str]) -> None:
        await self._runs.delete_many({"_id": {"$in": [*run_ids]}, "over_at": {"$type": "date"}})
        await self._segments.remove(run_ids)

    async def is_there(self, run_id: str) -> bool:
        return await self._runs.find_one({"_id": run_id}, {"_id": 1}) is not None

    async def merge(self, run_id: str, signal: Signal, *, giver: Run) -> bool:
        return await self._put(signal, {"_id": run_id, **merge_targets_of(giver)}) or await self._has(run_id, signal)

    async def _put(self, signal: Signal, where: Document) -> bool:
        free = [{"inbox.id": {"$ne": signal.id}}, with_room(signal)]
        done = await self._runs.update_one({"$and": [where, *free]}, put(signal))
        return bool(done.modified_count)

    async def _has(self, run_id: str, signal: Signal) -> bool:
        return await self._runs.find_one({"_id": run_id, "inbox.id": signal.id}, {"_id": 1}) is not None

    def _free(self, check_in: timedelta | None) -> Document:
        return {"owner": None, "due_at": None if check_in is None else self._clock() + check_in}

    async def _write(
        self, run: Run, epoch: int, state: Document, *, ends: int = 0, only_if: Document | None = None
    ) -> Run:
        """Write within the claim's epoch; returns the run with the inbox, which isn't written."""
        update, token = change(run), random_id()
        apart = still_apart(run.layout.apart, update["$set"])
        if run.layout.journal_bytes > SEGMENT_BYTES and not run.over:
            apart = moved(apart, await self._move(run, epoch, update, token))
        update["$set"] |= {**state, "write": token}
        update["$inc"] = {**update.get("$inc", {}), "epoch": ends}
        where = {"_id": run.id, "epoch": epoch, **(only_if or {})}
        document = await self._written(where, update, token)
        if document is None:
            raise Fenced(f"execution {run.id} is another worker's by now")
        if run.over and document.get("segments") and (ended := kept_from(run)) is not None:
            await self._segments.end(run.id, ended)
        return as_stored(run, document, apart)

    async def _move(self, run: Run, epoch: int, update: Document, name: str) -> Collection[str]:
        """Move what is done into a segment: `update` drops it from the run. Returns the places of the parts."""
        parts = moving(run, update["$set"])
        if not await self._segments.store(run.id, epoch, parts, name=name):
            return ()
        new = update.get("$push", {}).get("journal", {"$each": []})
        size = update.pop("$inc", {"journal_bytes": 0})["journal_bytes"]
        update["$push"] = {"segments": name, "journal": {**new, "$slice": -len(new["$each"])}}
        update["$set"] |= {"journal_bytes": size, **dict.fromkeys(parts)}
        return parts.keys()

    async def _written(self, where: Document, update: Document, token: str) -> Document | None:
        """The written document, or None. A short outage doesn't cost a finished step: the write is tried again, unless
        `token` shows that only the answer was lost."""
        until, again = monotonic() + RETRY_FOR_S, False
        while True:
            try:
                if again and (done := await self._runs.find_one({"_id": where["_id"], "write": token}, WRITTEN)):
                    return done
                return await self._runs.find_one_and_update(
                    where, update, projection=WRITTEN, return_document=ReturnDocument.AFTER
                )
            except OUTAGES:
                if monotonic() > until:
                    raise
                again = True
                await asyncio.sleep(RETRY_EVERY_S)
