"""The store of rate limits: in memory, and in MongoDB shared by replicas."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from rota_common.stores.mongo import Mongo
from trigger_gateway.adapters.in_memory_inbound_log import InMemoryRateStore
from trigger_gateway.adapters.mongo_rates import MongoRateStore
from trigger_gateway.webhooks.ports import RateStore, Reserved
from trigger_gateway.webhooks.rate_limits import COUNTED_STEPS

STEP = 350_000_000


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
    requests = (replicas[number % 4].reserve("leads", STEP, 7, 100) for number in range(100))
    granted = [each.granted for each in await asyncio.gather(*requests)]
    assert sum(granted) == 100
    assert all(0 <= each <= 7 for each in granted)
    assert await replicas[0].reserve("leads", STEP, 1, 100) == Reserved(0, STEP + COUNTED_STEPS)


async def test_each_key_has_a_limit_of_its_own(replicas: list[RateStore]) -> None:  # TG-28
    store = replicas[0]
    assert (await store.reserve("leads", STEP, 10, 10)).granted == 10
    assert (await store.reserve("leads", STEP, 10, 10)).granted == 0
    assert (await store.reserve("deals", STEP, 10, 10)).granted == 10


async def test_the_minute_slides(replicas: list[RateStore]) -> None:  # DEC-43
    one, other = replicas[:2]
    first, second = STEP, STEP + COUNTED_STEPS - 1
    assert await one.reserve("leads", first, 4, 10) == Reserved(4, first + COUNTED_STEPS)
    assert await other.reserve("leads", second, 8, 10) == Reserved(6, first + COUNTED_STEPS)
    assert await one.reserve("leads", second, 1, 10) == Reserved(0, first + COUNTED_STEPS)
    later = first + COUNTED_STEPS
    assert await other.reserve("leads", later, 5, 10) == Reserved(4, second + COUNTED_STEPS)
    assert await one.reserve("leads", later + COUNTED_STEPS, 20, 10) == Reserved(10, later + 2 * COUNTED_STEPS)
