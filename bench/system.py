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
                **secrets_folder(folder, TEAM, BENCH_SECRET=SECRET),
                **settings,
            },
        )
        self._delivered: dict[str, asyncio.Event] = {}
        self._idle: list[Connection] = []

    async def start(self) -> None:
        """Start the services, wait until all are ready, make the team, the source and the robot."""
        await self.processes.start_all()
        await self._prepare()
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
        connection = (
            self._idle.pop() if self._idle else Connection("127.0.0.1", self.processes.ports["trigger-gateway"])
        )
        body = json.dumps(event).encode()
        headers, started = signed(body), perf_counter()
        status, answer = await connection.post(f"/v1/hooks/{TEAM}/{SOURCE}", body, headers)
        self._idle.append(connection)
        if status != 202:
            raise RuntimeError(f"expected 202 from the webhook, got {status}: {answer}")
        execution = answer["triggers"][0]["execution_id"]
        await asyncio.wait_for(self._delivered.setdefault(execution, asyncio.Event()).wait(), 60)
        del self._delivered[execution]
        return perf_counter() - started

    async def ended(self, data: dict[str, Any]) -> Execution:
        """An event for the worker with this data; its execution, once it is over."""
        body = json.dumps({"type": "work.wanted", "data": data}).encode()
        async with httpx.AsyncClient(trust_env=False, base_url=self.processes.gateway, headers=ADMIN) as client:
            started = await client.post(f"/v1/hooks/{TEAM}/{task_overhead.SOURCE}", content=body, headers=signed(body))
            if started.status_code != 202:
                raise RuntimeError(f"expected 202 from the webhook, got {started.status_code}: {started.text}")
            execution = started.json()["triggers"][0]["execution_id"]
            while True:
                found = await client.get(f"/v1/teams/{TEAM}/executions/{execution}")
                if found.status_code == 200:
                    read = Execution.model_validate(found.json())
                    if read.status.over:
                        return read
                await asyncio.sleep(0.05)

    async def _on_delivery(self, message: Msg) -> None:
        execution = json.loads(message.data)["context"]["execution_id"]
        self._delivered.setdefault(execution, asyncio.Event()).set()

    async def _prepare(self) -> None:
        team = f"/v1/teams/{TEAM}"
        sources = [
            (f"{team}/sources", {"name": name, "secret": "$ENV.BENCH_SECRET"})
            for name in (SOURCE, task_overhead.SOURCE)
        ]
        robots = [(f"{team}/robots", robot) for robot in (ROBOT, task_overhead.ROBOT)]
        await self.processes.create(("/v1/teams", {"team_id": TEAM}), *sources, *robots)


def signed(body: bytes) -> dict[str, str]:
    """Standard Webhooks headers, made here so that no library is measured."""
    name, at = f"msg_{uuid4().hex}", str(int(datetime.now(UTC).timestamp()))
    signed = hmac.new(base64.b64decode(SECRET), f"{name}.{at}.".encode() + body, hashlib.sha256).digest()
    signature = "v1," + base64.b64encode(signed).decode()
    return {"webhook-id": name, "webhook-timestamp": at, "webhook-signature": signature}
