"""A connection to the module's nats-server; what a test leaves in the streams is purged after it."""

from collections.abc import AsyncIterator

import pytest_asyncio

from rota_common.bus.connection import Bus
from rota_common.runtime.embedded_servers import EmbeddedServer


@pytest_asyncio.fixture
async def bus(shared_nats: EmbeddedServer) -> AsyncIterator[Bus]:
    """A connection as no service in particular."""
    bus = Bus(shared_nats.url, name="test")
    await bus.connect()
    yield bus
    for stream in await bus.jetstream.streams_info():
        await bus.jetstream.purge_stream(stream.config.name or "")
    await bus.stop()
