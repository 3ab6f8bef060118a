"""The seven services of the last release and of this tree, as processes side by side, on a NATS with keys."""

import asyncio
import os
import sys
from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import httpx
import nats
from prometheus_client.parser import text_string_to_metric_families

from rota_common.bus.connection import identity
from rota_common.clock import now
from rota_common.nats_admin.config import Folder
from rota_common.nats_admin.permissions import OPERATOR, TOPOLOGY
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.testing.processes import Processes
from rota_contracts.catalog import SERVICES

Build = Literal["old", "new"]
READERS_FIRST = ("memory", "validator", "learner", "delivery-center", "executor", "scheduler", "trigger-gateway")
"""The order of docs/operations.md; a rollback goes the other way round."""

GATEWAY = "trigger-gateway"
ADMIN_KEY = "admin-of-the-upgrade"
ADMIN = {"authorization": f"Bearer {ADMIN_KEY}"}
CONTRACT_ERRORS = {
    "rota_messages_total": {"unreadable"},
    "rota_questions_total": {"permanent"},
    "rota_unreadable_documents_total": None,
    "rota_dead_letters_total": None,
}
"""Metrics, and the outcomes that are errors; None: every count is."""


IN_LOGS = ("permissions violation", "unknown field")
"""What NATS refuses, and a question that an older version refuses."""


def name_of(service: str, build: Build) -> str:
    return service if build == "old" else f"{service}#2"


class Fleet:
    """`old` is the folder with the last release's packages. `errors` grows with each process that is stopped."""

    def __init__(
        self, folder: Path, *, server: EmbeddedServer, mongo_url: str, old: Path, settings: Mapping[str, str]
    ) -> None:
        self._server, self._keys = server, Folder(folder / "nats")
        self.mongo_url = mongo_url
        self._old = old
        self.errors: list[str] = []
        self.gateways: list[str] = []
        """The addresses that a load balancer would send to."""
        own = {
            name_of(service, build): {
                "ROTA_NATS_NKEY_FILE": str(self._keys.key(service)),
                "PYTHONPATH": self._path(build),
            }
            for service in SERVICES
            for build in ("old", "new")
        }
        self._processes = Processes(
            folder,
            nats_url=server.url,
            mongo_url=mongo_url,
            settings={"ROTA_ADMIN_KEY": ADMIN_KEY, "NO_PROXY": "127.0.0.1", **settings},
            replicas=dict.fromkeys(SERVICES, 2),
            settings_of=own,
        )

    async def start(self, services: Iterable[str], build: Build) -> None:
        """All at once; return when all are ready."""
        names = [name_of(service, build) for service in services]
        for name in names:
            await self._processes.start(name)
        await asyncio.gather(*(self._processes.ready(name) for name in names))
        if GATEWAY in services:
            self.gateways.append(self._url(name_of(GATEWAY, build)))

    async def stop(self, service: str, build: Build) -> None:
        """As a rolling update does: it gets no new requests, then SIGTERM."""
        name = name_of(service, build)
        if service == GATEWAY:
            self.gateways.remove(self._url(name))
        self.errors += await self._contract_errors(name)
        await self._processes.stop(name)

    async def close(self) -> None:
        await self._processes.stop_all()

    async def all_errors(self) -> list[str]:
        """Of the processes that were stopped and those that run."""
        running = [await self._contract_errors(name) for name in self._processes.running]
        return [*self.errors, *(error for each in running for error in each)]

    async def apply_topology(self, build: Build) -> None:
        """The topology job of this build."""
        key = ("--nats-url", self._server.url, "--nkey-file", str(self._keys.key(TOPOLOGY)))
        environ = os.environ | {"PYTHONPATH": self._path(build)}
        job = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "rota_common.topology", *key, env=environ, stdout=asyncio.subprocess.DEVNULL
        )
        if code := await job.wait():
            raise RuntimeError(f"expected the topology of {build} to succeed, got {code}")

    async def migrate_documents(self) -> None:
        """As in each service's container, once all services are new."""
        environ = os.environ | {"ROTA_MONGO_URL": self.mongo_url}
        for service in SERVICES:
            job = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "rota_common.migrate", service, env=environ
            )
            if code := await job.wait():
                raise RuntimeError(f"expected the migration of {service} to succeed, got {code}")

    async def topology(self) -> dict[str, Any]:
        """The configuration of each stream, bucket and durable consumer, by name; those of watches come and go."""
        who = identity(OPERATOR, str(self._keys.key(OPERATOR)))
        client = await nats.connect(self._server.url, **who)
        try:
            js = client.jetstream()
            found: dict[str, Any] = {}
            for stream in await js.streams_info():
                name = str(stream.config.name)
                found[name] = stream.config
                there = [each.config for each in await js.consumers_info(name)]
                found |= {f"{name}/{each.durable_name}": each for each in there if each.durable_name}
            return found
        finally:
            await client.close()

    async def plan(self, team: str, member: str, later: timedelta) -> None:
        """An item in a robot's plan."""
        body = {
            "action": "plan.add",
            "messages": [{"content": "Call the lead"}],
            "plan_time": (now() + later).isoformat(),
        }
        async with httpx.AsyncClient(trust_env=False, headers=ADMIN, timeout=30) as client:
            path = f"{self.gateways[0]}/v1/teams/{team}/robots/{member}/intervene"
            (await client.post(path, json=body)).raise_for_status()

    async def plans(self, team: str) -> list[Any]:
        async with httpx.AsyncClient(trust_env=False, headers=ADMIN, timeout=30) as client:
            answer = (await client.get(f"{self.gateways[0]}/v1/teams/{team}/plans")).raise_for_status().json()
        found: list[Any] = answer["items"]
        return found

    async def create(self, *bodies: tuple[str, dict[str, Any]]) -> None:
        await self._processes.create(*bodies)

    def _url(self, name: str) -> str:
        return f"http://127.0.0.1:{self._processes.ports[name]}"

    def _path(self, build: Build) -> str:
        return str(self._old) if build == "old" else os.environ.get("PYTHONPATH", "")

    async def _contract_errors(self, name: str) -> list[str]:
        """What its metrics count of messages, questions and documents that it couldn't read, and refusals of NATS."""
        async with httpx.AsyncClient(trust_env=False, headers=ADMIN, timeout=10) as client:
            text = (await client.get(f"{self._url(name)}/metrics")).raise_for_status().text
        found = []
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                wrong = CONTRACT_ERRORS.get(sample.name, set())
                if sample.value and (wrong is None or sample.labels.get("outcome") in wrong):
                    found.append(f"{name}: {sample.name}{sample.labels} {sample.value:.0f}")
        log = self._processes.log(name).lower()
        return [*found, *(f"{name}: its log has {text!r}" for text in IN_LOGS if text in log)]
