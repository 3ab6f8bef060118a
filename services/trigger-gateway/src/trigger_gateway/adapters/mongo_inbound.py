"""What came in: the log of events, and the idempotency keys of requests. Both forget after 30 days."""

import asyncio
from datetime import timedelta
from typing import Any

from pymongo import UpdateOne, WriteConcern
from pymongo.errors import DuplicateKeyError, PyMongoError

from rota_common.clock import Clock
from rota_common.logs import logger
from rota_common.mongo import Database
from rota_contracts.ids import derived_id
from trigger_gateway.domain import InboundEvent, Woken
from trigger_gateway.ports import Earlier, Logged

KEPT_S = int(timedelta(days=30).total_seconds())
WAITING_LIMIT = 10_000
GATHER_S = 0.05
"""A write for each event would take as much of the machine as the rest of the webhook."""


class MongoInboundLog:
    """Writes in batches: whoever comes first writes for all who come within `GATHER_S` or while it writes.

    It is a log beside the work, so a write isn't waited for on other machines, and one that fails is only logged.
    """

    def __init__(self, database: Database, *, service: str) -> None:
        self._inbound = database.get_collection("inbound", write_concern=WriteConcern(w=1))
        self._waiting: list[Logged] = []
        self._writing = asyncio.Lock()
        self._log = logger(service=service)

    async def prepare(self) -> None:
        await self._inbound.create_index("received_at", expireAfterSeconds=KEPT_S)

    async def add(self, entry: Logged) -> None:
        if len(self._waiting) >= WAITING_LIMIT:
            self._log.warning("inbound log is behind", missed=entry.event.id)
            return
        self._waiting.append(entry)
        if self._writing.locked():
            return
        async with self._writing:
            while self._waiting:
                await asyncio.sleep(GATHER_S)
                batch, self._waiting = self._waiting, []
                await self._write(batch)

    async def find(self, team: str, source: str, event_id: str) -> Logged | None:
        found = await self._inbound.find_one({"_id": derived_id("inbound", team, source, event_id)})
        if found is None:
            return None
        event = InboundEvent(team, source, event_id, found["type"], {}, found["received_at"])
        return Logged(event, [Woken(each["trigger_id"], each["member_id"]) for each in found["woken"]])

    async def _write(self, batch: list[Logged]) -> None:
        try:
            await self._inbound.bulk_write([_upsert(entry) for entry in batch], ordered=False)
        except PyMongoError as error:
            self._log.warning("inbound log failed", events=len(batch), reason=type(error).__name__)


def _upsert(entry: Logged) -> UpdateOne:
    """A repeat of an event adds the triggers it made for robots that had not been there the first time."""
    event = entry.event
    first: dict[str, Any] = {
        "team": event.team,
        "source": event.source,
        "event_id": event.id,
        "type": event.type,
        "received_at": event.received_at,
    }
    woken = [{"trigger_id": each.trigger_id, "member_id": each.member_id} for each in entry.woken]
    return UpdateOne(
        {"_id": derived_id("inbound", event.team, event.source, event.id)},
        {"$setOnInsert": first, "$addToSet": {"woken": {"$each": woken}}},
        upsert=True,
    )


class MongoRequests:
    def __init__(self, database: Database, clock: Clock) -> None:
        self._requests, self._clock = database["idempotency"], clock

    async def prepare(self) -> None:
        await self._requests.create_index("at", expireAfterSeconds=KEPT_S)

    async def remember(self, request_id: str, digest: str) -> Earlier | None:
        try:
            await self._requests.insert_one({"_id": request_id, "digest": digest, "at": self._clock()})
        except DuplicateKeyError:
            first = await self._requests.find_one({"_id": request_id})
            return Earlier(first["digest"], first.get("answer")) if first else None  # it expired between the two
        return None

    async def note(self, request_id: str, answer: str) -> None:
        await self._requests.update_one({"_id": request_id}, {"$set": {"answer": answer}})
