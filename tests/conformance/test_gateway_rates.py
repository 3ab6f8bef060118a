"""The store of rate limits: in memory, and in MongoDB shared by replicas."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from rota_common.stores.mongo import Mongo
from trigger_gateway.adapters.in_memory_inbound_log import InMemoryRateStore
from trigger_gateway.adapters.mongo_rates import MongoRateStore
from trigger_gateway.webhooks.ports import RateStore

MINUTE = 29_000_000


@pytest.fixture(params=["memory", "mongo"])
async def replicas(request: pytest.FixtureRequest, mongo_url: str, mongo_prefix: str) -> AsyncIterator[list[RateStore]]:
    """Four replicas' views of one store."""
    if request.param == "memory":
        yield [InMemoryRateStore()] * 4
        return
    connections = [Mongo(mongo_url, f"{mongo_prefix}_gateway") for _ in range(4)]
    stores = [MongoRateStore(connection.database) for connection in connections]
    await stores[0].prepare()
    yield list(stores)
    for connection in connections:
        await connection.close()


async def test_replicas_are_never_granted_more_than_the_limit_together(replicas: list[RateStore]) -> None:  # TG-28
    requests = (replicas[number % 4].reserve("leads", MINUTE, 7, 100) for number in range(100))
    granted = await asyncio.gather(*requests)
    assert sum(granted) == 100
    assert all(0 <= each <= 7 for each in granted)
    assert await replicas[0].reserve("leads", MINUTE, 1, 100) == 0


async def test_each_key_and_each_minute_has_a_limit_of_its_own(replicas: list[RateStore]) -> None:  # TG-28
    store = replicas[0]
    assert await store.reserve("leads", MINUTE, 10, 10) == 10
    assert await store.reserve("leads", MINUTE, 10, 10) == 0
    assert await store.reserve("deals", MINUTE, 10, 10) == 10
    assert await store.reserve("leads", MINUTE + 1, 10, 10) == 10
