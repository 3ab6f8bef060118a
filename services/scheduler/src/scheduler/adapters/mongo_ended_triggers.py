"""Ended triggers in MongoDB: documents of the queue, each of the two statuses by an index of its own.

What is read of them any version can read, so none has to be set aside."""

import asyncio

from pymongo import ASCENDING

from rota_common.page_cursor import PageCursor
from rota_common.stores.mongo import Database, Document
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.retry import ListRetryable, Retryable, RetryableStatus
from rota_contracts.messages.trigger import RejectReason
from scheduler.domain.queue import EntryState

ENDED: dict[RetryableStatus, Document] = {
    RetryableStatus.REJECTED: {"state": EntryState.REJECTED},
    RetryableStatus.FAILED: {"status": ExecStatus.FAILED},
}
ORDER = [("ended_at", ASCENDING), ("_id", ASCENDING)]
SHOWN = {"member": 1, "type": 1, "state": 1, "ended_at": 1, "reason": 1, "message": 1}


class MongoEndedTriggers:
    def __init__(self, database: Database) -> None:
        self._queue = database["queue"]

    async def prepare(self) -> None:
        for status, condition in ENDED.items():
            keys = [("team", ASCENDING), *ORDER]
            await self._queue.create_index(keys, name=status, partialFilterExpression=condition)

    async def retryable(self, question: ListRetryable, *, after: PageCursor | None) -> list[Retryable]:
        wanted = [status for status in RetryableStatus if question.status in (None, status)]
        found = await asyncio.gather(*(self._page(ENDED[status], question, after) for status in wanted))
        both = sorted((each for page in found for each in page), key=lambda each: (each.ended_at, each.execution_id))
        return both[: question.limit]

    async def _page(self, ended: Document, question: ListRetryable, after: PageCursor | None) -> list[Retryable]:
        conditions: list[Document] = [ended, {"team": question.team_id}, {"reason": {"$ne": RejectReason.STOPPED}}]
        if question.member_id is not None:
            conditions.append({"member": question.member_id})
        if question.since is not None:
            conditions.append({"ended_at": {"$gte": question.since}})
        if question.until is not None:
            conditions.append({"ended_at": {"$lt": question.until}})
        if after is not None:
            same_instant = {"ended_at": after.at, "_id": {"$gt": after.item_id}}
            conditions += [{"ended_at": {"$gte": after.at}}, {"$or": [{"ended_at": {"$gt": after.at}}, same_instant]}]
        found = self._queue.find({"$and": conditions}, SHOWN).sort(ORDER).limit(question.limit)
        return [_retryable(document) async for document in found]


def _retryable(document: Document) -> Retryable:
    rejected = document["state"] == EntryState.REJECTED
    return Retryable(
        execution_id=document["_id"],
        member_id=document["member"],
        trigger_type=document["type"],
        status=RetryableStatus.REJECTED if rejected else RetryableStatus.FAILED,
        ended_at=document["ended_at"],
        reason=document.get("reason"),
        message=document.get("message") or "",
    )
