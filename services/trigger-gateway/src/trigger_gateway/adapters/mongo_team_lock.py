"""Writes of one team, one after the other, over all replicas: what is counted before a write still holds after it."""

import contextlib
from collections.abc import Awaitable, Callable
from typing import TypeVar

from motor.motor_asyncio import AsyncIOMotorClientSession
from pymongo.errors import DuplicateKeyError

from rota_common.stores.mongo import Database

T = TypeVar("T")
Work = Callable[[AsyncIOMotorClientSession], Awaitable[T]]


class MongoTeamLock:
    """A document per team and `what`, which each such transaction writes: of two at once, one is tried again."""

    def __init__(self, database: Database, what: str) -> None:
        self._locks, self._what = database["locks"], what

    async def transaction(self, team: str, work: Work[T]) -> T:
        """Run `work` in a transaction, with the team's lock. What it raises ends the transaction without an effect."""
        lock = {"_id": f"{team}/{self._what}"}
        # Outside: two upserts of the same document, by two replicas, can't be tried again inside.
        with contextlib.suppress(DuplicateKeyError):
            await self._locks.update_one(lock, {"$setOnInsert": {"writes": 0}}, upsert=True)

        async def attempt(session: AsyncIOMotorClientSession) -> T:
            await self._locks.update_one(lock, {"$inc": {"writes": 1}}, session=session)
            return await work(session)

        async with await self._locks.database.client.start_session() as session:
            done: T = await session.with_transaction(attempt)
        return done
