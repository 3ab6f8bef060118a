"""The ledger in MongoDB: one document for one execution.

Beside the run itself stand the fields that queries and claims need: `owner` and `due_at` (while owned: when the claim
ends; otherwise: when a sweeper must look), `epoch`, and the `inbox` that control writes into.
"""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

from pymongo import ASCENDING, DESCENDING, ReturnDocument
from pymongo.errors import DuplicateKeyError

from executor.ports import Fenced
from executor.run import Run
from rota_common.mongo import Database, Document
from rota_contracts.execution import ExecStatus, ExecutionsListed, ExecutionSummary, ListExecutions

OVER = [str(status) for status in ExecStatus if status.over]
SUMMARY = {
    "run.execution.execution_id": 1,
    "run.execution.team_id": 1,
    "run.execution.member_id": 1,
    "run.execution.trigger.type": 1,
    "run.execution.status": 1,
    "run.execution.phase": 1,
    "run.execution.error": 1,
    "run.execution.created_at": 1,
    "run.execution.finished_at": 1,
    "run.execution.content.summary": 1,
}


class MongoRuns:
    def __init__(self, database: Database) -> None:
        self._runs = database["executions"]

    async def prepare(self) -> None:
        """Make the indexes; making them again changes nothing."""
        await self._runs.create_index([("team_id", ASCENDING), ("created_at", DESCENDING)])
        await self._runs.create_index([("team_id", ASCENDING), ("member_id", ASCENDING), ("created_at", DESCENDING)])
        due = {"due_at": {"$type": "date"}}
        await self._runs.create_index([("due_at", ASCENDING)], partialFilterExpression=due)

    async def create(self, run: Run, *, owner: str, until: datetime) -> int | None:
        epoch = 1
        execution = run.execution
        keys = {"_id": run.id, "team_id": execution.team_id, "member_id": execution.member_id}
        state = {"owner": owner, "due_at": until, "epoch": epoch, "inbox": []}
        try:
            await self._runs.insert_one({**keys, **state, "created_at": execution.created_at, **_written(run)})
        except DuplicateKeyError:
            return None
        return epoch

    async def claim(self, run_id: str, *, owner: str, until: datetime, now: datetime) -> tuple[Run, int] | None:
        document = await self._runs.find_one_and_update(
            {"_id": run_id, "status": {"$nin": OVER}, "$or": [{"owner": None}, {"due_at": {"$lte": now}}]},
            {"$set": {"owner": owner, "due_at": until}, "$inc": {"epoch": 1}},
            return_document=ReturnDocument.AFTER,
        )
        return None if document is None else (_run(document), int(document["epoch"]))

    async def peek(self, run_id: str) -> tuple[Run, int] | None:
        document = await self._runs.find_one({"_id": run_id, "owner": None, "status": {"$nin": OVER}})
        return None if document is None else (_run(document), int(document["epoch"]))

    async def find(self, run_id: str) -> Run | None:
        document = await self._runs.find_one({"_id": run_id})
        return None if document is None else _run(document)

    async def save(self, run: Run, epoch: int) -> Run:
        return _with_inbox(run, await self._write(run, epoch, {}))

    async def release(self, run: Run, epoch: int, *, look_at: datetime | None) -> Run:
        return _with_inbox(run, await self._write(run, epoch, {"owner": None, "due_at": look_at}, ends=1))

    async def renew(self, run_id: str, epoch: int, *, until: datetime) -> None:
        found = await self._runs.update_one(
            {"_id": run_id, "epoch": epoch, "owner": {"$ne": None}}, {"$set": {"due_at": until}}
        )
        if found.matched_count == 0:
            raise Fenced(f"execution {run_id} is somebody else's by now")

    async def overdue(self, now: datetime, *, limit: int) -> AsyncIterator[str]:
        cursor = self._runs.find({"due_at": {"$lte": now}}, {"_id": 1}).sort("due_at", ASCENDING).limit(limit)
        async for document in cursor:
            yield str(document["_id"])

    async def told(self, run_id: str) -> None:
        await self._runs.update_one({"_id": run_id, "status": {"$in": OVER}}, {"$set": {"due_at": None}})

    async def cancel_all(self, team: str, member: str, reason: str) -> list[str]:
        mine = {"team_id": team, "member_id": member}
        await self._runs.update_many({**mine, "status": {"$nin": OVER}}, {"$addToSet": {"inbox": reason}})
        return [str(document["_id"]) async for document in self._runs.find({**mine, "inbox": reason}, {"_id": 1})]

    async def list(self, wanted: ListExecutions) -> ExecutionsListed:
        query: Document = {"team_id": wanted.team_id}
        if wanted.member_id is not None:
            query["member_id"] = wanted.member_id
        if wanted.status is not None:
            query["status"] = wanted.status
        cursor = self._runs.find(query, SUMMARY).sort([("created_at", DESCENDING), ("_id", ASCENDING)])
        page = cursor.skip((wanted.page - 1) * wanted.page_size).limit(wanted.page_size)
        return ExecutionsListed(
            executions=[_summary(document["run"]["execution"]) async for document in page],
            total=await self._runs.count_documents(query),
            page=wanted.page,
            page_size=wanted.page_size,
        )

    async def _write(self, run: Run, epoch: int, state: Document, *, ends: int = 0) -> Document:
        """Write within the claim's epoch; the answer holds the inbox, which isn't written."""
        document = await self._runs.find_one_and_update(
            {"_id": run.id, "epoch": epoch},
            {"$set": {**_written(run), **state}, "$inc": {"epoch": ends}},
            projection={"inbox": 1},
            return_document=ReturnDocument.AFTER,
        )
        if document is None:
            raise Fenced(f"execution {run.id} is somebody else's by now")
        return dict(document)


def _written(run: Run) -> Document:
    return {"status": run.execution.status, "run": run.model_dump(mode="json")}


def _run(document: Document) -> Run:
    return _with_inbox(Run.model_validate(document["run"]), document)


def _with_inbox(run: Run, document: Document) -> Run:
    """Control that came in while the run was being worked on."""
    inbox: list[str] = document.get("inbox") or []
    return run if run.over or run.cancelled or not inbox else run.model_copy(update={"cancelled": inbox[0]})


def _summary(execution: dict[str, Any]) -> ExecutionSummary:
    content = execution.get("content") or {}
    return ExecutionSummary(
        **{**execution, "trigger_type": execution["trigger"]["type"], "summary": content.get("summary", "")}
    )
