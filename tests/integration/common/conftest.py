"""One nats-server for each module, with all streams; what a test leaves in them is purged after it."""

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from rota_common import topology
from rota_common.bus.connection import Bus
from rota_common.runtime.embedded_servers import EmbeddedServer, nats_server
from rota_common.testing.fixtures import Run


@pytest.fixture(scope="module")
def module_nats(tmp_path_factory: pytest.TempPathFactory, beside: Run) -> Iterator[EmbeddedServer]:
    server = nats_server(tmp_path_factory.mktemp("nats"))
    beside(server.start())
    beside(topology.apply_to(server.url))
    try:
        yield server
    finally:
        beside(server.kill())


@pytest_asyncio.fixture
async def bus(module_nats: EmbeddedServer) -> AsyncIterator[Bus]:
    """A connection as no service in particular."""
    bus = Bus(module_nats.url, name="test")
    await bus.connect()
    yield bus
    for stream in await bus.jetstream.streams_info():
        await bus.jetstream.purge_stream(stream.config.name or "")
    await bus.stop()
