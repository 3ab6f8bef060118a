"""Reads of runs in MongoDB; what this version can't read is set aside."""

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime
from typing import TypeVar

from pymongo import ASCENDING

from executor.adapters.mongo_run_approvals import APPROVAL_ID, pending_page
from executor.adapters.mongo_run_documents import execution_fields, read
from executor.adapters.mongo_run_indexes import CALLBACK_ID, NEWEST, QUARANTINED_ID
from executor.adapters.mongo_run_pages import page_of, quarantine_page_of
from executor.adapters.mongo_run_queries import (
    AT_CEILING,
    BEGUN,
    ENDED,
    MERGE_TARGET,
    PART,
    REPORTED,
    SLOT,
    UNDER_WAY,
    merge_target,
    merge_targets_of,
    recent_of,
    slot,
)
from executor.adapters.mongo_run_segments import MongoRunSegments
from executor.adapters.mongo_run_spend import counts_of, spend_of
from executor.domain.run import JournalEntry, Run, Signal
from executor.domain.situation.recent import RecentRuns, RunExcerpt
from rota_common.errors import Unreadable
from rota_common.page_cursor import PageCursor
from rota_common.stores.mongo import Database, Document
from rota_common.stores.set_aside import SetAside
from rota_contracts.messages.approval import ApprovalPage, ListApprovals
from rota_contracts.messages.definition import CountRuns, RunCounts
from rota_contracts.messages.execution import ExecutionPage, ListExecutions
from rota_contracts.messages.executor_capacity import SlotState
from rota_contracts.messages.learning import UnderWay
from rota_contracts.messages.quarantine import ListQuarantine, QuarantinePage
from rota_contracts.messages.spend import ReadSpend, SpendReply

T = TypeVar("T")

STATE = {"journal": 0}
"""Without the journal, which grows with every step, and is read for a replay alone."""


class MongoRunReads:
    """`reader`: the build that reads, see `SetAside`."""

    def __init__(self, database: Database, *, reader: str | None) -> None:
        self._runs, self._segments = database["executions"], MongoRunSegments(database)
        self._aside = SetAside(self._runs, service="executor", reader=reader)

    async def find(self, run_id: str) -> Run | None:
        document = await self._runs.find_one({"_id": run_id}, STATE)
        return None if document is None or "run" not in document else await self._read(document)

    async def list(self, wanted: ListExecutions, *, after: PageCursor | None) -> ExecutionPage:
        return await page_of(self._runs, self._aside, wanted, after=after)

    async def journal(self, run_id: str) -> Sequence[JournalEntry]:
        document = await self._runs.find_one({"_id": run_id}, {"journal": 1, "segments": 1})
        return [] if document is None else await self._parsed(await self._segments.with_journal(document), _journal)

    async def signals(self, run_id: str) -> Sequence[Signal]:
        document = await self._runs.find_one({"_id": run_id}, {"inbox": 1})
        return [] if document is None else await self._parsed(document, _inbox)

    async def slots(self, run_ids: Sequence[str]) -> Sequence[SlotState]:
        found = self._runs.find({"_id": {"$in": [*run_ids]}}, SLOT)
        known = {document["_id"]: document async for document in found}
        slots = [await self._aside.read(known.get(run_id, {"_id": run_id}), slot) for run_id in run_ids]
        return [each for each in slots if each is not None]

    async def by_callback(self, callback_id: str) -> Run | None:
        document = await self._runs.find_one({CALLBACK_ID: callback_id}, STATE)
        return None if document is None else await self._read(document)

    async def quarantine(self, wanted: ListQuarantine, *, after: PageCursor | None) -> QuarantinePage:
        return await quarantine_page_of(self._runs, self._aside, wanted, after=after)

    async def by_quarantined(self, quarantine_id: str) -> tuple[Run, int] | None:
        document = await self._runs.find_one({QUARANTINED_ID: quarantine_id}, STATE)
        return None if document is None else (await self._read(document), int(document["epoch"]))

    async def by_approval(self, approval_id: str) -> Run | None:
        document = await self._runs.find_one({APPROVAL_ID: approval_id}, STATE)
        return None if document is None else await self._read(document)

    async def pending_approvals(self, wanted: ListApprovals, *, after: PageCursor | None) -> ApprovalPage:
        return await pending_page(self._runs, self._aside, wanted, after=after)

    async def under_way(self, team: str, member: str, *, limit: int) -> Sequence[str]:
        wanted = {"team_id": team, "member_id": member, "status": {"$in": UNDER_WAY}}
        found = self._runs.find(wanted, {"_id": 1}).sort("created_at", ASCENDING).limit(limit)
        return [str(document["_id"]) async for document in found]

    async def recent(self, run: Run, *, earliest: datetime, limit: int) -> RecentRuns:
        """All of it in one query, because most runs ask."""
        found = self._runs.aggregate(recent_of(run, earliest, limit))
        parts = defaultdict[str, list[Document]](list)
        async for document in found:
            parts[document.pop(PART)].append(document)
        last = parts[REPORTED]
        since = datetime.fromisoformat(last[0]["run"]["execution"]["created_at"]) if last else earliest
        begun, over = [await self._excerpts(parts[name]) for name in (BEGUN, ENDED)]
        return RecentRuns(since, begun, [each for each in over if each.finished_at and each.finished_at > since])

    async def at_ceiling(self, *, limit: int) -> AsyncIterator[Run]:
        wanted = {**AT_CEILING, "owner": None, **self._aside.readable}
        found = self._runs.find(wanted, STATE).sort("created_at", ASCENDING).limit(limit)
        async for run in self._runs_of(found):
            yield run

    async def count(self, wanted: CountRuns) -> RunCounts:
        return await counts_of(self._runs, wanted)

    async def spend(self, wanted: ReadSpend, *, limit: int) -> SpendReply:
        return await spend_of(self._runs, wanted, limit=limit)

    async def merge_targets(self, run: Run, *, limit: int) -> Sequence[UnderWay]:
        found = self._runs.find(merge_targets_of(run), MERGE_TARGET).sort(NEWEST)
        return [target async for target in self._aside.readable_of(found.limit(limit), merge_target)]

    async def _read(self, document: Document) -> Run:
        return await self._parsed(await self._segments.with_parts(document), read)

    async def _runs_of(self, found: AsyncIterator[Document]) -> AsyncIterator[Run]:
        whole = (await self._segments.with_parts(document) async for document in found)
        async for run in self._aside.readable_of(whole, read):
            yield run

    async def _parsed(self, document: Document, parse: Callable[[Document], T]) -> T:
        """Raises Unreadable."""
        parsed = await self._aside.read(document, parse)
        if parsed is None:
            raise Unreadable(f"execution {document['_id']} was written by another version: this one can't read it")
        return parsed

    async def _excerpts(self, documents: Sequence[Document]) -> Sequence[RunExcerpt]:
        read = [await self._aside.read(each, _excerpt) for each in documents]
        return [each for each in read if each is not None]


def _excerpt(document: Document) -> RunExcerpt:
    return RunExcerpt.model_validate(execution_fields(document["run"]["execution"]))


def _journal(document: Document) -> Sequence[JournalEntry]:
    before = [entry for segment in document.get("read", []) for entry in segment["journal"]]
    return [JournalEntry.model_validate(entry) for entry in [*before, *(document.get("journal") or [])]]


def _inbox(document: Document) -> Sequence[Signal]:
    return [Signal.model_validate(signal) for signal in document.get("inbox") or []]
