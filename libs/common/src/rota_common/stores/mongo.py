"""The connection to MongoDB. Writes have the concern `majority` unless an adapter sets another."""

import asyncio
import contextlib
from collections.abc import Coroutine
from datetime import datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import Any, Literal, Self, TypeVar

from motor.motor_asyncio import AsyncIOMotorClient, AsyncIOMotorCollection, AsyncIOMotorDatabase
from pymongo.errors import ConnectionFailure, ExecutionTimeout, OperationFailure, WTimeoutError
from pymongo.uri_parser import parse_uri

from rota_common.runtime.settings import ServiceSettings

T = TypeVar("T")
Document = dict[str, Any]
Database = AsyncIOMotorDatabase[Document]
Collection = AsyncIOMotorCollection[Document]

OUTAGES: tuple[type[Exception], ...] = (ConnectionFailure, ExecutionTimeout, WTimeoutError)
"""The driver's errors when the server can't be reached: they count as transient."""

DEFAULTS = {"w": "majority", "serverSelectionTimeoutMS": 2000, "connectTimeoutMS": 2000}
"""The driver's options, unless the URL sets them."""

USERS_IN = "admin"
"""The database that holds the users."""

END_S = 5.0
INDEX_OPTIONS_CONFLICT = 85

NOW = "$$NOW"
"""The database's own instant, in expressions: leases go by it, because the clocks of replicas differ."""


def after(delay: timedelta) -> Document:
    """The expression of an instant that is `delay` from the database's now."""
    return {"$add": [NOW, round(delay.total_seconds() * 1000)]}


def behind(field: str, at: datetime, item_id: str, direction: Literal["$lt", "$gt"] = "$lt") -> Document:
    """The condition of documents behind this one in a list by `field`, and by id where that is equal; `$lt` where the
    newest are first."""
    return {"$or": [{field: {direction: at}}, {field: at, "_id": {direction: item_id}}]}


class DatabaseClock:
    """The database's clock as this process has last seen it, for writes that can't compute with `$$NOW`. It is behind
    by the time that the answer took, never ahead, and no change of the machine's own clock moves it."""

    def __init__(self) -> None:
        self._seen: tuple[datetime, float] | None = None

    def seen(self, instant: datetime) -> None:
        self._seen = instant, monotonic()

    def __call__(self) -> datetime:
        if self._seen is None:
            raise RuntimeError("expected the database's clock to be read first: call seen()")
        instant, at = self._seen
        return instant + timedelta(seconds=monotonic() - at)


async def remove_after(database: Database, collection: str, instant: str, keep: timedelta) -> None:
    """Have MongoDB remove documents `keep` after this instant of theirs; those without it stay. May be changed."""
    seconds = int(keep.total_seconds())
    try:
        await database[collection].create_index(instant, name="kept", expireAfterSeconds=seconds)
    except OperationFailure as error:
        if error.code != INDEX_OPTIONS_CONFLICT:
            raise
        await database.command("collMod", collection, index={"name": "kept", "expireAfterSeconds": seconds})


class Mongo:
    """A connection and the database that a service owns: `<prefix>_<service>`.

    `password_file` holds the password of the user that is named as the database; empty: the URL says who connects.
    """

    def __init__(self, url: str, database: str, *, password_file: str = "") -> None:
        given = {name.lower() for name in parse_uri(url, validate=False)["options"]}
        options: dict[str, Any] = {name: value for name, value in DEFAULTS.items() if name.lower() not in given}
        if password_file:
            options |= {"username": database, "password": read_password(Path(password_file)), "authSource": USERS_IN}
        self._client: AsyncIOMotorClient[Document] = AsyncIOMotorClient(url, tz_aware=True, **options)
        self.database: Database = self._client[database]
        self._under_way = set[asyncio.Task[Any]]()

    @classmethod
    def of(cls, settings: ServiceSettings, owner: str) -> Self:
        """The connection of a service to its own database, by its settings."""
        database = f"{settings.mongo_prefix}_{owner}"
        return cls(settings.mongo_url, database, password_file=settings.mongo_password_file)

    @property
    def client(self) -> AsyncIOMotorClient[Document]:
        return self._client

    async def ping(self) -> None:
        """Raises one of OUTAGES if the server is down."""
        await self._client.admin.command("ping")

    async def shielded(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` to completion even if the caller is cancelled, and return its result; `close` waits for it.

        For transactions: the driver's threads continue after a cancellation, and send the rest of a bulk outside of its
        transaction once the client is closed.
        """
        task = asyncio.ensure_future(work)
        self._under_way.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._under_way.discard(task)
        if not task.cancelled():
            task.exception()  # retrieved, so that asyncio logs nothing if the caller was cancelled

    async def close(self) -> None:
        """Wait for shielded work, five seconds at most, and close the connection."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_S):
                while self._under_way:
                    await asyncio.wait(self._under_way)
        self._client.close()


def read_password(file: Path) -> str:
    """The file's text without white space around it. Raises ValueError if there is none."""
    try:
        password = file.read_text().strip()
    except OSError as error:
        raise ValueError(f"expected MongoDB's password in {file}: {error}") from error
    if not password:
        raise ValueError(f"expected MongoDB's password in {file}, which is empty")
    return password
