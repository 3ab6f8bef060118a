"""The services as processes of their own, as in production: for tests that kill them, and for benchmarks."""

import asyncio
import json
import os
import signal
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

from rota_common.runtime.embedded_servers import free_port
from rota_contracts.catalog import SERVICES

READY_S = 180.0
STOP_S = 20.0


class Processes:
    """`settings` are environment variables for all processes; `folder` gets a log for each.

    `replicas`: the number of replicas of a service, if not one; further ones are named `<service>#2` and so on.
    `settings_of`: settings of one process by its name; `run_by`: the module with arguments that runs it in its place.
    """

    def __init__(
        self,
        folder: Path,
        *,
        nats_url: str,
        mongo_url: str,
        settings: Mapping[str, str],
        replicas: Mapping[str, int] | None = None,
        settings_of: Mapping[str, Mapping[str, str]] | None = None,
        run_by: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self._folder = folder
        self._settings_of, self._run_by = settings_of or {}, run_by or {}
        names = [name for service in SERVICES for name in _names(service, (replicas or {}).get(service, 1))]
        self.ports = {name: free_port() for name in names}
        self.running: dict[str, asyncio.subprocess.Process] = {}
        self._settings = {
            "ROTA_NATS_URL": nats_url,
            "ROTA_MONGO_URL": mongo_url,
            "ROTA_HTTP_HOST": "127.0.0.1",
            "ROTA_QDRANT_PATH": str(folder / "qdrant"),
            **settings,
        }

    @property
    def gateway(self) -> str:
        return f"http://127.0.0.1:{self.ports['trigger-gateway']}"

    async def start_all(self) -> None:
        """Start all and wait until each is ready; RuntimeError names one that isn't, and why."""
        for name in self.ports:
            await self.start(name)
        await asyncio.gather(*(self.ready(name) for name in self.ports))

    async def start(self, service: str) -> None:
        own = {**self._settings_of.get(service, {}), "ROTA_HTTP_PORT": str(self.ports[service])}
        environ = os.environ | self._settings | own
        command = [sys.executable, "-m", *self._run_by.get(service, ()), service.split("#")[0].replace("-", "_")]
        with (self._folder / f"{service}.log").open("ab") as log:
            self.running[service] = await asyncio.create_subprocess_exec(*command, env=environ, stdout=log, stderr=log)

    async def ready(self, service: str) -> None:
        """Wait for `/health/ready`."""
        deadline, reason = monotonic() + READY_S, "no answer"
        while monotonic() < deadline:
            status, reason = await asyncio.to_thread(self._health, service)
            if status == 200:
                return
            if self.running[service].returncode is not None:
                reason = f"it ended with code {self.running[service].returncode}: {self.log(service)[-2000:]}"
                break
            await asyncio.sleep(0.1)
        raise RuntimeError(f"{service} isn't ready: {reason}")

    async def create(self, *bodies: tuple[str, dict[str, Any]]) -> None:
        """Post each body to its path of the gateway, in order. Raises RuntimeError for any answer but 201."""
        for path, body in bodies:
            status, text = await asyncio.to_thread(self._post, path, body)
            if status != 201:
                raise RuntimeError(f"expected 201 from {path}, got {status}: {text}")

    async def kill(self, service: str) -> None:
        """SIGKILL."""
        process = self.running.pop(service)
        process.kill()
        await process.wait()

    async def stop_all(self) -> None:
        await self.stop(*self.running)

    async def stop(self, *services: str) -> None:
        """SIGTERM, to all at once; SIGKILL to those that don't end within 20 s."""
        processes = [self.running.pop(service) for service in services]
        for process in processes:
            if process.returncode is None:
                process.send_signal(signal.SIGTERM)
        for process in processes:
            try:
                await asyncio.wait_for(process.wait(), STOP_S)
            except TimeoutError:
                process.kill()
                await process.wait()

    def log(self, service: str) -> str:
        return (self._folder / f"{service}.log").read_text(errors="replace")

    def _post(self, path: str, body: dict[str, Any]) -> tuple[int, str]:
        headers = {"authorization": f"Bearer {self._settings['ROTA_ADMIN_KEY']}", "content-type": "application/json"}
        data = json.dumps(body).encode()
        request = urllib.request.Request(self.gateway + path, data, headers)  # noqa: S310  # on loopback
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310  # on loopback
                return answer.status, ""
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def _health(self, service: str) -> tuple[int, str]:
        url = f"http://127.0.0.1:{self.ports[service]}/health/ready"
        try:
            with urllib.request.urlopen(url, timeout=3) as answer:  # loopback
                return answer.status, ""
        except urllib.error.HTTPError as error:
            return error.code, json.dumps(json.load(error))
        except OSError as error:
            return 0, repr(error)


def _names(service: str, count: int) -> list[str]:
    return [service, *(f"{service}#{number}" for number in range(2, count + 1))]
