"""A gateway with the team `acme`, which has one source (`leads`) and one robot (`leader`) that subscribes to it."""

from collections.abc import AsyncIterator

import pytest_asyncio

from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.testing.crash import crash
from tests.integration.gateway.fixtures import Crm
from tests.integration.gateway.harness import Gateway, Scheduler, gateway, settings
from tests.integration.gateway.stand_ins import Executor


@pytest_asyncio.fixture
async def empty(nats: EmbeddedServer, mongo_url: str, mongo_prefix: str) -> AsyncIterator[Gateway]:
    """The team has nothing yet."""
    async with gateway(settings(nats.url, mongo_url, mongo_prefix)) as made:
        made.key = await made.make_team()
        yield made
        await crash(made.app.service)


@pytest_asyncio.fixture
async def acme(empty: Gateway) -> Gateway:
    await empty.make_source()
    await empty.make_robot()
    return empty


@pytest_asyncio.fixture
async def scheduler(nats: EmbeddedServer) -> AsyncIterator[Scheduler]:
    async with Scheduler(nats.url).running() as running:
        yield running


@pytest_asyncio.fixture
async def executor(nats: EmbeddedServer) -> AsyncIterator[Executor]:
    async with Executor().running(nats.url) as running:
        yield running


@pytest_asyncio.fixture
async def crm(mongo_url: str, mongo_prefix: str) -> AsyncIterator[Crm]:
    made = Crm(mongo_url, mongo_prefix)
    yield made
    await made.close()
