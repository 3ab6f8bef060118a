"""Looks documents up by their ids for many requests at once: one question for all who ask while another is out."""

import asyncio
from typing import Any

from motor.motor_asyncio import AsyncIOMotorCollection

from rota_common.errors import Transient
from rota_common.mongo import OUTAGES, Document

PATIENCE_S = 3
PAUSE_S = 0.005
"""Between two questions at least: under load each answers more requests, and alone nobody waits for it."""


class Lookup:
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
            pause = asyncio.create_task(asyncio.sleep(PAUSE_S))
            result = await self._outcome({key for key, _ in wanted})
            for key, future in wanted:
                if future.done():  # who asked has given up
                    continue
                if isinstance(result, Exception):
                    future.set_exception(result)
                else:
                    future.set_result(result.get(key))
            await pause
        self._reading = None

    async def _outcome(self, keys: set[str]) -> dict[Any, Document] | Exception:
        """Never raises: whatever went wrong, those who wait must hear of it."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                return {each["_id"]: each async for each in self._collection.find({"_id": {"$in": list(keys)}})}
        except TimeoutError as error:
            return Transient(f"MongoDB: {type(error).__name__}")
        except OUTAGES as error:
            return Transient(f"MongoDB: {type(error).__name__}")
        except Exception as error:
            return error
