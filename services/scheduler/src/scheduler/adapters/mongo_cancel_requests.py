"""Cancel requests in MongoDB: stored by any replica, deleted by the batch that handles them."""

from datetime import datetime
from typing import Any
from uuid import uuid4

from pymongo import ASCENDING

from rota_common.stores.mongo import Database, Document
from rota_contracts.messages.control import Withdraw, WithdrawReply
from rota_contracts.messages.trigger import RejectReason
from scheduler.domain.batch import CancelRequest
from scheduler.domain.queue import EntryState

STALE_S = 10.0
"""Longer than any caller waits for the reply."""


class MongoCancelRequests:
    """A request is valid for `stale` seconds by the database's clock, which all replicas share."""

    def __init__(self, database: Database, *, stale: float = STALE_S) -> None:
        self._cancel_requests, self._queue = database["withdrawals"], database["queue"]
        self._stale_ms = int(stale * 1000)

    async def prepare(self) -> None:
        await self._cancel_requests.create_index("asked_at", expireAfterSeconds=3600)
        stopped = {"reason": RejectReason.STOPPED}
        await self._queue.create_index(
            [("team", ASCENDING), ("ended_at", ASCENDING)], name="stopped", partialFilterExpression=stopped
        )

    async def ask(self, question: Withdraw) -> str:
        request_id = uuid4().hex
        kept = {"question": {"$literal": question.model_dump(mode="json")}, "asked_at": "$$NOW"}
        await self._cancel_requests.update_one({"_id": request_id}, [{"$set": kept}], upsert=True)
        return request_id

    async def asked(self) -> list[CancelRequest]:
        fresh = {"$expr": {"$gt": ["$asked_at", {"$subtract": ["$$NOW", self._stale_ms]}]}}
        found = self._cancel_requests.find(fresh).sort("asked_at", ASCENDING)
        return [CancelRequest(each["_id"], Withdraw.model_validate(each["question"])) async for each in found]

    async def is_open(self, request_id: str) -> bool:
        return await self._cancel_requests.find_one({"_id": request_id}, {"_id": 1}) is not None

    async def outcome(self, question: Withdraw, since: datetime) -> WithdrawReply:
        scope = _scope(question)
        stopped: Document = scope | {"reason": RejectReason.STOPPED}
        if question.execution_id is None:
            stopped["ended_at"] = {"$gte": since}
        begins = scope | {"live": True, "state": EntryState.ADMITTED, "parks": {"$in": [None, 0]}}
        return WithdrawReply(execution_ids=await self._ids(stopped), admitted=await self._ids(begins))

    async def _ids(self, condition: Document) -> list[str]:
        return sorted([each["_id"] async for each in self._queue.find(condition, {"_id": 1})])


def _scope(question: Withdraw) -> dict[str, Any]:
    named = {"team": question.team_id, "member": question.member_id, "_id": question.execution_id}
    return {field: value for field, value in named.items() if value is not None}
