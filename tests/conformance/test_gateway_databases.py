"""Databases in memory report their changes as MongoDB does."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

import pytest
from pymongo.errors import AutoReconnect, InvalidName, OperationFailure

from rota_common.clock import now
from rota_common.errors import Transient
from rota_common.stores.mongo import Mongo
from rota_common.testing.patience import PATIENCE_S
from trigger_gateway.adapters.in_memory_databases import InMemoryDatabases
from trigger_gateway.adapters.mongo_changes import HISTORY_LOST, MongoChanges, _translated
from trigger_gateway.databases.change_event import Change
from trigger_gateway.databases.change_streams import Databases, ResumePoint, StreamBroken
from trigger_gateway.sources.source import DatabaseSettings


@dataclass
class Collection:
    """Databases, and how a change comes about in the collection `leads`."""

    databases: Databases
    settings: DatabaseSettings
    insert: Callable[[int], Awaitable[None]]
    delete: Callable[[int], Awaitable[None]]
    address: str = ""

    async def read(self, place: ResumePoint, at_least: int) -> tuple[list[tuple[str, Any]], str]:
        """So many changes, and the place behind them."""
        found: list[tuple[str, Any]] = []
        async with (
            asyncio.timeout(PATIENCE_S),
            self.databases.follow(self.settings, place, address=self.address) as stream,
        ):
            while len(found) < at_least:
                batch = await stream.batch(at_least - len(found))
                found += [(change.operation, change.key) for change in batch.changes]
        assert batch.after is not None
        return found, batch.after


@pytest.fixture(params=["memory", "mongo"])
async def collection(request: pytest.FixtureRequest, mongo_url: str, mongo_prefix: str) -> AsyncIterator[Collection]:
    given = {"url": "$ENV.CRM_URL", "database": f"{mongo_prefix}_crm", "collection": "leads"}
    settings = DatabaseSettings.model_validate(given)
    if request.param == "memory":
        made, places = InMemoryDatabases(), count(1)

        async def change(operation: str, number: int) -> None:
            await made.append(Change(str(next(places)), operation, now(), {"_id": number}))

        yield Collection(made, settings, partial(change, "insert"), partial(change, "delete"))
        return
    server = Mongo(mongo_url, settings.database)
    leads = server.database["leads"]

    async def insert(number: int) -> None:
        await leads.insert_one({"_id": number})

    async def delete(number: int) -> None:
        await leads.delete_one({"_id": number})

    yield Collection(MongoChanges(now), settings, insert, delete, mongo_url)
    await server.client.drop_database(settings.database)
    await server.close()


async def test_changes_are_read_since_an_instant_and_after_a_token(collection: Collection) -> None:
    await collection.insert(1)
    await asyncio.sleep(1)  # a beginning is as exact as the database answers quickly
    since = now()
    for number in (2, 3, 4, 5):
        await collection.insert(number)
    await collection.delete(2)
    first, after = await collection.read(ResumePoint(since), 3)
    assert first == [("insert", {"_id": number}) for number in (2, 3, 4)]
    again, _ = await collection.read(ResumePoint(since), 3)
    assert again == first
    rest, _ = await collection.read(ResumePoint(since, after), 2)
    assert rest == [("insert", {"_id": 5}), ("delete", {"_id": 2})]


async def test_only_the_operations_of_the_source_are_read(collection: Collection) -> None:
    since = now()
    await collection.insert(1)
    await collection.delete(1)
    collection.settings = collection.settings.model_copy(update={"operations": ["delete"]})
    found, _ = await collection.read(ResumePoint(since), 1)
    assert found == [("delete", {"_id": 1})]


@pytest.mark.parametrize("code", sorted(HISTORY_LOST))
def test_a_log_that_has_ended_is_a_loss(code: int) -> None:
    with pytest.raises(StreamBroken, match="doesn't reach back"), _translated(resuming=False):
        raise OperationFailure("mongodb://rota:hunter2@host", code)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OperationFailure("hunter2", 13), "may not read this collection's changes"),
        (OperationFailure("hunter2", 11600, {"codeName": "InterruptedAtShutdown"}), "InterruptedAtShutdown"),
        (OperationFailure("hunter2", 9), "the database refuses: error 9"),
        (AutoReconnect("host:27017: hunter2"), "the database doesn't answer"),
        (InvalidName("hunter2"), "can't be read: InvalidName"),
    ],
)
def test_what_a_database_refuses_is_said_without_what_it_quotes(error: Exception, words: str) -> None:
    with pytest.raises(Transient) as said, _translated(resuming=False):
        raise error
    assert words in str(said.value)
    assert "hunter2" not in str(said.value)
