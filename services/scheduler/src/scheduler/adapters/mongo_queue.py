"""The queue in MongoDB: one document for one trigger, whose `_id` is its execution's id.

Every batch is a transaction that begins by renewing the lease under its epoch: a dispatcher that was replaced can't
write any more, however late it wakes up.
"""

import contextlib
from collections.abc import Sequence
from datetime import datetime

from motor.motor_asyncio import AsyncIOMotorClientSession
from pymongo import ASCENDING, InsertOne, ReturnDocument, UpdateMany, UpdateOne
from pymongo.errors import DuplicateKeyError, OperationFailure

from rota_common.errors import Transient
from rota_common.mongo import Document, Mongo
from rota_contracts.execution import ExecStatus
from rota_contracts.ids import execution_id
from rota_contracts.trigger import RejectReason, TriggerReceivedV1, TriggerType
from scheduler.domain import Board, Entry, Refusal, State
from scheduler.ports import Batch, Decided, Known, LeaseLost

LEASE = "dispatcher"
KEEP_S = 14 * 86400
CONFLICT = 112


class MongoQueue:
    def __init__(self, mongo: Mongo, *, lease: float) -> None:
        self._mongo = mongo
        self._queue = mongo.database["queue"]
        self._leases = mongo.database["leases"]
        self._lease_ms = int(lease * 1000)

    async def prepare(self) -> None:
        """Make the indexes and the lease's document; doing so again changes nothing."""
        await self._queue.create_index([("live", ASCENDING)], partialFilterExpression={"live": True})
        await self._queue.create_index("ended_at", expireAfterSeconds=KEEP_S)
        gone = {"reason": RejectReason.ROBOT_DELETED}
        await self._queue.create_index([("team", ASCENDING), ("member", ASCENDING)], partialFilterExpression=gone)
        with contextlib.suppress(DuplicateKeyError):
            await self._leases.insert_one({"_id": LEASE, "owner": None, "epoch": 0, "until": datetime(1970, 1, 1)})  # noqa: DTZ001  # "long ago", whatever the zone

    async def acquire(self, owner: str) -> int | None:
        mine = {"$eq": ["$owner", owner]}
        free = {"$lte": ["$until", "$$NOW"]}
        document = await self._leases.find_one_and_update(
            {"_id": LEASE, "$expr": {"$or": [mine, free]}},
            [
                {
                    "$set": {
                        "epoch": {"$cond": [{"$and": [mine, {"$not": [free]}]}, "$epoch", {"$add": ["$epoch", 1]}]},
                        "owner": owner,
                        "until": {"$add": ["$$NOW", self._lease_ms]},
                    }
                }
            ],
            return_document=ReturnDocument.AFTER,
        )
        return None if document is None else int(document["epoch"])

    async def release(self, owner: str) -> None:
        await self._leases.update_one({"_id": LEASE, "owner": owner}, [{"$set": {"until": "$$NOW", "owner": None}}])

    async def board(self) -> Board:
        board = Board()
        async for document in self._queue.find({"live": True}, {"trigger": 0}):
            entry = _entry(document)
            (board.queued if document["state"] == State.QUEUED else board.active)[entry.execution_id] = entry
        return board

    async def known(self, ids: Sequence[str]) -> dict[str, Known]:
        found = self._queue.find({"_id": {"$in": list(ids)}})
        return {document["_id"]: _known(document) async for document in found}

    async def withdrawn(self, team: str, member: str) -> list[Known]:
        found = self._queue.find({"team": team, "member": member, "reason": RejectReason.ROBOT_DELETED})
        return [_known(document) async for document in found]

    async def write(self, batch: Batch, *, owner: str, epoch: int) -> None:
        operations = _operations(batch)
        try:
            async with await self._mongo.client.start_session() as session, session.start_transaction():
                await self._fence(owner, epoch, session)
                await self._queue.bulk_write(operations, ordered=False, session=session)
        except OperationFailure as error:
            if error.code == CONFLICT:  # somebody else is writing the lease: it isn't ours any more
                raise LeaseLost(str(error)) from error
            if error.has_error_label("TransientTransactionError"):
                raise Transient(f"the batch was not written: {error}") from error
            raise

    async def _fence(self, owner: str, epoch: int, session: AsyncIOMotorClientSession) -> None:
        renewed = await self._leases.update_one(
            {"_id": LEASE, "owner": owner, "epoch": epoch},
            [{"$set": {"until": {"$add": ["$$NOW", self._lease_ms]}}}],
            session=session,
        )
        if renewed.matched_count == 0:
            raise LeaseLost(f"epoch {epoch} of the dispatcher's lease is over")


def _operations(batch: Batch) -> list[InsertOne[Document] | UpdateMany | UpdateOne]:
    live = {"live": True}
    operations: list[InsertOne[Document] | UpdateMany | UpdateOne] = [
        InsertOne(_document(decided, batch.at)) for decided in batch.decided
    ]
    if batch.admitted:
        admitted = {"state": State.ADMITTED, "admitted_at": batch.at}
        operations.append(UpdateMany({"_id": {"$in": batch.admitted}, **live}, {"$set": admitted}))
    if batch.started:
        operations.append(UpdateMany({"_id": {"$in": batch.started}, **live}, {"$set": {"state": State.RUNNING}}))
    for ended in batch.ended:
        done = {"state": State.DONE, "live": False, "status": ended.status, "ended_at": batch.at}
        operations.append(UpdateOne({"_id": ended.execution_id, **live}, {"$set": done}))
    if batch.withdrawn:
        withdrawn = {
            "state": State.REJECTED,
            "live": False,
            "ended_at": batch.at,
            "reason": RejectReason.ROBOT_DELETED,
            "message": "the robot was deleted",
        }
        operations.append(UpdateMany({"_id": {"$in": batch.withdrawn}, **live}, {"$set": withdrawn}))
    return operations


def _document(decided: Decided, at: datetime | None) -> Document:
    trigger = decided.trigger
    document: Document = {
        "_id": execution_id(trigger.trigger_id),
        "team": trigger.team_id,
        "member": trigger.member_id,
        "type": trigger.type,
        "traceparent": decided.traceparent,
        "trigger": trigger.model_dump(mode="json"),
        "queued_at": at,
    }
    match decided.verdict:
        case Refusal(reason, message):
            refused = {"state": State.REJECTED, "live": False, "reason": reason, "message": message, "ended_at": at}
            return document | refused
        case entry:
            state = State.ADMITTED if decided.admitted else State.QUEUED
            admitted_at = at if decided.admitted else None
            place = {"priority": entry.priority, "max_running": entry.max_running, "admitted_at": admitted_at}
            return document | place | {"state": state, "live": True}


def _entry(document: Document) -> Entry:
    return Entry(
        execution_id=document["_id"],
        team=document["team"],
        member=document["member"],
        type=TriggerType(document["type"]),
        priority=document["priority"],
        max_running=document["max_running"],
        queued_at=document["queued_at"],
        admitted_at=document["admitted_at"],
        running=document["state"] == State.RUNNING,
    )


def _known(document: Document) -> Known:
    reason, status = document.get("reason"), document.get("status")
    return Known(
        execution_id=document["_id"],
        state=State(document["state"]),
        trigger=TriggerReceivedV1.model_validate(document["trigger"]),
        traceparent=document["traceparent"],
        status=ExecStatus(status) if status else None,
        refusal=Refusal(RejectReason(reason), document["message"]) if reason else None,
    )
