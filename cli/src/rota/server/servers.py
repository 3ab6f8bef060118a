"""NATS and MongoDB of the whole system: the configured ones, else child processes."""

import contextlib
import fcntl
import socket
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import nats.errors

from rota.errors import CliError
from rota.urls import without_password
from rota_common import topology
from rota_common.nats_admin.config import Folder
from rota_common.nats_admin.permissions import TOPOLOGY
from rota_common.runtime.child_processes import end_orphan
from rota_common.runtime.embedded_servers import (
    EmbeddedError,
    EmbeddedServer,
    PortTaken,
    isolated_nats_server,
    mongod,
)

Progress = Callable[[str, str], None]
"""Called with the name of a part and its new state."""


@dataclass(frozen=True)
class Servers:
    """`nats` is the folder with every user's key, if the NATS server is a child process."""

    nats_url: str
    mongo_url: str
    nats: Folder | None


async def start_servers(
    ends: AsyncExitStack,
    folder: Path,
    *,
    nats_url: str,
    nats_port: int | None,
    mongo_url: str,
    progress: Progress,
) -> Servers:
    """Both servers, with all streams and consumers declared. `ends` stops the child processes. `nats_port` is taken if
    it is free.

    Servers that a killed Rota left in the folder are ended first. CliError when a server does not start or does not
    answer.
    """

    nats_folder = None if nats_url else Folder(folder / "nats")

    def own_nats() -> EmbeddedServer:
        return isolated_nats_server(folder / "nats", port=free_or_none(nats_port) if nats_port else None)

    def own_mongod() -> EmbeddedServer:
        return mongod(folder / "mongo")

    for name, data in (("nats", folder / "nats"), ("mongodb", folder / "mongo")):
        if (orphan := await end_orphan(data)) is not None:
            progress(name, f"ended process {orphan}, which a killed Rota had left")
    nats_at = await _given_or_started(ends, "nats", nats_url, own_nats, progress)
    mongo_at = await _given_or_started(ends, "mongodb", mongo_url, own_mongod, progress)
    try:
        declared = await topology.apply_to(nats_at, nkey_file=key_of(TOPOLOGY, nats_folder))
    except (nats.errors.Error, OSError) as error:
        what = f"expected a NATS server with JetStream at {without_password(nats_at)}: {error!r}"
        raise CliError(what, hint="start it with -js, correct --nats-url, or omit the option") from error
    progress("streams", f"{len(declared)} streams, consumers and buckets declared")
    return Servers(nats_at, mongo_at, nats_folder)


def key_of(user: str, folder: Folder | None) -> str:
    """The file with a user's seed; empty if the NATS server requires no keys."""
    return str(folder.key(user)) if folder else ""


async def _given_or_started(
    ends: AsyncExitStack, name: str, url: str, make: Callable[[], EmbeddedServer], progress: Progress
) -> str:
    if url:
        progress(name, f"using {without_password(url)}")
        return url
    server = await _started(ends, make)
    progress(name, f"started, {without_password(server.url)}")
    return server.url


async def _started(ends: AsyncExitStack, make: Callable[[], EmbeddedServer], *, again: bool = True) -> EmbeddedServer:
    try:
        server = make()
    except EmbeddedError as error:
        raise CliError(str(error), hint="`rota doctor` looks for the programs") from error
    # Registered before the start, so that an interrupted start leaves no process either.
    ends.push_async_callback(server.stop)
    try:
        await server.start()
    except EmbeddedError as error:
        if again and isinstance(error, PortTaken):  # since it was found to be free
            return await _started(ends, make, again=False)
        raise CliError(str(error), hint="see the log beside its data, or run `rota doctor`") from error
    return server


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Exclusive use of a data folder; CliError if another Rota has it. The lock ends with the process."""
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            hint = "stop the other one, or choose another folder with --data"
            raise CliError(f"another Rota uses the folder {folder}", hint=hint) from error
        yield


def free_or_none(port: int) -> int | None:
    """The port if it is free on loopback, else None."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return None
    return port
