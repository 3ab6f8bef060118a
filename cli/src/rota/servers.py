"""NATS and MongoDB for the whole system: those that are configured, else child processes of our own."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from rota_common import topology
from rota_common.embedded import EmbeddedServer, mongod, nats_server

Progress = Callable[[str, str], None]
"""Told the name of a part and what became of it."""


@dataclass(frozen=True)
class Servers:
    nats_url: str
    mongo_url: str


async def start_servers(
    ends: AsyncExitStack, folder: Path, *, nats_url: str | None, mongo_url: str | None, progress: Progress
) -> Servers:
    """Both servers, with all streams and consumers declared. `ends` stops what was started here."""
    nats_at = await _given_or_started(ends, "nats", nats_url, lambda: nats_server(folder / "nats"), progress)
    mongo_at = await _given_or_started(ends, "mongodb", mongo_url, lambda: mongod(folder / "mongo"), progress)
    declared = await topology.apply_to(nats_at)
    progress("streams", f"{len(declared)} streams, consumers and buckets are there")
    return Servers(nats_at, mongo_at)


async def _given_or_started(
    ends: AsyncExitStack, name: str, url: str | None, make: Callable[[], EmbeddedServer], progress: Progress
) -> str:
    if url:
        progress(name, f"using {without_password(url)}")
        return url
    server = make()
    # Registered before the start, so that a start that is broken off leaves no process either.
    ends.push_async_callback(server.stop)
    await server.start()
    progress(name, f"started, {without_password(server.url)}")
    return server.url


def without_password(url: str) -> str:
    """The URL for people to read, without the user and password before its host."""
    scheme, _, rest = url.partition("://")
    host, question, query = rest.rpartition("@")[2].partition("?")
    return f"{scheme}://{host}{question}{query}"
