"""Fixtures: a nats-server per test (about 20 ms), a mongod per session with a database prefix per test."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from threading import Thread
from uuid import uuid4

import pytest
import pytest_asyncio

from rota_common import topology
from rota_common.embedded import EmbeddedServer, mongod, nats_server
from rota_common.middlewares import AnyHandler, Middleware, wrap
from rota_common.testing import chaos


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "every service of every test handles each message and each question twice, as redeliveries would make it"
    parser.addoption("--twice", action="store_true", help=text)


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--twice"):
        pytest.MonkeyPatch().setattr("rota_common.service.wrap", _wrap_twice)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--twice"):
        counts = pytest.mark.skip(
            reason="counts what is sent or answered; doubling doubles that, and a stream keeps one"
        )
        for item in items:
            if item.get_closest_marker("once"):
                item.add_marker(counts)


def _wrap_twice(handler: AnyHandler, middlewares: Sequence[Middleware]) -> AnyHandler:
    """What stands in for a service in a test counts what it hears, so it hears it once."""
    stand_in = handler.__module__.startswith("tests.")
    return wrap(handler if stand_in else chaos.twice(handler), middlewares)


@pytest.fixture(scope="session")
def mongo_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """A mongod for the whole session; a test that ends it must start its own.

    It is looked after by a loop in a thread of its own, so that any fixture may ask for it, async ones too.
    """
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, name="mongod's loop", daemon=True)
    thread.start()
    server = mongod(tmp_path_factory.mktemp("mongo"))
    try:
        asyncio.run_coroutine_threadsafe(server.start(), loop).result()
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.kill(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


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
