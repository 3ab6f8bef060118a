"""Rota as it runs in production: seven processes, on a nats-server and a mongod of their own."""

import asyncio
import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any
from uuid import uuid4

import httpx
import nats
from nats.aio.msg import Msg

from bench import task_overhead
from bench.http import Connection
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.testing.processes import Processes
from rota_common.testing.team_secrets import secrets_folder
from rota_contracts.messages.execution import Execution

ADMIN_KEY = secrets.token_hex(16)
ADMIN = {"Authorization": f"Bearer {ADMIN_KEY}"}
SECRET = base64.b64encode(secrets.token_bytes(24)).decode()
TEAM, SOURCE = "bench", "leads"
ROBOT = {
    "member_id": "lead-scorer",
    "robot_config": {
        "identity": {"role": "Lead Scorer", "duties": ["Score leads", "Report the best"]},
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

    def __init__(
        self, folder: Path, nats_server: EmbeddedServer, mongo: EmbeddedServer, settings: Mapping[str, str]
    ) -> None:
        self._nats_url = nats_server.url
        self.processes = Processes(
            folder,
            nats_url=nats_server.url,
            mongo_url=mongo.url,
            settings={
                "ROTA_ADMIN_KEY": ADMIN_KEY,
                "ROTA_CONNECTOR": "rehearsal",
                "ROTA_POOL": "1000",
                "ROTA_RATE_PER_ADDRESS": "0",
                "ROTA_RATE_PER_SOURCE": "0",
                "ROTA_ALLOW_PRIVATE_TARGETS": "127.0.0.0/8",
                **secrets_folder(folder, TEAM, BENCH_SECRET=SECRET, BENCH_OUT_SECRET=f"whsec_{SECRET}"),
                **settings,
            },
        )
        self._delivered: dict[str, asyncio.Event] = {}
        self._idle: list[Connection] = []

    async def start(self) -> None:
        """Start the services, wait until all are ready, make the team, the source and the robot."""
        await self.processes.start_all()
        await self.processes.create(("/v1/teams", {"team_id": TEAM}))
        await self.create(SOURCE, ROBOT)
        await self.create(task_overhead.SOURCE, task_overhead.ROBOT)
        self._client = await nats.connect(self._nats_url)
        await self._client.subscribe("rota.v1.delivery.completed.>", cb=self._on_delivery)

    async def stop(self) -> None:
        for connection in self._idle:
            connection.close()
        if hasattr(self, "_client"):
            await self._client.close()
        await self.processes.stop_all()

    async def once(self, event: Mapping[str, Any] = EVENT) -> float:
        """Seconds from posting the webhook to its delivery event."""
        started = perf_counter()
        execution = await self.post(SOURCE, event)
        await asyncio.wait_for(self._delivered.setdefault(execution, asyncio.Event()).wait(), 60)
        del self._delivered[execution]
        return perf_counter() - started

    async def post(self, source: str, event: Mapping[str, Any]) -> str:
        """The execution that this event, signed and posted, starts. Raises RuntimeError for any answer but 202."""
        connection = (
            self._idle.pop() if self._idle else Connection("127.0.0.1", self.processes.ports["trigger-gateway"])
        )
        body = json.dumps(event).encode()
        status, answer = await connection.post(f"/v1/hooks/{TEAM}/{source}", body, signed(body))
        self._idle.append(connection)
        if status != 202:
            raise RuntimeError(f"expected 202 from the webhook, got {status}: {answer}")
        return str(answer["triggers"][0]["execution_id"])

    async def ended(self, data: dict[str, Any]) -> Execution:
        """An event for the worker with this data; its execution, once it is over."""
        execution = await self.post(task_overhead.SOURCE, {"type": "work.wanted", "data": data})
        async with httpx.AsyncClient(trust_env=False, base_url=self.processes.gateway, headers=ADMIN) as client:
            while True:
                found = await client.get(f"/v1/teams/{TEAM}/executions/{execution}")
                if found.status_code == 200:
                    read = Execution.model_validate(found.json())
                    if read.status.over:
                        return read
                await asyncio.sleep(0.05)

    async def create(self, source: str, robot: Mapping[str, Any]) -> None:
        """A source of webhooks, and the robot that listens to it."""
        await self.processes.create(
            (f"/v1/teams/{TEAM}/sources", {"name": source, "secret": "$ENV.BENCH_SECRET"}),
            (f"/v1/teams/{TEAM}/robots", dict(robot)),
        )

    async def _on_delivery(self, message: Msg) -> None:
        execution = json.loads(message.data)["context"]["execution_id"]
        self._delivered.setdefault(execution, asyncio.Event()).set()


def signed(body: bytes) -> dict[str, str]:
    """Standard Webhooks headers, made here so that no library is measured."""
    name, at = f"msg_{uuid4().hex}", str(int(datetime.now(UTC).timestamp()))
    signed = hmac.new(base64.b64decode(SECRET), f"{name}.{at}.".encode() + body, hashlib.sha256).digest()
    signature = "v1," + base64.b64encode(signed).decode()
    return {"webhook-id": name, "webhook-timestamp": at, "webhook-signature": signature}
