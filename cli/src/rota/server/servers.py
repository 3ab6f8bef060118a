"""NATS and MongoDB for the whole system: those that are configured, else child processes of our own."""

import contextlib
import fcntl
import socket
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import nats.errors

from rota.errors import CliError
from rota_common import topology
from rota_common.nats_admin.config import Folder
from rota_common.nats_admin.permissions import TOPOLOGY
from rota_common.runtime.embedded_servers import EmbeddedError, EmbeddedServer, isolated_nats_server, mongod

Progress = Callable[[str, str], None]
"""Told the name of a part and what became of it."""


@dataclass(frozen=True)
class Servers:
    """`nats` has everybody's keys, where NATS is our own and asks for them."""

    nats_url: str
    mongo_url: str
    nats: Folder | None


async def start_servers(
    ends: AsyncExitStack,
    folder: Path,
    *,
    nats_url: str | None,
    nats_port: int | None,
    mongo_url: str | None,
    progress: Progress,
) -> Servers:
    """Both servers, with all streams and consumers declared. `ends` stops what was started here.

    CliError when one of them doesn't start or answer.
    """

    nats_folder = None if nats_url else Folder(folder / "nats")

    def our_nats() -> EmbeddedServer:
        return isolated_nats_server(folder / "nats", port=nats_port)

    def our_mongod() -> EmbeddedServer:
        return mongod(folder / "mongo")

    nats_at = await _given_or_started(ends, "nats", nats_url, our_nats, progress)
    mongo_at = await _given_or_started(ends, "mongodb", mongo_url, our_mongod, progress)
    try:
        declared = await topology.apply_to(nats_at, nkey_file=key_of(TOPOLOGY, nats_folder))
    except (nats.errors.Error, OSError) as error:
        what = f"expected a NATS with JetStream at {without_password(nats_at)}: {error!r}"
        raise CliError(what, hint="start it with -js, correct --nats-url, or leave that out") from error
    progress("streams", f"{len(declared)} streams, consumers and buckets are there")
    return Servers(nats_at, mongo_at, nats_folder)


def key_of(user: str, folder: Folder | None) -> str:
    """The file with a user's seed; nothing where NATS asks for none."""
    return str(folder.key(user)) if folder else ""


async def _given_or_started(
    ends: AsyncExitStack, name: str, url: str | None, make: Callable[[], EmbeddedServer], progress: Progress
) -> str:
    if url:
        progress(name, f"using {without_password(url)}")
        return url
    try:
        server = make()
    except EmbeddedError as error:
        raise CliError(str(error), hint="`rota doctor` looks for the programs") from error
    # Registered before the start, so that a start that is broken off leaves no process either.
    ends.push_async_callback(server.stop)
    try:
        await server.start()
    except EmbeddedError as error:
        raise CliError(str(error), hint="the log beside its data tells more; `rota doctor` looks around") from error
    progress(name, f"started, {without_password(server.url)}")
    return server.url


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Only one Rota may use a folder; CliError for the second one. The lock goes with the process, however it ends."""
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            hint = "stop the other one, or choose another folder with --data"
            raise CliError(f"another Rota uses the folder {folder}", hint=hint) from error
        yield


def free_or_none(port: int) -> int | None:
    """The port if nothing on loopback has it, or None."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return None
    return port


def without_password(url: str) -> str:
    """The URL for people to read, without the user and password before its host."""
    scheme, _, rest = url.partition("://")
    host, question, query = rest.rpartition("@")[2].partition("?")
    return f"{scheme}://{host}{question}{query}"
