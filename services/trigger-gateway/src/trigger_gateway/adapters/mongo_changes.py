"""Changes of MongoDB collections, by change streams.

By PyMongo's own asyncio client, not Motor's: a stream waits most of the time, and each would hold one of the threads
that Motor needs for the gateway's own store.
"""

import asyncio
import contextlib
import json
import math
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from bson import Timestamp, json_util
from bson.codec_options import CodecOptions, DatetimeConversion
from pymongo import AsyncMongoClient
from pymongo.asynchronous.change_stream import AsyncChangeStream
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import ConnectionFailure, OperationFailure, PyMongoError

from rota_common.clock import Clock
from rota_common.errors import Transient
from rota_common.stores.mongo import Document
from trigger_gateway.databases.change_event import DATA_LIMIT, Change
from trigger_gateway.databases.change_streams import Batch, ChangeStream, ResumePoint, StreamBroken
from trigger_gateway.sources.source import DatabaseSettings

PATIENCE_MS = 5000
WAIT_MS = 1000
ANSWER_MS = 20_000
"""A server without changes answers after `WAIT_MS`: one that is silent for so long is gone."""

GATHER_S = 0.02
BATCH_BYTES = 8 * 1024 * 1024
INVALIDATE = "invalidate"
GONE = "the collection was dropped or renamed: the changes of its documents by that are not reported"
OUTDATED = "the database's log doesn't reach back to what was read last: the changes between are lost"
HISTORY_LOST = {136, 280, 286}
"""CappedPositionLost, ChangeStreamFatalError, ChangeStreamHistoryLost."""

INVALID_TOKEN = {9, 15, 260, 40649, 50811}
"""Error codes of servers for an invalid token."""

NO_REPLICA_SET = "the database isn't a replica set: only those report their changes"
SHARDED = "isdbgrid"
MESSAGES = {
    13: "the database's user may not read this collection's changes",
    18: "the database refuses the user or the password",
    8000: "the database refuses the user or the password",
    40573: NO_REPLICA_SET,
}
READABLE: CodecOptions[Document] = CodecOptions(
    tz_aware=True,
    # A text or an instant that Python can't represent must not block the changes after it.
    unicode_decode_error_handler="replace",
    datetime_conversion=DatetimeConversion.DATETIME_AUTO,
)


class MongoChanges:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    @contextlib.asynccontextmanager
    async def follow(
        self, settings: DatabaseSettings, start: ResumePoint, *, address: str
    ) -> AsyncIterator[ChangeStream]:
        client = self._client(settings, address)
        try:
            with _translated(resuming=start.after is not None):
                stream = _Stream(await self._open(client, settings, start))
            try:
                yield stream
            finally:
                await _shielded(stream.close())
        finally:
            await _shielded(client.close())

    def _client(self, settings: DatabaseSettings, address: str) -> AsyncMongoClient[Document]:
        try:
            return AsyncMongoClient(
                address,
                tz_aware=True,
                appname="rota",
                serverSelectionTimeoutMS=PATIENCE_MS,
                connectTimeoutMS=PATIENCE_MS,
                socketTimeoutMS=ANSWER_MS,
            )
        except (PyMongoError, ValueError):  # its text may hold the address
            raise Transient(f"{settings.url} doesn't hold the address of a MongoDB") from None

    async def _open(
        self, client: AsyncMongoClient[Document], settings: DatabaseSettings, start: ResumePoint
    ) -> AsyncChangeStream[Document]:
        hello = await client.admin.command("hello")
        if "operationTime" not in hello:
            raise Transient(NO_REPLICA_SET)
        age = max(self._clock() - start.since, timedelta(0))
        collection: AsyncCollection[Document]
        collection = client[settings.database].get_collection(settings.collection, codec_options=READABLE)
        return await collection.watch(
            _pipeline(settings, None if hello.get("msg") == SHARDED else hello["localTime"] - age),
            full_document="updateLookup",
            start_after={"_data": start.after} if start.after else None,
            start_at_operation_time=None if start.after else _before(hello, age),
            max_await_time_ms=WAIT_MS,
        )


class _Stream:
    """One request is always under way; changes close together are one batch."""

    def __init__(self, stream: AsyncChangeStream[Document]) -> None:
        self._stream = stream
        self._next: asyncio.Task[Document | None] | None = None
        self._end: StreamBroken | None = None

    async def batch(self, limit: int) -> Batch:
        if self._end is not None:
            raise self._end
        changes, size = list[Change](), 0
        while len(changes) < limit and size < BATCH_BYTES:
            after = self._after()
            with _translated(resuming=True):
                raw = await self._soon(wait=not changes)
            if raw is None:
                return Batch(changes, after if changes else self._after())
            if raw["operationType"] == INVALIDATE:
                self._end = StreamBroken(GONE, raw["_id"]["_data"])
                return Batch(changes, after)
            change, read = _change(raw)
            changes.append(change)
            size += read
        return Batch(changes, self._after())

    async def close(self) -> None:
        if self._next is not None:
            self._next.cancel()
            await asyncio.gather(self._next, return_exceptions=True)
        with contextlib.suppress(PyMongoError):
            await self._stream.close()

    async def _soon(self, *, wait: bool) -> Document | None:
        """The next change; None if there is none within `WAIT_MS`, or within `GATHER_S` unless `wait`."""
        if self._next is None:
            if not self._stream.alive:
                raise Transient("the database has ended the stream of changes")
            self._next = asyncio.ensure_future(self._stream.try_next())
        done, _ = await asyncio.wait((self._next,), timeout=None if wait else GATHER_S)
        if not done:
            return None
        came, self._next = self._next, None
        return came.result()

    def _after(self) -> str | None:
        """The token behind the last change. It must be read before the next answer is awaited, which advances it."""
        token = self._stream.resume_token
        return str(token["_data"]) if token else None


async def _shielded(work: Coroutine[Any, Any, None]) -> None:
    """Run to completion even if the caller is cancelled: a half-closed client keeps its connections."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait((task,))
        raise


@contextlib.contextmanager
def _translated(*, resuming: bool) -> Iterator[None]:
    """Raise the driver's errors as ours, without the addresses and documents that they quote."""
    try:
        yield
    except OperationFailure as error:
        if error.code in HISTORY_LOST or (resuming and error.code in INVALID_TOKEN):
            raise StreamBroken(OUTDATED) from error
        name = (error.details or {}).get("codeName") or f"error {error.code}"
        raise Transient(MESSAGES.get(error.code or 0, f"the database refuses: {name}")) from error
    except ConnectionFailure as error:
        raise Transient("the database doesn't answer") from error
    except PyMongoError as error:
        raise Transient(f"the database can't be read: {type(error).__name__}") from error


def _pipeline(settings: DatabaseSettings, began: datetime | None) -> list[Document]:
    """Values larger than an event are left out by the server. `began`: no change from before that."""
    wanted: Document = {"operationType": {"$in": [*settings.operations, INVALIDATE]}}
    if began is not None:
        wanted["wallTime"] = {"$not": {"$lt": began}}  # also true of old servers, which send no such time
    large = {name: {"$gt": [{"$bsonSize": f"${name}"}, DATA_LIMIT]} for name in ("fullDocument", "updateDescription")}
    small = {name: {"$cond": [is_large, None, f"${name}"]} for name, is_large in large.items()}
    return [{"$match": wanted}, {"$set": {**small, "truncated": {"$or": list(large.values())}}}]


def _before(hello: Mapping[str, Any], age: timedelta) -> Timestamp:
    """So long ago by the database's clock, to the second before: `_pipeline` is exact."""
    now = min(hello["operationTime"].time, int(hello["localTime"].timestamp()))
    return Timestamp(max(1, now - math.ceil(age.total_seconds())), 1)


def _change(raw: Document) -> tuple[Change, int]:
    """The change, and its size as JSON."""
    at = raw.get("wallTime") or raw["clusterTime"].as_datetime()
    known = {"token": str(raw["_id"]["_data"]), "operation": str(raw["operationType"]), "at": at}
    described = raw.get("updateDescription", {})
    parts = {"key": raw.get("documentKey"), "document": raw.get("fullDocument"), "updated": None, "removed": None}
    if described is not None:
        parts |= {"updated": described.get("updatedFields", {}), "removed": described.get("removedFields", [])}
    try:
        text = json_util.dumps(parts, json_options=json_util.RELAXED_JSON_OPTIONS)
        return Change(**known, **json.loads(text), truncated=bool(raw.get("truncated"))), len(text)
    except Exception as error:  # whatever is in it, the changes after it must be read
        return Change(**known, unreadable=f"the change can't be written as JSON: {type(error).__name__}"), 0
