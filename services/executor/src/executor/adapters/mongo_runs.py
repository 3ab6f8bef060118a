"""Runs in MongoDB: one document for each execution.

Beside the run itself stand the fields that queries and claims need: `owner` and `due_at` (while owned: when the claim
ends; otherwise: when a sweeper must look), `epoch`, `deadline_at`, `expires_at`, the `inbox` that control writes into,
and the `journal`, which is only ever appended to.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime
from time import monotonic
from typing import TypeVar
from uuid import uuid4

from pymongo import ASCENDING, DESCENDING, ReturnDocument
from pymongo.errors import DuplicateKeyError

from executor.adapters.mongo_run_documents import as_stored, change, execution_fields, read, whole
from executor.adapters.mongo_run_queries import (
    BY_CLOCK,
    EXCERPT,
    FINISHED_AT,
    MERGE_TARGET,
    OVER,
    SLOT,
    SUMMARY,
    UNDER_WAY,
    ended_since,
    expired,
    merge_target,
    merge_targets_of,
    overdue,
    past_deadline,
    put,
    reports_before,
    slot,
    summary,
    under_way_beside,
)
from executor.domain.run import JournalEntry, Run, Signal
from executor.domain.situation.recent import RecentRuns, RunExcerpt
from executor.ports import Fenced, Scope, SignalResult
from rota_common.errors import Unreadable
from rota_common.stores.mongo import OUTAGES, Database, Document
from rota_common.stores.set_aside import SetAside
from rota_contracts.messages.execution import ExecStatus, ExecutionPage, ListExecutions
from rota_contracts.messages.executor_capacity import SlotState
from rota_contracts.messages.learning import UnderWay

T = TypeVar("T")

INBOX = {"inbox": 1}
RETRY_FOR_S, RETRY_EVERY_S = 30.0, 0.2
"""Seconds that a write is retried while the server is away, and between two tries."""

GIVEN_UP_KEPT_S = 31 * 86400
"""Longer than dead letters are kept, which may be sent back."""

CALLBACK_ID = "run.callbacks.id"
STATE = {"journal": 0}
"""Without the journal, which grows with every step, and is read for a replay alone."""


class MongoRuns:
    def __init__(self, database: Database, *, reader: str | None = None) -> None:
        self._runs = database["executions"]
        self._aside = SetAside(self._runs, service="executor", reader=reader)

    async def prepare(self) -> None:
        """Make the indexes; making them again changes nothing."""
        await self._aside.prepare()
        await self._runs.create_index([("team_id", ASCENDING), ("created_at", DESCENDING)])
        await self._runs.create_index([("team_id", ASCENDING), ("member_id", ASCENDING), ("created_at", DESCENDING)])
        for instant in ("due_at", "deadline_at", "expires_at"):
            await self._runs.create_index(instant, partialFilterExpression={instant: {"$type": "date"}})
        await self._runs.create_index("given_up_at", expireAfterSeconds=GIVEN_UP_KEPT_S, sparse=True)
        called = {CALLBACK_ID: {"$exists": True}}
        await self._runs.create_index([(CALLBACK_ID, ASCENDING)], partialFilterExpression=called)
        alive = [("team_id", ASCENDING), ("member_id", ASCENDING), ("created_at", ASCENDING)]
        clocks = [("team_id", ASCENDING), ("member_id", ASCENDING), ("created_at", DESCENDING)]
        await self._runs.create_index(clocks, name="by_clock", partialFilterExpression=BY_CLOCK)
        ended = [("team_id", ASCENDING), ("member_id", ASCENDING), (FINISHED_AT, DESCENDING)]
        await self._runs.create_index(ended, partialFilterExpression={FINISHED_AT: {"$type": "string"}})
        under_way = {"status": {"$in": UNDER_WAY}}
        await self._runs.create_index(alive, name="under_way", partialFilterExpression=under_way)

    async def create(self, run: Run, *, owner: str, until: datetime) -> int | None:
        epoch = 1
        execution = run.execution
        keys = {"_id": run.id, "team_id": execution.team_id, "member_id": execution.member_id}
        inbox = [signal.model_dump(mode="json") for signal in run.inbox]
        state = {"owner": owner, "due_at": until, "epoch": epoch, "inbox": inbox, "journal": []}
        try:
            await self._runs.insert_one({**keys, **state, "created_at": execution.created_at, **whole(run)})
        except DuplicateKeyError:
            return None
        return epoch

    async def give_up(self, run_id: str, at: datetime) -> bool:
        """Its place is taken by a document that no query but those by id finds."""
        try:
            await self._runs.insert_one({"_id": run_id, "status": ExecStatus.FAILED, "given_up_at": at})
        except DuplicateKeyError:
            return await self._runs.find_one({"_id": run_id, "given_up_at": {"$exists": True}}, {"_id": 1}) is not None
        return True

    async def claim(self, run_id: str, *, owner: str, until: datetime, now: datetime) -> tuple[Run, int] | None:
        document = await self._runs.find_one_and_update(
            {
                "_id": run_id,
                "status": {"$nin": OVER},
                "$or": [{"owner": None}, {"due_at": {"$lte": now}}],
                **self._aside.readable,
            },
            {"$set": {"owner": owner, "due_at": until}, "$inc": {"epoch": 1}},
            projection=STATE,
            return_document=ReturnDocument.AFTER,
        )
        if document is None:
            return None
        epoch = int(document["epoch"])
        try:
            return await self._read(document), epoch
        except Unreadable:  # given back at once, for a worker of another version
            given_back = [{"$set": {"owner": None, "due_at": "$$NOW"}}]
            await self._runs.update_one({"_id": run_id, "epoch": epoch}, given_back)
            raise

    async def read_free(self, run_id: str) -> tuple[Run, int] | None:
        document = await self._runs.find_one({"_id": run_id, "owner": None, "status": {"$nin": OVER}}, STATE)
        return None if document is None else (await self._read(document), int(document["epoch"]))

    async def find(self, run_id: str) -> Run | None:
        document = await self._runs.find_one({"_id": run_id}, STATE)
        return None if document is None or "run" not in document else await self._read(document)

    async def save(self, run: Run, epoch: int) -> Run:
        return await self._write(run, epoch, {})

    async def release(self, run: Run, epoch: int, *, check_at: datetime | None) -> Run:
        return await self._write(run, epoch, {"owner": None, "due_at": check_at}, ends=1)

    async def finish(self, run: Run, epoch: int, *, check_at: datetime | None) -> Run | None:
        all_applied = {"$expr": {"$lte": [{"$size": "$inbox"}, run.applied]}}
        state = {"owner": None, "due_at": check_at}
        try:
            return await self._write(run, epoch, state, ends=1, only_if=all_applied)
        except Fenced:
            if await self._runs.find_one({"_id": run.id, "epoch": epoch}, {"_id": 1}) is None:
                raise
            return None

    async def renew(self, run_id: str, epoch: int, *, until: datetime) -> None:
        found = await self._runs.update_one(
            {"_id": run_id, "epoch": epoch, "owner": {"$ne": None}}, {"$set": {"due_at": until}}
        )
        if found.matched_count == 0:
            raise Fenced(f"execution {run_id} is another worker's by now")

    async def overdue(self, now: datetime, *, limit: int, apart_from: Sequence[str] = ()) -> AsyncIterator[str]:
        for query, instant in ((overdue(now), "due_at"), (expired(now), "expires_at")):
            wanted = {**query, **self._aside.readable, "_id": {"$nin": [*apart_from]}}
            async for document in self._runs.find(wanted, {"_id": 1}).sort(instant, ASCENDING).limit(limit):
                yield str(document["_id"])

    async def past_deadline(self, now: datetime, *, limit: int, apart_from: Sequence[str] = ()) -> AsyncIterator[Run]:
        wanted = {**past_deadline(now), **self._aside.readable, "_id": {"$nin": [*apart_from]}}
        found = self._runs.find(wanted, STATE).sort("deadline_at", ASCENDING).limit(limit)
        async for run in self._aside.readable_of(found, read):
            yield run

    async def mark_announced(self, run_id: str) -> None:
        all_applied = {"$lte": [{"$size": "$inbox"}, "$run.heard"]}
        quiet = {"status": {"$in": [ExecStatus.WAITING, ExecStatus.PAUSED]}, "$expr": all_applied}
        known = {"_id": run_id, "owner": None, "$or": [{"status": {"$in": OVER}}, quiet]}
        await self._runs.update_one(known, {"$set": {"due_at": None}})

    async def send_signal(self, scope: Scope, signal: Signal) -> list[Run]:
        wanted: Document = {"team_id": scope.team}
        if scope.member is not None:
            wanted["member_id"] = scope.member
        if scope.execution_id is not None:
            wanted["_id"] = scope.execution_id
        plain = signal.model_dump(mode="json")
        await self._runs.update_many(
            {**wanted, "status": {"$nin": OVER}, "inbox.id": {"$ne": signal.id}}, {"$push": {"inbox": plain}}
        )
        signalled = {**wanted, "inbox.id": signal.id}
        await self._runs.update_many(
            {**signalled, "status": {"$nin": OVER}, "owner": None, "due_at": None}, {"$set": {"due_at": signal.at}}
        )
        return [run async for run in self._aside.readable_of(self._runs.find(signalled, STATE), read)]

    async def deliver_signal(self, run_id: str, signal: Signal) -> SignalResult:
        if await self._put(signal, {"_id": run_id, "status": {"$nin": OVER}}):
            return SignalResult.ACCEPTED
        return SignalResult.DUPLICATE if await self._has(run_id, signal) else SignalResult.FINISHED

    async def by_callback(self, callback_id: str) -> Run | None:
        document = await self._runs.find_one({CALLBACK_ID: callback_id}, STATE)
        return None if document is None else await self._read(document)

    async def merge_targets(self, run: Run, *, limit: int) -> Sequence[UnderWay]:
        found = self._runs.find(merge_targets_of(run), MERGE_TARGET).sort(
            [("created_at", DESCENDING), ("_id", DESCENDING)]
        )
        return [target async for target in self._aside.readable_of(found.limit(limit), merge_target)]

    async def merge(self, run_id: str, signal: Signal, *, giver: Run) -> bool:
        return await self._put(signal, {"_id": run_id, **merge_targets_of(giver)}) or await self._has(run_id, signal)

    async def slots(self, run_ids: Sequence[str]) -> Sequence[SlotState]:
        found = self._runs.find({"_id": {"$in": [*run_ids]}}, SLOT)
        known = {document["_id"]: document async for document in found}
        slots = [await self._aside.read(known.get(run_id, {"_id": run_id}), slot) for run_id in run_ids]
        return [each for each in slots if each is not None]

    async def _put(self, signal: Signal, where: Document) -> bool:
        done = await self._runs.update_one({**where, "inbox.id": {"$ne": signal.id}}, put(signal))
        return bool(done.modified_count)

    async def _has(self, run_id: str, signal: Signal) -> bool:
        return await self._runs.find_one({"_id": run_id, "inbox.id": signal.id}, {"_id": 1}) is not None

    async def under_way(self, team: str, member: str, *, limit: int) -> list[str]:
        wanted = {"team_id": team, "member_id": member, "status": {"$in": UNDER_WAY}}
        found = self._runs.find(wanted, {"_id": 1}).sort("created_at", ASCENDING).limit(limit)
        return [str(document["_id"]) async for document in found]

    async def recent(self, run: Run, *, earliest: datetime, limit: int) -> RecentRuns:
        newest = [("created_at", DESCENDING)]
        last = await self._runs.find_one(reports_before(run, earliest), {"run.execution.created_at": 1}, sort=newest)
        since = datetime.fromisoformat(last["run"]["execution"]["created_at"]) if last else earliest
        under_way = self._runs.find(under_way_beside(run), EXCERPT).sort("created_at", ASCENDING)
        ended = self._runs.find(ended_since(run, since), EXCERPT).sort(FINISHED_AT, DESCENDING)
        begun, over = await asyncio.gather(*(self._excerpts(each.limit(limit)) for each in (under_way, ended)))
        return RecentRuns(since, begun, [each for each in over if each.finished_at and each.finished_at > since])

    async def journal(self, run_id: str) -> list[JournalEntry]:
        document = await self._runs.find_one({"_id": run_id}, {"journal": 1})
        return [] if document is None else await self._parsed(document, _journal)

    async def list(self, wanted: ListExecutions) -> ExecutionPage:
        query: Document = {"team_id": wanted.team_id}
        if wanted.member_id is not None:
            query["member_id"] = wanted.member_id
        if wanted.status is not None:
            query["status"] = wanted.status
        cursor = self._runs.find(query, SUMMARY).sort([("created_at", DESCENDING), ("_id", ASCENDING)])
        page = cursor.skip((wanted.page - 1) * wanted.page_size).limit(wanted.page_size)
        return ExecutionPage(
            executions=[each async for each in self._aside.readable_of(page, summary)],
            total=await self._runs.count_documents(query),
            page=wanted.page,
            page_size=wanted.page_size,
        )

    async def _read(self, document: Document) -> Run:
        return await self._parsed(document, read)

    async def _parsed(self, document: Document, parse: Callable[[Document], T]) -> T:
        """Raises Unreadable."""
        parsed = await self._aside.read(document, parse)
        if parsed is None:
            raise Unreadable(f"execution {document['_id']} was written by another version: this one can't read it")
        return parsed

    async def _excerpts(self, found: AsyncIterator[Document]) -> Sequence[RunExcerpt]:
        return [each async for each in self._aside.readable_of(found, _excerpt)]

    async def _write(
        self, run: Run, epoch: int, state: Document, *, ends: int = 0, only_if: Document | None = None
    ) -> Run:
        """Write within the claim's epoch; returns the run with the inbox, which isn't written."""
        update, token = change(run), uuid4().hex
        update["$set"] |= {**state, "write": token}
        where = {"_id": run.id, "epoch": epoch, **(only_if or {})}
        document = await self._written(where, {**update, "$inc": {"epoch": ends}}, token)
        if document is None:
            raise Fenced(f"execution {run.id} is another worker's by now")
        return as_stored(run, document)

    async def _written(self, where: Document, update: Document, token: str) -> Document | None:
        """The written document, or None. A short outage doesn't cost a finished step: the write is tried again, unless
        `token` shows that only the answer was lost."""
        until, again = monotonic() + RETRY_FOR_S, False
        while True:
            try:
                if again and (done := await self._runs.find_one({"_id": where["_id"], "write": token}, INBOX)):
                    return done
                return await self._runs.find_one_and_update(
                    where, update, projection=INBOX, return_document=ReturnDocument.AFTER
                )
            except OUTAGES:
                if monotonic() > until:
                    raise
                again = True
                await asyncio.sleep(RETRY_EVERY_S)


def _excerpt(document: Document) -> RunExcerpt:
    return RunExcerpt.model_validate(execution_fields(document["run"]["execution"]))


def _journal(document: Document) -> list[JournalEntry]:
    return [JournalEntry.model_validate(entry) for entry in document.get("journal") or []]
