"""Deliveries in MongoDB, one document each."""

import json
from datetime import datetime
from typing import Any

from pymongo import ReturnDocument
from pymongo.errors import DuplicateKeyError

from delivery_center.domain import Attempt, Delivery, Target
from rota_common.mongo import Database, Document

STAYS = {"$exists": True}


class MongoDeliveries:
    """`due_at` is there only while something is still to be tried, so its sparse index holds just those."""

    def __init__(self, database: Database) -> None:
        self._deliveries = database["deliveries"]

    async def prepare(self) -> None:
        await self._deliveries.create_index("due_at", sparse=True)
        await self._deliveries.create_index(
            [("context.team_id", 1), ("context.member_id", 1), ("due_at", 1)],
            name="pending_of_robot",
            partialFilterExpression={"due_at": STAYS},
        )
        await self._deliveries.create_index("context.execution_id", name="of_execution")

    async def find(self, request_id: str) -> Delivery | None:
        document = await self._deliveries.find_one({"_id": request_id})
        return None if document is None else _delivery(document)

    async def find_of(self, team: str, execution_id: str) -> Delivery | None:
        condition = {"context.execution_id": execution_id, "context.team_id": team}
        document = await self._deliveries.find_one(condition, sort=[("created_at", -1)])
        return None if document is None else _delivery(document)

    async def insert(self, delivery: Delivery) -> Delivery:
        try:
            await self._deliveries.insert_one(_document(delivery))
        except DuplicateKeyError:
            return await self.find(delivery.request_id) or delivery
        return delivery

    async def claim_due(self, now: datetime, until: datetime) -> Delivery | None:
        return await self._claim({"due_at": {"$lte": now}}, until)

    async def claim_of(self, team: str, member: str, now: datetime, until: datetime) -> Delivery | None:
        free = {"$or": [{"claimed": False}, {"due_at": {"$lte": now}}]}
        return await self._claim(_pending(team, member) | free, until)

    async def has_pending(self, team: str, member: str) -> bool:
        return await self._deliveries.find_one(_pending(team, member), {"_id": 1}) is not None

    async def save(self, delivery: Delivery) -> bool:
        written: Document = {"claimed": delivery.claimed, "targets": [_target_document(t) for t in delivery.targets]}
        change: Document = {"$set": written}
        if delivery.due_at is None:
            change["$unset"] = {"due_at": ""}
        else:
            written["due_at"] = delivery.due_at
        result = await self._deliveries.update_one({"_id": delivery.request_id, "revision": delivery.revision}, change)
        return result.matched_count == 1

    async def _claim(self, condition: Document, until: datetime) -> Delivery | None:
        document: Document | None = await self._deliveries.find_one_and_update(
            condition,
            {"$set": {"due_at": until, "claimed": True}, "$inc": {"revision": 1}},
            sort=[("due_at", 1)],
            return_document=ReturnDocument.AFTER,
        )
        return None if document is None else _delivery(document)


def _pending(team: str, member: str) -> Document:
    return {"context.team_id": team, "context.member_id": member, "due_at": STAYS}


def _document(delivery: Delivery) -> Document:
    document = delivery.model_dump(mode="json", exclude={"request_id", "targets", "due_at"})
    instants: Document = {"created_at": delivery.created_at, "accepted_at": delivery.accepted_at}
    if delivery.due_at is not None:
        instants["due_at"] = delivery.due_at
    targets = [_target_document(target) for target in delivery.targets]
    return {"_id": delivery.request_id, **document, **instants, "targets": targets}


def _target_document(target: Target) -> Document:
    document = target.model_dump(mode="json", exclude={"attempts", "next_attempt_at"})
    return document | {
        "config": _text(target.config),
        "next_attempt_at": target.next_attempt_at,
        "attempts": [_attempt_document(attempt) for attempt in target.attempts],
    }


def _attempt_document(attempt: Attempt) -> Document:
    return attempt.model_dump(mode="json") | {"at": attempt.at, "details": _text(attempt.details)}


def _delivery(document: Document) -> Delivery:
    targets = [_target(target) for target in document["targets"]]
    return Delivery.model_validate(document | {"request_id": document["_id"], "targets": targets})


def _target(document: Document) -> Target:
    attempts = [attempt | {"details": json.loads(attempt["details"])} for attempt in document["attempts"]]
    return Target.model_validate(document | {"config": json.loads(document["config"]), "attempts": attempts})


def _text(value: Any) -> str:
    """What others wrote is kept as text: MongoDB has no integers over 64 bits and no keys with a zero byte."""
    return json.dumps(value)
