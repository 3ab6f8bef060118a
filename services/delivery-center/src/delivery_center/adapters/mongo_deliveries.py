"""Deliveries in MongoDB, one document each."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from pymongo import ReturnDocument
from pymongo.errors import DuplicateKeyError

from delivery_center.adapters.delivery_documents import FROM_OUTSIDE, changing, delivery_of, document_of
from delivery_center.domain.delivery import Delivery
from rota_common.errors import Unreadable
from rota_common.page_cursor import PageCursor
from rota_common.stores.mongo import NOW, Database, Document, after, behind, remove_after
from rota_common.stores.set_aside import SetAside
from rota_contracts.messages.delivery_log import (
    DeliveryFilter,
    DeliveryState,
    ListDeliveries,
    ReplayDeliveries,
    TargetState,
)
from rota_contracts.messages.trigger import ExecutorMode

EXISTS = {"$exists": True}
CLAIM_ENDED: Document = {
    "claimed": True,
    "due_at": {"$exists": True, "$type": "date"},
    "$expr": {"$lte": ["$due_at", NOW]},
}
"""A claim whose owner has died, by the database's clock."""

NO_BODY = {f"content.{name}": 0 for name in ("body", *FROM_OUTSIDE)}
KEPT_FOR = timedelta(days=90)
NEWEST = [("created_at", -1), ("_id", -1)]
OLDEST = [("created_at", 1), ("_id", 1)]


class MongoDeliveries:
    """`due_at` is set only while a target is pending, so its index holds just those.

    `over_at`, the instant of the last attempt, is set once every target is final; MongoDB removes the delivery `keep`
    later.
    """

    def __init__(self, database: Database, *, keep: timedelta = KEPT_FOR, reader: str | None = None) -> None:
        self._database = database
        self._deliveries = database["deliveries"]
        self._aside = SetAside(self._deliveries, service="delivery-center", reader=reader)
        self._keep = keep

    async def prepare(self) -> None:
        await self._aside.prepare()
        await self._deliveries.create_index(
            [("claimed", 1), ("due_at", 1)], name="due", partialFilterExpression={"due_at": EXISTS}
        )
        await self._deliveries.create_index(
            [("context.team_id", 1), ("context.member_id", 1), ("due_at", 1)],
            name="pending_of_robot",
            partialFilterExpression={"due_at": EXISTS},
        )
        await self._deliveries.create_index("context.execution_id", name="of_execution")
        await self._deliveries.create_index(
            "replay_of", name="replays", partialFilterExpression={"replay_of": {"$gt": ""}}
        )
        await self._deliveries.create_index([("context.team_id", 1), *NEWEST], name="of_team")
        await self._deliveries.create_index(
            [("context.team_id", 1), ("context.member_id", 1), *NEWEST], name="of_robot"
        )
        await self._deliveries.create_index([("state", 1), ("context.team_id", 1), *NEWEST], name="of_state")
        await self._deliveries.create_index([("targets.target_id", 1), *NEWEST], name="of_target")
        await remove_after(self._database, "deliveries", "over_at", self._keep)

    async def find(self, request_id: str) -> Delivery | None:
        document = await self._deliveries.find_one({"_id": request_id})
        return None if document is None else await self._read(document)

    async def find_of(self, team: str, execution_id: str) -> Delivery | None:
        condition = {"context.execution_id": execution_id, "context.team_id": team, "replay_of": None}
        document = await self._deliveries.find_one(condition, NO_BODY, sort=[("created_at", -1)])
        return None if document is None else await self._read(document)

    async def page(self, asked: ListDeliveries, *, after: PageCursor | None) -> list[Delivery]:
        conditions = _matching(asked)
        if asked.state is not None:
            conditions.append({"state": asked.state.value})
        if after is not None:
            conditions.append(behind("created_at", after.at, after.item_id))
        found = self._deliveries.find({"$and": conditions}, NO_BODY).sort(NEWEST).limit(asked.limit)
        return [delivery async for delivery in self._aside.readable_of(found, delivery_of)]

    async def replayable(self, asked: ReplayDeliveries, *, after: PageCursor | None) -> list[Delivery]:
        final = [TargetState.FAILED] if asked.targets == "failed" else [TargetState.FAILED, TargetState.DELIVERED]
        target: Document = {"state": {"$in": [state.value for state in final]}}
        if asked.target_id is not None:
            target["target_id"] = asked.target_id
        conditions = [*_matching(asked), {"mode": ExecutorMode.STANDARD.value, "targets": {"$elemMatch": target}}]
        conditions.append({"replay_of": None} if asked.request_id is None else {"_id": asked.request_id})
        if asked.targets == "failed":
            conditions.append({"state": {"$in": [DeliveryState.FAILED.value, DeliveryState.PENDING.value]}})
        if after is not None:
            conditions.append(behind("created_at", after.at, after.item_id, "$gt"))
        found = self._deliveries.find({"$and": conditions}).sort(OLDEST).limit(asked.limit)
        return [delivery async for delivery in self._aside.readable_of(found, delivery_of)]

    async def replays_of(self, request_ids: Sequence[str]) -> list[Delivery]:
        found = self._deliveries.find({"replay_of": {"$in": list(request_ids), "$gt": ""}}, NO_BODY)
        return [delivery async for delivery in self._aside.readable_of(found, delivery_of)]

    async def insert(self, delivery: Delivery) -> Delivery:
        try:
            await self._deliveries.insert_one(document_of(delivery))
        except DuplicateKeyError:
            return await self.find(delivery.request_id) or delivery
        return delivery

    async def insert_begun(self, delivery: Delivery, lease: timedelta) -> Delivery:
        claimed = {"$mergeObjects": [{"$literal": document_of(delivery)}, {"due_at": after(lease)}]}
        absent = {"_id": delivery.request_id, "created_at": {"$exists": False}}
        try:
            await self._deliveries.update_one(absent, [{"$replaceWith": claimed}], upsert=True)
        except DuplicateKeyError:
            return await self.find(delivery.request_id) or delivery
        return delivery

    async def record_first(self, delivery: Delivery) -> Delivery:
        change = {**_change(delivery), "$inc": {"revision": 1}}
        change["$set"]["accepted_at"], change["$set"]["error"] = delivery.accepted_at, delivery.error
        begun = {"_id": delivery.request_id, "starting": True}
        if (await self._deliveries.update_one(begun, change)).matched_count == 1:
            return delivery
        return await self.insert(delivery)

    async def claim_due(self, now: datetime, lease: timedelta) -> Delivery | None:
        return await self._claim(due_or_ended(now), lease)

    async def claim_of(self, team: str, member: str, lease: timedelta) -> Delivery | None:
        return await self._claim(_pending(team, member) | {"$or": [{"claimed": False}, CLAIM_ENDED]}, lease)

    async def has_pending(self, team: str, member: str) -> bool:
        return await self._deliveries.find_one(_pending(team, member), {"_id": 1}) is not None

    async def save(self, delivery: Delivery) -> bool:
        fenced = {"_id": delivery.request_id, "revision": delivery.revision}
        result = await self._deliveries.update_one(fenced, _change(delivery))
        return result.matched_count == 1

    async def bring_forward(self, delivery: Delivery) -> bool:
        unclaimed = {"_id": delivery.request_id, "revision": delivery.revision, "claimed": False}
        change = {**_change(delivery), "$inc": {"revision": 1}}
        return (await self._deliveries.update_one(unclaimed, change)).matched_count == 1

    async def _claim(self, condition: Document, lease: timedelta) -> Delivery | None:
        """One that can't be read is given back at once, for another version, and the next one is claimed."""
        while True:
            document: Document | None = await self._deliveries.find_one_and_update(
                condition | self._aside.readable,
                [{"$set": {"due_at": after(lease), "claimed": True, "revision": {"$add": ["$revision", 1]}}}],
                sort=[("due_at", 1)],
                return_document=ReturnDocument.AFTER,
            )
            if document is None or (delivery := await self._aside.read(document, delivery_of)) is not None:
                return None if document is None else delivery
            claim = {"_id": document["_id"], "revision": document["revision"]}
            await self._deliveries.update_one(claim, [{"$set": {"due_at": NOW, "claimed": False}}])

    async def _read(self, document: Document) -> Delivery:
        delivery = await self._aside.read(document, delivery_of)
        if delivery is None:
            raise Unreadable(f"delivery {document['_id']} was written by another version: this one can't read it")
        return delivery


def due_or_ended(now: datetime) -> Document:
    """Deliveries that are due, and claims whose owner has died."""
    return {"$or": [{"claimed": False, "due_at": {"$lte": now}}, CLAIM_ENDED]}


def _change(delivery: Delivery) -> Document:
    unset = {"due_at": ""} if delivery.due_at is None else {"over_at": ""}
    return {"$set": changing(delivery), "$unset": unset}


def _pending(team: str, member: str) -> Document:
    return {"context.team_id": team, "context.member_id": member, "due_at": EXISTS}


def _matching(asked: DeliveryFilter) -> list[Document]:
    given = {
        "context.member_id": asked.member_id,
        "context.execution_id": asked.execution_id,
        "targets.target_id": asked.target_id,
    }
    conditions: list[Document] = [{"context.team_id": asked.team_id}]
    conditions += [{name: value} for name, value in given.items() if value is not None]
    if asked.since is not None:
        conditions.append({"created_at": {"$gte": asked.since}})
    if asked.until is not None:
        conditions.append({"created_at": {"$lt": asked.until}})
    return conditions
