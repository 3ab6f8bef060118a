"""Rota as it runs in production: seven processes, on a nats-server and a mongod of their own."""

import asyncio
import base64
import hashlib
import hmac
import json
import os
import secrets
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from uuid import uuid4

import httpx
import nats
from nats.aio.msg import Msg

from bench.http import Connection
from rota_common.embedded import EmbeddedServer, free_port
from rota_contracts.catalog import SERVICES

ADMIN_KEY = secrets.token_hex(16)
SECRET = base64.b64encode(secrets.token_bytes(24)).decode()
TEAM, SOURCE = "bench", "leads"
READY_S = 60
ROBOT = {
    "member_id": "lead-scorer",
    "robot_config": {
        "identity": {"role": "Lead Scorer", "duties": ["Score leads"]},
        "quota": {"max": 1000, "queue": 100_000},
        "resources": {"agents": ["lead-scorer"]},
        "events": [{"type": "webhook", "source": "/webhook/leads"}],
        "delivery": {"type": "webhook", "opts": {"url": "https://example.com/hook"}},
        "executor": {"mode": "dryrun"},
    },
}
EVENT = {"type": "lead.created", "data": {"name": "John Smith", "company": "BigCorp", "message": "x" * 400}}


class System:
    """The workload: one task, one rule, one recorded webhook, quotas open; a dry run."""

    def __init__(self, folder: Path, nats_server: EmbeddedServer, mongo: EmbeddedServer) -> None:
        self._folder, self._nats_url, self._mongo_url = folder, nats_server.url, mongo.url
        self._ports = {service: free_port() for service in SERVICES}
        self._processes: list[asyncio.subprocess.Process] = []
        self._delivered: dict[str, asyncio.Event] = {}
        self._idle: list[Connection] = []

    async def start(self) -> None:
        """Start the services, wait until all are ready, make the team, the source and the robot."""
        for service in SERVICES:
            self._processes.append(await self._process(service))
        async with httpx.AsyncClient(trust_env=False) as client:
            await asyncio.gather(*(self._ready(client, service) for service in SERVICES))
            await self._prepare(client)
        self._client = await nats.connect(self._nats_url)
        await self._client.subscribe("rota.v1.delivery.completed.>", cb=self._on_delivery)

    async def stop(self) -> None:
        for connection in self._idle:
            connection.close()
        await self._client.close()
        for process in self._processes:
            process.send_signal(signal.SIGTERM)
        await asyncio.gather(*(process.wait() for process in self._processes))

    async def once(self) -> float:
        """Seconds from posting the webhook to its delivery event."""
        connection = self._idle.pop() if self._idle else Connection("127.0.0.1", self._ports["trigger-gateway"])
        body = json.dumps(EVENT).encode()
        headers, started = _signed(body), perf_counter()
        status, answer = await connection.post(f"/v1/hooks/{TEAM}/{SOURCE}", body, headers)
        self._idle.append(connection)
        if status != 202:
            raise RuntimeError(f"expected 202 from the webhook, got {status}: {answer}")
        execution = answer["triggers"][0]["execution_id"]
        await asyncio.wait_for(self._delivered.setdefault(execution, asyncio.Event()).wait(), 60)
        del self._delivered[execution]
        return perf_counter() - started

    async def _on_delivery(self, message: Msg) -> None:
        execution = json.loads(message.data)["context"]["execution_id"]
        self._delivered.setdefault(execution, asyncio.Event()).set()

    async def _process(self, service: str) -> asyncio.subprocess.Process:
        settings = {
            "ROTA_NATS_URL": self._nats_url,
            "ROTA_MONGO_URL": self._mongo_url,
            "ROTA_HTTP_HOST": "127.0.0.1",
            "ROTA_HTTP_PORT": str(self._ports[service]),
            "ROTA_ADMIN_KEY": ADMIN_KEY,
            "ROTA_CONNECTOR": "rehearsal",
            "ROTA_POOL": "1000",
            "ROTA_QDRANT_PATH": str(self._folder / "qdrant"),
            "ROTA_LOG_LEVEL": "INFO",
            "BENCH_SECRET": SECRET,
        }
        with (self._folder / f"{service}.log").open("wb") as log:
            return await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", service.replace("-", "_")), env=os.environ | settings, stdout=log, stderr=log
            )

    async def _ready(self, client: httpx.AsyncClient, service: str) -> None:
        deadline, url = perf_counter() + READY_S, f"http://127.0.0.1:{self._ports[service]}/health/ready"
        reason = "no answer"
        while perf_counter() < deadline:
            try:
                answer = await client.get(url)
                if answer.status_code == 200:
                    return
                reason = answer.text
            except httpx.HTTPError as error:
                reason = repr(error)
            await asyncio.sleep(0.1)
        raise RuntimeError(f"{service} isn't ready after {READY_S} s: {reason}")

    async def _prepare(self, client: httpx.AsyncClient) -> None:
        gateway = f"http://127.0.0.1:{self._ports['trigger-gateway']}/v1/teams"
        admin = {"Authorization": f"Bearer {ADMIN_KEY}"}
        source = {"name": SOURCE, "secret": "$ENV.BENCH_SECRET"}
        for path, body in (("", {"team_id": TEAM}), (f"/{TEAM}/sources", source), (f"/{TEAM}/robots", ROBOT)):
            answer = await client.post(gateway + path, json=body, headers=admin)
            if answer.status_code != 201:
                raise RuntimeError(f"expected 201 from {path or '/v1/teams'}, got {answer.status_code}: {answer.text}")


def _signed(body: bytes) -> dict[str, str]:
    """Standard Webhooks headers, made here so that no library of ours is measured."""
    name, at = f"msg_{uuid4().hex}", str(int(datetime.now(UTC).timestamp()))
    signed = hmac.new(base64.b64decode(SECRET), f"{name}.{at}.".encode() + body, hashlib.sha256).digest()
    signature = "v1," + base64.b64encode(signed).decode()
    return {"webhook-id": name, "webhook-timestamp": at, "webhook-signature": signature}
