"""NATS and MongoDB of the tests in containers of the images of docker-compose.yml: ROTA_TEST_SERVERS=containers.

Folders of this machine hold their data, so the engine must be on it. Tests that start servers of their own, to end them
or to give them keys, have processes all the same.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import nats
import pytest
from pymongo.errors import PyMongoError
from testcontainers.core.container import DockerContainer

from rota_common.runtime.child_processes import STOP_TIMEOUT_S
from rota_common.runtime.embedded_servers import (
    SMALL_MONGOD,
    START_TIMEOUT_S,
    EmbeddedError,
    EmbeddedServer,
    free_port,
    mongo_url,
    mongod_is_primary,
    nats_answers,
)
from rota_common.testing.fixtures import Servers
from tests.containers.engine import REQUIRED, image_of, missing

LOOK_S = 0.05


class ContainerServer(EmbeddedServer):
    """A server in a container: `folder` is mounted at `data`, and its port is the same inside and outside."""

    def __init__(
        self,
        image: str,
        command: Sequence[str],
        *,
        port: int,
        folder: Path,
        data: tuple[Path, str],
        url: str,
        ready: Callable[[], Awaitable[None]],
    ) -> None:
        super().__init__(image, command, folder=folder, url=url, ready=ready)
        self._port, self._data = port, data
        self._container: DockerContainer | None = None

    @property
    def pid(self) -> int:
        container = self._running.get_wrapped_container()
        container.reload()
        return int(container.attrs["State"]["Pid"])

    async def start(self) -> None:
        host, inside = self._data
        host.mkdir(parents=True, exist_ok=True)
        container = (
            DockerContainer(self.name)
            .with_command(self._command)
            .with_volume_mapping(host, inside, "rw")
            .with_kwargs(user=f"{os.getuid()}:{os.getgid()}")
        )
        # Testcontainers would publish it to the whole network; what the engine takes is an address with a port.
        container.ports[f"{self._port}/tcp"] = ("127.0.0.1", self._port)  # type: ignore[assignment]
        await asyncio.to_thread(container.start)
        self._container = container
        deadline = time.monotonic() + START_TIMEOUT_S
        while True:
            with contextlib.suppress(OSError, nats.errors.Error, PyMongoError, TimeoutError):
                await self._ready()
                return
            if time.monotonic() > deadline:
                said = b"".join(container.get_logs()).decode(errors="replace")
                await self.kill()
                raise EmbeddedError(f"{self.name} didn't answer within {START_TIMEOUT_S:g} s: {said[-1500:]}")
            await asyncio.sleep(LOOK_S)

    async def stop(self) -> None:
        await asyncio.to_thread(self._running.get_wrapped_container().stop, timeout=int(STOP_TIMEOUT_S))
        await self.kill()

    async def kill(self) -> None:
        container, self._container = self._container, None
        if container is not None:
            await asyncio.to_thread(container.stop)

    def pause(self) -> None:
        self._running.get_wrapped_container().pause()

    def resume(self) -> None:
        self._running.get_wrapped_container().unpause()

    @property
    def _running(self) -> DockerContainer:
        if self._container is None:
            raise EmbeddedError(f"{self.name} is not running")
        return self._container


class Containers:
    """The servers of the fixtures."""

    def nats(self, folder: Path) -> EmbeddedServer:
        port = free_port()
        return ContainerServer(
            image_of("nats"),
            ["--addr", "0.0.0.0", "--port", str(port), "--jetstream", "--store_dir", "/data/jetstream"],
            port=port,
            folder=folder,
            data=(folder, "/data"),
            url=f"nats://127.0.0.1:{port}",
            ready=lambda: nats_answers(port),
        )

    def mongo(self, folder: Path, options: Sequence[str]) -> EmbeddedServer:
        port = free_port()
        return ContainerServer(
            image_of("mongo"),
            ["mongod", "--port", str(port), "--bind_ip_all", *SMALL_MONGOD, *options],
            port=port,
            folder=folder,
            data=(folder / "data", "/data/db"),
            url=mongo_url(port),
            ready=lambda: mongod_is_primary(port),
        )


@pytest.fixture(scope="session")
def server_maker() -> Servers:
    if reason := missing([image_of("nats"), image_of("mongo")]):
        (pytest.fail if os.environ.get(REQUIRED) == "1" else pytest.skip)(reason)
    return Containers()
