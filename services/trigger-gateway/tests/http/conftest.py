"""A gateway with the team `acme`, which has one source (`leads`) and one robot (`leader`) that subscribes to it."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
import structlog

from .harness import Gateway, gateway
from .scheduler import Scheduler
from .stand_ins import Executor


@pytest.fixture(autouse=True)
def plain_logs() -> None:
    """Lines for people, whatever a test of the whole process has set up before."""
    structlog.reset_defaults()


@pytest_asyncio.fixture
async def empty() -> AsyncIterator[Gateway]:
    """The team has nothing yet."""
    async with gateway() as made:
        made.key = await made.make_team()
        yield made


@pytest_asyncio.fixture
async def acme(empty: Gateway) -> Gateway:
    await empty.make_source()
    await empty.make_robot()
    return empty


@pytest_asyncio.fixture
async def scheduler(empty: Gateway) -> AsyncIterator[Scheduler]:
    async with Scheduler(empty.bus).running() as running:
        yield running


@pytest_asyncio.fixture
async def executor(empty: Gateway) -> AsyncIterator[Executor]:
    async with Executor().running(empty.bus) as running:
        yield running
