"""Batched look-ups of documents by their ids: one query for all requests that arrive while another query runs."""

import asyncio
from typing import Any

from motor.motor_asyncio import AsyncIOMotorCollection

from rota_common.errors import Transient
from rota_common.stores.mongo import OUTAGES, Document

PATIENCE_S = 3
BUSY, PAUSE_S = 4, 0.01
"""After so many in one query, the next one waits so long for more; a single request never waits."""


class BatchedLookup:
    def __init__(self, collection: AsyncIOMotorCollection[Document]) -> None:
        self._collection = collection
        self._wanted: list[tuple[str, asyncio.Future[Document | None]]] = []
        self._reading: asyncio.Task[None] | None = None

    async def find(self, key: str) -> Document | None:
        """Raise Transient when the database doesn't answer within `PATIENCE_S`."""
        found: asyncio.Future[Document | None] = asyncio.get_running_loop().create_future()
        self._wanted.append((key, found))
        if self._reading is None:
            self._reading = asyncio.create_task(self._read_all())
        return await found

    async def _read_all(self) -> None:
        while self._wanted:
            wanted, self._wanted = self._wanted, []
            result = await self._outcome([key for key, _ in wanted])
            for key, future in wanted:
                if future.done():  # its caller was cancelled
                    continue
                if isinstance(result, Exception):
                    future.set_exception(result)
                else:
                    future.set_result(result.get(key))
            if len(wanted) >= BUSY:
                await asyncio.sleep(PAUSE_S)
        self._reading = None

    async def _outcome(self, keys: list[str]) -> dict[Any, Document] | Exception:
        """Never raises: every failure is a result, for those that wait."""
        collection = self._collection
        # A command, because a cursor for it would take a fifth of the time more.
        query = {
            "find": collection.name,
            "filter": {"_id": {"$in": keys}},
            "batchSize": len(keys),
            "singleBatch": True,
        }
        try:
            async with asyncio.timeout(PATIENCE_S):
                answer = await collection.database.command(query, codec_options=collection.codec_options)
            return {each["_id"]: each for each in answer["cursor"]["firstBatch"]}
        except TimeoutError as error:
            return Transient(f"MongoDB: {type(error).__name__}")
        except OUTAGES as error:
            return Transient(f"MongoDB: {type(error).__name__}")
        except Exception as error:
            return error
