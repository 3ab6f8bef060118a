"""Fixtures: a nats-server per test or per module, a mongod per session with a database prefix per test."""

import asyncio
import logging
import shutil
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from threading import Thread
from typing import Any, Protocol
from uuid import uuid4

import pytest
import pytest_asyncio
import structlog

from rota_common import topology
from rota_common.bus.middlewares import AnyHandler, Middleware, wrap
from rota_common.runtime import logs
from rota_common.runtime.embedded_servers import EmbeddedServer, mongod, nats_server
from rota_common.stores.mongo import Mongo
from rota_common.testing import chaos
from rota_common.testing.bus import keep_all

Run = Callable[[Coroutine[Any, Any, None]], None]

TTL_OFF = ("--setParameter", "ttlMonitorEnabled=false")
"""Samples are of a fixed day, which may be longer ago than anything is kept."""

FORGETFUL = ("--setParameter", "minSnapshotHistoryWindowInSeconds=0", "--syncdelay", "20")
"""The files of dropped databases are closed at the next checkpoint. Each collection and each index is one, and a
thousand tests with databases of their own would open more than a process may."""


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "every service of every test handles each message and each question twice, as redeliveries would make it"
    parser.addoption("--twice", action="store_true", help=text)


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--twice"):
        pytest.MonkeyPatch().setattr("rota_common.runtime.service.wrap", _wrap_twice)


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


@pytest.fixture
def logging_as_before() -> Iterator[None]:
    """Logging is the process's: leave it as it was found, and to others the lines that they left to be written."""
    logs.flush()
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture(scope="session")
def beside() -> Iterator[Run]:
    """Runs what is awaited in a loop in a thread of its own, so that any fixture may use it, async ones too."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, name="beside the tests", daemon=True)
    thread.start()
    try:
        yield lambda work: asyncio.run_coroutine_threadsafe(work, loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


class Servers(Protocol):
    """Where NATS and MongoDB of the tests come from: each is at a port of loopback and keeps its data in `folder`."""

    def nats(self, folder: Path) -> EmbeddedServer:
        """A nats-server without authentication, its streams in `folder`/jetstream; not started yet."""
        ...

    def mongo(self, folder: Path, options: Sequence[str]) -> EmbeddedServer:
        """A mongod that is a replica set of one; not started yet. `options` are added to its command line."""
        ...


class Embedded:
    """Child processes."""

    def nats(self, folder: Path) -> EmbeddedServer:
        return nats_server(folder)

    def mongo(self, folder: Path, options: Sequence[str]) -> EmbeddedServer:
        return mongod(folder, options=options)


@pytest.fixture(scope="session")
def server_maker() -> Servers:
    return Embedded()


@pytest.fixture(scope="session")
def mongo_server(
    tmp_path_factory: pytest.TempPathFactory, beside: Run, server_maker: Servers
) -> Iterator[EmbeddedServer]:
    """A mongod for the whole session; a test that ends it must start its own."""
    server = server_maker.mongo(tmp_path_factory.mktemp("mongo"), (*FORGETFUL, *TTL_OFF))
    try:
        beside(server.start())
        yield server
    finally:
        beside(server.kill())


@pytest.fixture
def mongo_url(request: pytest.FixtureRequest) -> str:
    """The session's mongod, which the first test that needs it starts; empty for a case on an adapter in memory."""
    callspec = getattr(request.node, "callspec", None)
    if callspec is not None and "memory" in callspec.params.values():
        return ""
    server: EmbeddedServer = request.getfixturevalue("mongo_server")
    return server.url


@pytest.fixture(scope="module")
def mongo_prefixes(beside: Run) -> Iterator[dict[str, str]]:
    """Prefix → URL of the databases of a module's tests on the session's mongod, dropped after the last test."""
    prefixes: dict[str, str] = {}
    yield prefixes
    for url in set(prefixes.values()):
        beside(_drop(url, {prefix for prefix, at in prefixes.items() if at == url}))


@pytest.fixture
def mongo_prefix(request: pytest.FixtureRequest, mongo_prefixes: dict[str, str]) -> str:
    """The prefix of databases of this test alone."""
    prefix = f"t{uuid4().hex[:12]}"
    at_session = {"mongo_url", "mongo_server"}.intersection(request.fixturenames)
    if at_session and request.getfixturevalue("mongo_url"):
        mongo_prefixes[prefix] = request.getfixturevalue("mongo_server").url
    return prefix


async def _drop(url: str, prefixes: set[str]) -> None:
    server = Mongo(url, "admin")
    try:
        for name in await server.client.list_database_names():
            if name.startswith(tuple(prefixes)):
                await server.client.drop_database(name)
    finally:
        await server.close()


@pytest.fixture(scope="session")
def nats_streams(tmp_path_factory: pytest.TempPathFactory, beside: Run, server_maker: Servers) -> Path:
    """The folder of a nats-server with all streams, consumers and buckets: copied for each server, which is several
    times faster than making them."""
    server = server_maker.nats(tmp_path_factory.mktemp("nats") / "streams")

    async def make() -> None:
        await server.start()
        await topology.apply_to(server.url)
        await keep_all(server.url)
        await server.stop()

    beside(make())
    return server.folder


def _nats_with_streams(streams: Path, folder: Path, server_maker: Servers) -> EmbeddedServer:
    """A nats-server in `folder` that begins with what `nats_streams` holds; not started yet."""
    shutil.copytree(streams / "jetstream", folder / "jetstream")
    return server_maker.nats(folder)


@pytest.fixture(scope="module")
def shared_nats(
    tmp_path_factory: pytest.TempPathFactory, nats_streams: Path, beside: Run, server_maker: Servers
) -> Iterator[EmbeddedServer]:
    """A nats-server for a module whose tests keep apart by themselves, with teams of their own for example."""
    server = _nats_with_streams(nats_streams, tmp_path_factory.mktemp("nats") / "shared", server_maker)
    try:
        beside(server.start())
        yield server
    finally:
        beside(server.kill())


@pytest_asyncio.fixture
async def nats(tmp_path: Path, nats_streams: Path, server_maker: Servers) -> AsyncIterator[EmbeddedServer]:
    """A nats-server of this test alone, with all streams and consumers."""
    server = _nats_with_streams(nats_streams, tmp_path / "nats", server_maker)
    await server.start()
    yield server
    await server.kill()
