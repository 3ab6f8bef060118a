"""The queue in MongoDB: one document for one trigger, whose `_id` is its execution's id.

Every batch is a transaction that begins by renewing the lease under its epoch: a replaced dispatcher can't write any
more, however late it wakes up.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from motor.motor_asyncio import AsyncIOMotorClientSession
from pymongo import ASCENDING, ReturnDocument
from pymongo.errors import BulkWriteError, DuplicateKeyError, ExecutionTimeout, OperationFailure, WTimeoutError

from rota_common.errors import Transient
from rota_common.stores.mongo import Document, Mongo
from rota_common.stores.set_aside import SetAside
from rota_contracts.messages.trigger import TriggerReceivedV1, TriggerType
from scheduler.adapters.mongo_plans import revisions
from scheduler.adapters.queue_documents import (
    due_document,
    entry_of,
    operations,
    rejected_document,
    stored_trigger_of,
)
from scheduler.domain.batch import Batch, StoredTrigger
from scheduler.domain.plan import Plan
from scheduler.domain.queue import Entry, EntryState, QueueState, Refusal
from scheduler.domain.robot_summary import Key
from scheduler.ports import LeaseLost, PlansChanged, Repeated

LEASE = "dispatcher"
KEEP_S = 14 * 86400
CONFLICT = 112
BLOCKED_MS = 500
"""A lease that can't be written for this long is locked by a transaction."""

EXPIRED = {"$lte": ["$until", "$$NOW"]}
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
DUPLICATE = 11000
REQUESTS = [str(kind) for kind in TriggerType if not kind.is_event]


@contextlib.contextmanager
def ignoring_duplicates() -> Iterator[None]:
    """Documents that exist stay as they are; the others are stored."""
    try:
        yield
    except BulkWriteError as error:
        problems = error.details["writeErrors"] + error.details["writeConcernErrors"]
        if any(each["code"] != DUPLICATE for each in problems):
            raise


def _placed(document: Document) -> tuple[Entry, EntryState]:
    return entry_of(document), EntryState(document["state"])


class MongoQueue:
    def __init__(self, mongo: Mongo, *, lease: float, reader: str | None = None) -> None:
        self._mongo = mongo
        self._queue = mongo.database["queue"]
        self._aside = SetAside(self._queue, service="scheduler", reader=reader)
        self._leases = mongo.database["leases"]
        self._cancel_requests = mongo.database["withdrawals"]
        self._plans = mongo.database["plans"]
        self._lease_ms = int(lease * 1000)
        self._session: AsyncIOMotorClientSession | None = None
        self._renewing = asyncio.Lock()  # the lease's renewal would be a conflict for a batch's transaction

    async def prepare(self) -> None:
        """Create the indexes and the lease's document; idempotent."""
        await self._aside.prepare()
        owner = [("team", ASCENDING), ("member", ASCENDING)]
        await self._queue.create_index([("live", ASCENDING), *owner], partialFilterExpression={"live": True})
        await self._queue.create_index("due_at", sparse=True)
        await self._queue.create_index("ended_at", expireAfterSeconds=KEEP_S)
        await self._queue.create_index("unpublished", sparse=True)
        with contextlib.suppress(DuplicateKeyError):
            await self._leases.insert_one({"_id": LEASE, "owner": None, "epoch": 0, "until": LONG_AGO})

    async def acquire(self, owner: str) -> int | None:
        async with self._renewing:
            return await self._acquire(owner)

    async def _acquire(self, owner: str) -> int | None:
        session = await self._own_session()
        mine = {"$eq": ["$owner", owner]}
        renewed = {
            "epoch": {"$cond": [{"$and": [mine, {"$not": [EXPIRED]}]}, "$epoch", {"$add": ["$epoch", 1]}]},
            "owner": owner,
            "until": {"$add": ["$$NOW", self._lease_ms]},
            "session": {"$literal": session.session_id},
        }
        try:
            document = await self._leases.find_one_and_update(
                {"_id": LEASE, "$expr": {"$or": [mine, EXPIRED]}},
                [{"$set": renewed}],
                return_document=ReturnDocument.AFTER,
                maxTimeMS=BLOCKED_MS,
            )
        except ExecutionTimeout:
            await self._end_dead_transaction()
            return None
        except WTimeoutError:  # written, and not on enough disks in time: to be acquired again
            return None
        return None if document is None else int(document["epoch"])

    async def _own_session(self) -> AsyncIOMotorClientSession:
        """The session of this replica's transactions; the lease holds its id, so that another replica can end it."""
        if self._session is None:
            self._session = await self._mongo.client.start_session()
        return self._session

    async def _end_dead_transaction(self) -> None:
        """A dispatcher that is killed inside its transaction leaves the lease locked for a minute and more, until the
        server aborts the transaction: a replica that finds such a lease expired ends its holder's session."""
        held = await self._leases.find_one({"_id": LEASE, "$expr": EXPIRED})
        if held is not None and held.get("session"):
            await self._mongo.client.admin.command("killSessions", [held["session"]])

    async def release(self, owner: str) -> None:
        await self._leases.update_one({"_id": LEASE, "owner": owner}, [{"$set": {"until": "$$NOW", "owner": None}}])

    async def load(self) -> QueueState:
        queue_state = QueueState()
        found = self._queue.find({"live": True, **self._aside.readable}, {"trigger": 0})
        async for entry, state in self._aside.readable_of(found, _placed):
            queue_state.put(entry, state)
        return queue_state

    async def stored(self, ids: Sequence[str]) -> dict[str, StoredTrigger]:
        return (await self.look_up(ids))[0]

    async def look_up(self, ids: Sequence[str]) -> tuple[dict[str, StoredTrigger], set[str]]:
        stored, unreadable = dict[str, StoredTrigger](), set[str]()
        async for document in self._queue.find({"_id": {"$in": list(ids)}}):
            if (trigger := await self._aside.read(document, stored_trigger_of)) is None:
                unreadable.add(document["_id"])
            else:
                stored[document["_id"]] = trigger
        return stored, unreadable

    async def add_due(self, triggers: Sequence[TriggerReceivedV1]) -> None:
        with ignoring_duplicates():
            await self._queue.insert_many([due_document(each) for each in triggers], ordered=False)

    async def undecided(self, limit: int) -> list[StoredTrigger]:
        due = {"due_at": {"$gt": LONG_AGO}, **self._aside.readable}
        found = self._queue.find(due).sort("due_at", ASCENDING).limit(limit)
        return [each async for each in self._aside.readable_of(found, stored_trigger_of)]

    async def open_counts(self, keys: Sequence[Key]) -> dict[Key, int]:
        return await self._count(
            keys, {"live": True, "state": {"$ne": EntryState.PARKED}}, {"due_at": {"$gt": LONG_AGO}}
        )

    async def _count(self, keys: Sequence[Key], *conditions: Document) -> dict[Key, int]:
        owner = {"$or": [{"team": team, "member": member} for team, member in keys]}
        held = Counter[Key]()
        for condition in conditions:
            found = self._queue.find(condition | owner, {"team": 1, "member": 1})
            held.update([(each["team"], each["member"]) async for each in found])
        return held

    async def waiting_counts(self, keys: Sequence[Key]) -> dict[Key, int]:
        queued = {"live": True, "state": EntryState.QUEUED, "parks": {"$in": [None, 0]}, "type": {"$in": REQUESTS}}
        return await self._count(keys, queued, {"due_at": {"$gt": LONG_AGO}})

    async def unpublished(self) -> list[StoredTrigger]:
        found = self._queue.find({"unpublished": True, **self._aside.readable})
        return [each async for each in self._aside.readable_of(found, stored_trigger_of)]

    async def mark_published(self, ids: Sequence[str]) -> None:
        await self._queue.update_many({"_id": {"$in": list(ids)}}, {"$unset": {"unpublished": ""}})

    async def refuse(self, trigger: TriggerReceivedV1, refusal: Refusal, at: datetime) -> StoredTrigger:
        document = rejected_document(trigger, refusal, at)
        stored = await self._queue.find_one_and_update(
            {"_id": document["_id"]}, {"$setOnInsert": document}, upsert=True, return_document=ReturnDocument.AFTER
        )
        return stored_trigger_of(stored)

    async def write(self, batch: Batch, *, owner: str, epoch: int) -> None:
        await self._mongo.shielded(self._write(batch, owner, epoch))

    async def _write(self, batch: Batch, owner: str, epoch: int) -> None:
        session = await self._own_session()
        try:
            async with self._renewing, session.start_transaction():
                await self._fence(owner, epoch, session)
                if batch.plans:
                    await self._start(batch.plans, session)
                if changes := operations(batch):
                    await self._queue.bulk_write(changes, session=session)
                if batch.answered:
                    await self._cancel_requests.delete_many({"_id": {"$in": batch.answered}}, session=session)
        except OperationFailure as error:
            if (known := _meaning(error)) is None:
                raise
            raise known from error

    async def _start(self, plans: Sequence[Plan], session: AsyncIOMotorClientSession) -> None:
        try:
            result = await self._plans.bulk_write(revisions(plans), session=session)
        except OperationFailure as error:
            if error.has_error_label("TransientTransactionError"):
                raise PlansChanged("another replica is changing one of the plans") from error
            raise
        if result.matched_count != len(plans):
            raise PlansChanged("one of the plans was changed since it was read")

    async def _fence(self, owner: str, epoch: int, session: AsyncIOMotorClientSession) -> None:
        renewed = await self._leases.update_one(
            {"_id": LEASE, "owner": owner, "epoch": epoch},
            [{"$set": {"until": {"$add": ["$$NOW", self._lease_ms]}}}],
            session=session,
        )
        if renewed.matched_count == 0:
            raise LeaseLost(f"epoch {epoch} of the dispatcher's lease is over")


def _meaning(error: OperationFailure) -> Exception | None:
    """What the failure of a batch's transaction means for the dispatcher."""
    if isinstance(error, BulkWriteError) and any(each["code"] == DUPLICATE for each in error.details["writeErrors"]):
        return Repeated(str(error))
    if error.code == CONFLICT:  # another replica is writing the lease
        return LeaseLost(str(error))
    if error.has_error_label("TransientTransactionError"):
        return Transient(f"the batch was not written: {error}")
    return None
