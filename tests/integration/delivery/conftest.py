"""Fixtures of the delivery-center's tests on servers."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from uuid import uuid4

import pytest

from rota_common.runtime.embedded_servers import EmbeddedServer
from tests.integration.delivery.harness import InMemoryHarness, ServersHarness
from tests.integration.delivery.receivers import HttpReceiver, Mailbox, http_receiver, mailbox


@pytest.fixture(scope="module")
def module_prefix(mongo_server: EmbeddedServer, mongo_prefixes: dict[str, str]) -> str:
    """The prefix of a module's database."""
    prefix = f"t{uuid4().hex[:12]}"
    mongo_prefixes[prefix] = mongo_server.url
    return prefix


@pytest.fixture
async def harness(shared_nats: EmbeddedServer, mongo_url: str, module_prefix: str) -> AsyncIterator[ServersHarness]:
    """On servers that the tests of a module share."""
    async with AsyncExitStack() as stack:
        made = ServersHarness(shared_nats.url, mongo_url, module_prefix, stack)
        stack.push_async_callback(made.clear)
        for stub in (made.executor, made.gateway):
            await made.run(stub)
        yield made


@pytest.fixture
async def own_harness(nats: EmbeddedServer, mongo_url: str, mongo_prefix: str) -> AsyncIterator[ServersHarness]:
    """On a nats-server and a database of this test alone."""
    async with AsyncExitStack() as stack:
        made = ServersHarness(nats.url, mongo_url, mongo_prefix, stack)
        for stub in (made.executor, made.gateway):
            await made.run(stub)
        yield made


@pytest.fixture
async def in_memory_harness() -> AsyncIterator[InMemoryHarness]:
    async with AsyncExitStack() as stack:
        yield InMemoryHarness(stack)


@pytest.fixture
async def receiver() -> AsyncIterator[HttpReceiver]:
    async with http_receiver() as made:
        yield made


@pytest.fixture
async def box() -> AsyncIterator[Mailbox]:
    async with mailbox() as made:
        yield made
