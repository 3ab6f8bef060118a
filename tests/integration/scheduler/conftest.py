"""Fixtures of the scheduler on real servers."""

from collections.abc import AsyncIterator

import pytest

from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.stores.mongo import Mongo
from rota_common.testing.samples import a_robot
from tests.integration.scheduler.clock_harness import Stores
from tests.integration.scheduler.harness import Harness


@pytest.fixture
async def harness(nats: EmbeddedServer, mongo_url: str, mongo_prefix: str) -> AsyncIterator[Harness]:
    """A gateway, an executor, and one robot with the default quota: 2 run, 10 wait."""
    async with Harness(nats.url, mongo_url, mongo_prefix).open() as made:
        await made.keep(a_robot())
        yield made


@pytest.fixture
async def mongo(mongo_url: str, mongo_prefix: str) -> AsyncIterator[Mongo]:
    """The scheduler's database, for tests that read or change it."""
    made = Mongo(mongo_url, f"{mongo_prefix}_scheduler")
    yield made
    await made.close()


@pytest.fixture
def stores(monkeypatch: pytest.MonkeyPatch) -> Stores:
    """The stores of the replicas that the test starts."""
    return Stores(monkeypatch)
