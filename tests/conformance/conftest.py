"""Stores that several files of tests hold to the same promises: in memory, and in MongoDB."""

from collections.abc import AsyncIterator

import pytest

from executor.adapters.in_memory_runs import InMemoryRuns
from executor.adapters.mongo_runs import MongoRuns
from executor.ports import Runs
from rota_common.stores.mongo import Mongo


@pytest.fixture(params=["memory", "mongo"])
async def runs(request: pytest.FixtureRequest, mongo_url: str, mongo_prefix: str) -> AsyncIterator[Runs]:
    if request.param == "memory":
        yield InMemoryRuns()
        return
    mongo = Mongo(mongo_url, f"{mongo_prefix}_executor")
    store = MongoRuns(mongo.database)
    await store.prepare()
    yield store
    await mongo.client.drop_database(mongo.database.name)
    await mongo.close()
