"""Fixtures: a nats-server per test (about 20 ms), a mongod per session with a database prefix per test."""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest
import pytest_asyncio

from rota_common import topology
from rota_common.embedded import EmbeddedServer, mongod, nats_server


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def mongo_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[EmbeddedServer]:
    """A mongod for the whole session; a test that ends it must start its own."""
    server = mongod(tmp_path_factory.mktemp("mongo"))
    await server.start()
    yield server
    await server.kill()


@pytest.fixture
def mongo_url(mongo_server: EmbeddedServer) -> str:
    return mongo_server.url


@pytest.fixture
def mongo_prefix() -> str:
    """Databases of this test alone."""
    return f"t{uuid4().hex[:12]}"


@pytest_asyncio.fixture
async def nats(tmp_path: Path) -> AsyncIterator[EmbeddedServer]:
    """A nats-server of this test alone, with all streams and consumers."""
    server = nats_server(tmp_path / "nats")
    await server.start()
    await topology.apply_to(server.url)
    yield server
    await server.kill()
