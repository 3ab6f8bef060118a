"""One server with keys and two teams for each module; `own_bus` is one for a test alone."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio

from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.testing.fixtures import Run
from tests.integration.isolation.harness import IsolatedNats, isolated_nats, sharing


def _served(path: Path, run: Run, *, accounts_alone: bool) -> Iterator[EmbeddedServer]:
    ends, made = AsyncExitStack(), list[IsolatedNats]()

    async def start() -> None:
        made.append(await ends.enter_async_context(isolated_nats(path, accounts_alone=accounts_alone)))

    try:
        run(start())
        yield made[0].server
    finally:
        run(ends.aclose())


@pytest.fixture(scope="module")
def isolated_server(tmp_path_factory: pytest.TempPathFactory, beside: Run) -> Iterator[EmbeddedServer]:
    yield from _served(tmp_path_factory.mktemp("isolated"), beside, accounts_alone=False)


@pytest.fixture(scope="module")
def unrestricted_server(tmp_path_factory: pytest.TempPathFactory, beside: Run) -> Iterator[EmbeddedServer]:
    """The teams' users have all permissions in their own accounts."""
    yield from _served(tmp_path_factory.mktemp("unrestricted"), beside, accounts_alone=True)


@pytest_asyncio.fixture
async def bus(isolated_server: EmbeddedServer) -> AsyncIterator[IsolatedNats]:
    async with sharing(isolated_server) as made:
        yield made


@pytest_asyncio.fixture
async def own_bus(tmp_path: Path) -> AsyncIterator[IsolatedNats]:
    async with isolated_nats(tmp_path / "nats") as made:
        yield made


@pytest_asyncio.fixture(params=["isolated_server", "unrestricted_server"])
async def fenced(request: pytest.FixtureRequest) -> AsyncIterator[IsolatedNats]:
    """With and without the permissions of the teams' users: each of the two fences holds by itself."""
    async with sharing(request.getfixturevalue(request.param)) as made:
        yield made
