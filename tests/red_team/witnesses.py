"""Witnesses of all that leaves the services: messages of the bus, spans, prompts, answers of the API."""

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx
import nats
from nats.aio.msg import Msg

from rota.client import Api
from rota_common.testing.openai_server import OpenAIServer
from rota_common.testing.otlp_receiver import OtlpReceiver
from rota_common.testing.patience import PATIENCE_S
from rota_contracts.catalog import EXECUTION_FINISHED

ALL_SUBJECTS = ("rota.>", "$KV.>", "$O.>")


@dataclass
class Bus:
    """`messages`: subject and content of everything that is published; not of another team, whose it is to see."""

    foreign: str
    messages: list[tuple[str, str]] = field(default_factory=list)
    _over: dict[str, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))

    async def take(self, message: Msg) -> None:
        if self.foreign in message.subject:
            return
        headers, text = json.dumps(dict(message.headers or {})), message.data.decode(errors="replace")
        self.messages.append((message.subject, headers + text))
        if message.subject.startswith(EXECUTION_FINISHED.type):
            self._over[json.loads(text)["execution_id"]].set()

    async def finished(self, execution_id: str, *, timeout: float) -> None:
        await asyncio.wait_for(self._over[execution_id].wait(), timeout)


@asynccontextmanager
async def bus_witness(nats_url: str, foreign: str) -> AsyncIterator[Bus]:
    made, client = Bus(foreign), await nats.connect(nats_url)
    try:
        for subject in ALL_SUBJECTS:
            await client.subscribe(subject, cb=made.take, pending_bytes_limit=-1, pending_msgs_limit=-1)
        await client.flush()
        yield made
        await client.flush()
    finally:
        await client.close()


def in_prompts(model: OpenAIServer, keeper: str) -> list[str]:
    """But for those of the robot that keeps the canaries."""
    prompts = (json.dumps(asked.body, ensure_ascii=False) for asked in model.asked)
    return [prompt for prompt in prompts if f"Clerk-{keeper}" not in prompt]


def in_spans(receiver: OtlpReceiver) -> list[str]:
    return [f"{span.name} {span.error} {json.dumps(span.attributes)}" for span in receiver.spans.values()]


async def answers_to_a_viewer(url: str, team: str, key: str, api: Api) -> list[tuple[str, str]]:
    """Every page that a viewer may read about the team and its runs: path and text."""
    root = f"/v1/teams/{team}"
    paths = [f"{root}{path}" for path in ("/robots", "/sources", "/secrets", "/deliveries", "/spend", "/targets",
                                          "/sources/inbox/log", "/kb?query=diary", "/audit", "/keys")]  # fmt: skip
    for page in range(1, 10):
        found = (await api.executions({"page": page, "page_size": 100}))["executions"]
        for execution in (each["execution_id"] for each in found):
            paths += [f"{root}/executions/{execution}{path}" for path in ("", "/delivery", "/trace", "/trail")]
        if not found:
            break
    seen: list[tuple[str, str]] = []
    async with httpx.AsyncClient(
        base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=2 * PATIENCE_S
    ) as client:
        for path in paths:
            seen.append((path, (await client.get(path)).text))
        deliveries = (await client.get(f"{root}/deliveries", params={"page_size": 100})).json()
        for each in deliveries.get("deliveries", []):
            path = f"{root}/deliveries/{each['request_id']}"
            seen.append((path, (await client.get(path)).text))
    return seen
