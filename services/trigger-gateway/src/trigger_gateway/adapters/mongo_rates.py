"""Rate limits in MongoDB, shared by all replicas: one document per key, with what was granted in each step."""

import asyncio
from datetime import UTC, datetime

from pymongo import ReturnDocument
from pymongo.errors import DuplicateKeyError

from rota_common.errors import Transient
from rota_common.stores.mongo import Database, Document
from trigger_gateway.webhooks.ports import Reserved
from trigger_gateway.webhooks.rate_limits import COUNTED_STEPS, STEP_S, room_at

PATIENCE_S = 3
TRIES = 3


class MongoRateStore:
    """A document is dropped soon after nothing in it counts any more."""

    def __init__(self, database: Database) -> None:
        self._rates = database["rates"]

    async def prepare(self) -> None:
        await self._rates.create_index("until", expireAfterSeconds=0)

    async def reserve(self, key: str, step: int, wanted: int, limit: int) -> Reserved:
        try:
            async with asyncio.timeout(PATIENCE_S):
                counted = await self._count(key, _reserving(step, wanted, limit))
        except TimeoutError as error:
            raise Transient("the rate limits can't be read now") from error
        return Reserved(int(counted["granted"]), room_at({each["at"]: each["count"] for each in counted["steps"]}))

    async def _count(self, key: str, change: list[Document]) -> Document:
        for _ in range(TRIES):
            try:
                found: Document = await self._rates.find_one_and_update(
                    {"_id": key}, change, upsert=True, return_document=ReturnDocument.AFTER
                )
            except DuplicateKeyError:  # another replica made it at the same moment
                continue
            return found
        raise Transient("the rate limits are written by many at the same moment")


def _reserving(step: int, wanted: int, limit: int) -> list[Document]:
    """Forgets the steps that don't count any more, grants what is left, and adds it to this step."""
    kept: Document = {"$gt": ["$$this.at", step - COUNTED_STEPS]}
    others: Document = {"$filter": {"input": "$steps", "cond": {"$ne": ["$$this.at", step]}}}
    this: Document = {"$filter": {"input": "$steps", "cond": {"$eq": ["$$this.at", step]}}}
    before: Document = {"$reduce": {"input": this, "initialValue": 0, "in": {"$add": ["$$value", "$$this.count"]}}}
    now: Document = {"at": step, "count": {"$add": [before, "$granted"]}}
    return [
        {"$set": {"steps": {"$filter": {"input": {"$ifNull": ["$steps", []]}, "cond": kept}}}},
        {"$set": {"granted": {"$max": [0, {"$min": [wanted, {"$subtract": [limit, {"$sum": "$steps.count"}]}]}]}}},
        {"$set": {"steps": {"$cond": ["$granted", {"$concatArrays": [others, [now]]}, "$steps"]}}},
        {"$set": {"until": datetime.fromtimestamp((step + 2 * COUNTED_STEPS) * STEP_S, UTC)}},
    ]
