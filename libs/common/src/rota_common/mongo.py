"""The one place that connects to MongoDB. Everything is written with majority unless an adapter says otherwise."""

from typing import Any

from motor.motor_asyncio import AsyncIOMotorClient, AsyncIOMotorDatabase
from pymongo.errors import ConnectionFailure, ExecutionTimeout, WTimeoutError

Document = dict[str, Any]
Database = AsyncIOMotorDatabase[Document]

OUTAGES: tuple[type[Exception], ...] = (ConnectionFailure, ExecutionTimeout, WTimeoutError)
"""What the driver raises when the server can't be reached: transient for everyone."""

SELECTION_MS = 2000


class Mongo:
    """A connection and the database that a service owns: `<prefix>_<service>`."""

    def __init__(self, url: str, database: str) -> None:
        self._client: AsyncIOMotorClient[Document] = AsyncIOMotorClient(
            url, tz_aware=True, w="majority", serverSelectionTimeoutMS=SELECTION_MS, connectTimeoutMS=SELECTION_MS
        )
        self.database: Database = self._client[database]

    @property
    def client(self) -> AsyncIOMotorClient[Document]:
        return self._client

    async def ping(self) -> None:
        """Raise one of OUTAGES when the server isn't there."""
        await self._client.admin.command("ping")

    async def close(self) -> None:
        self._client.close()
