"""Idempotency keys in MongoDB, for 30 days."""

from datetime import timedelta

from pymongo.errors import DuplicateKeyError

from rota_common.clock import Clock
from rota_common.stores.mongo import Database
from trigger_gateway.runs.ports import EarlierRequest

KEPT_S = int(timedelta(days=30).total_seconds())


class MongoRequests:
    def __init__(self, database: Database, clock: Clock) -> None:
        self._requests, self._clock = database["idempotency"], clock

    async def prepare(self) -> None:
        await self._requests.create_index("at", expireAfterSeconds=KEPT_S)

    async def remember(self, request_id: str, digest: str) -> EarlierRequest | None:
        try:
            await self._requests.insert_one({"_id": request_id, "digest": digest, "at": self._clock()})
        except DuplicateKeyError:
            first = await self._requests.find_one({"_id": request_id})
            return EarlierRequest(first["digest"], first.get("answer")) if first else None  # it expired between the two
        return None

    async def recall(self, request_id: str) -> EarlierRequest | None:
        found = await self._requests.find_one({"_id": request_id})
        return EarlierRequest(found["digest"], found.get("answer")) if found else None

    async def note(self, request_id: str, answer: str) -> None:
        await self._requests.update_one({"_id": request_id}, {"$set": {"answer": answer}})
