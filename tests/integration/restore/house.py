"""A running system to lose: servers, the seven services, and what stands around them."""

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Self

import nats
import nats.micro
from nats.micro.request import Request as Call
from standardwebhooks.webhooks import Webhook, WebhookVerificationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rota.client import Api
from rota.server.build import build_all
from rota.server.http import listening, serving
from rota.server.services import GATEWAY, StackSettings
from rota.signing import new_secret, signed_event
from rota_common import topology
from rota_common.bus.barrier import barrier
from rota_common.clock import now
from rota_common.runtime.embedded_servers import mongod, nats_server
from rota_common.runtime.service import Runtime
from rota_common.runtime.serving import App
from rota_common.testing.crash import crash
from rota_common.testing.openai_server import ModelRequest, openai_server
from rota_contracts.catalog import process_subject
from tests.integration.executor.harness import kind

TEAM, SOURCE, ADMIN = "acme", "leads", "admin-of-the-test"
PAY = "crm.pay"
LONG = "A long report. " * 30_000
PLANS = {
    "Pay for it": [
        {"id": "report", "description": "Report at length", "executor_id": "experts.writer"},
        {"id": "pay", "description": "Pay it", "executor_type": "process", "executor_id": PAY, "args": ["Globex", 7]},
    ],
    "Hold on": [{"id": "hold", "description": "Hold", "executor_id": "experts.writer"}],
}
"""By the wish."""

PLAIN = [{"id": "plain", "description": "Do it", "executor_id": "experts.writer"}]


@dataclass
class Model:
    """`released`: until then the task of the holder isn't answered. `systems`: all system prompts."""

    released: asyncio.Event = field(default_factory=asyncio.Event)
    holding: asyncio.Event = field(default_factory=asyncio.Event)
    systems: list[str] = field(default_factory=list)

    async def __call__(self, asked: ModelRequest) -> str:
        self.systems.append(asked.system)
        match kind(asked):
            case "goals":
                return "## Goals\n1. Do it"
            case "tasks":
                return json.dumps({"tasks": next((plan for wish, plan in PLANS.items() if wish in asked.words), PLAIN)})
            case "delivery":
                return json.dumps({"content": {"summary": "Done.", "body": "# Done"}})
            case "run: Report at length":
                return LONG
            case "run: Hold":
                self.holding.set()
                await self.released.wait()
        return "It is done."


@dataclass
class Receiver:
    """Webhooks with their ids, by path and execution. `up`: whether `/flaky` accepts any."""

    secret: str
    url: str = ""
    up: bool = False
    accepted: dict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))
    refused: set[str] = field(default_factory=set)

    async def receive(self, request: Request) -> Response:
        raw, path, webhook_id = await request.body(), request.url.path, request.headers["webhook-id"]
        try:
            Webhook(self.secret).verify(raw, dict(request.headers), json_parse=False)
        except WebhookVerificationError:
            return Response(status_code=401)
        if path == "/flaky" and not self.up:
            self.refused.add(webhook_id)
            return Response(status_code=503)
        self.accepted[path, json.loads(raw)["data"]["context"]["execution_id"]].append(webhook_id)
        return Response(status_code=204)

    def by(self, path: str) -> dict[str, list[str]]:
        """Ids by execution."""
        return {execution: ids for (where, execution), ids in self.accepted.items() if where == path}


class House:
    """Servers and services whose data is in `folder`: one on another folder has only what is restored into it."""

    def __init__(self, folder: Path, environ: dict[str, str]) -> None:
        self.folder, self._environ = folder, environ
        self.nats, self.mongo = nats_server(folder / "nats"), mongod(folder / "mongo")
        self.apps: dict[str, App] = {}
        self.url, self.paid = "", list[str]()
        self._ends = AsyncExitStack()

    @property
    def servers(self) -> dict[str, Any]:
        return {"nats_url": self.nats.url, "mongo_url": self.mongo.url, "qdrant": self.folder / "qdrant"}

    async def __aenter__(self) -> Self:
        for server in (self.nats, self.mongo):
            await server.start()
            self._ends.push_async_callback(server.kill)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._ends.aclose()

    async def open(self) -> None:
        """The topology, the gateway, and then the others."""
        await topology.apply_to(self.nats.url)
        await self._process()
        self.apps = self._build()
        others = {name: app for name, app in self.apps.items() if name != GATEWAY}
        self._ends.push_async_callback(self._stop, others)
        self.url = await self._ends.enter_async_context(serving(self.apps[GATEWAY].http, listening(0)))
        await self.apps[GATEWAY].service.started.wait()
        for app in others.values():
            await app.service.start()
        await asyncio.gather(*(app.service.started.wait() for app in others.values()))

    async def start_again(self, name: str) -> None:
        """After its crash."""
        self.apps[name] = self._build()[name]
        self._ends.push_async_callback(self._stop, {name: self.apps[name]})
        await self.apps[name].service.start()
        await self.apps[name].service.started.wait()

    async def lose(self) -> None:
        """Everything at once, the hard way."""
        for app in self.apps.values():
            await crash(app.service)
        for server in (self.nats, self.mongo):
            await server.kill()

    async def _stop(self, apps: dict[str, App]) -> None:
        await asyncio.gather(*(app.service.stop(2) for app in apps.values() if app.service.bus.connected))

    def _build(self) -> dict[str, App]:
        settings = StackSettings(
            nats_url=self.nats.url,
            mongo_url=self.mongo.url,
            mongo_prefix="rota",
            folder=self.folder,
            admin_key=ADMIN,
            connector="openai",
            smtp_url="",
            allow_private_targets="127.0.0.0/8",
            public_url="",
            nats=None,
        )
        return build_all(settings, Runtime(), self._environ, {})

    async def _process(self) -> None:
        client = await nats.connect(self.nats.url)
        self._ends.push_async_callback(client.close)

        async def pay(call: Call) -> None:
            self.paid.append(json.loads(call.data)["step_id"])
            await call.respond(b'{"paid": true}')

        service = await nats.micro.add_service(client, name="crm", version="1.0.0")
        await service.add_endpoint(name="pay", subject=process_subject(TEAM, PAY), handler=pay)
        await barrier(client)


@dataclass
class Around:
    """What isn't lost. `incoming`: the secret that signs events; `posted`: when each was made."""

    model: Model
    receiver: Receiver
    environ: dict[str, str]
    incoming: str = field(default_factory=new_secret)
    posted: dict[str, datetime] = field(default_factory=dict)

    @asynccontextmanager
    async def api(self, house: House, key: str = ADMIN) -> AsyncIterator[Api]:
        async with Api(house.url, TEAM, key=key) as made:
            yield made

    async def post(self, api: Api, robot: str, wish: str) -> dict[str, Any]:
        """An event for this robot, the same one for the same wish: the trigger that the gateway answers."""
        event = f"{robot}: {wish}"
        at = self.posted.setdefault(event, now())
        body, headers = signed_event(self.incoming, message_id=event, at=at, type=robot, data={"wish": wish})
        started: dict[str, Any] = (await api.hook(TEAM, SOURCE, body, headers))["triggers"][0]
        return started

    def robot(self, name: str, *, path: str = "/done", **config: Any) -> dict[str, Any]:
        """Woken by events of its name."""
        target = {"url": f"{self.receiver.url}{path}", "secret": "$SECRET.OUT"}
        event = {"type": "webhook", "source": SOURCE, "filter": {"event_types": [name]}}
        config = {
            "events": [event],
            "identity": {"role": f"You are a {name}", "duties": ["Do it"]},
            "resources": {"agents": ["experts.writer"]},
            "learn": {"on": False},
            "quota": {"max": 5, "queue": 100},
            "delivery": {"preferences": {"webhook": {"enabled": True, "targets": [target]}}},
            **config,
        }
        return {"member_id": name, "display_name": name, "robot_config": config}


@asynccontextmanager
async def surroundings() -> AsyncIterator[Around]:
    """The model, the receiver, and the operator's environment."""
    model, receiver = Model(), Receiver(new_secret())
    app = Starlette(routes=[Route("/{path}", receiver.receive, methods=["POST"])])
    async with openai_server(model) as server, serving(app, listening(0)) as receiver.url:
        environ = {"OPENAI_API_KEY": "sk-of-the-test", "OPENAI_BASE_URL": server.url, "OPENAI_MODEL": "scripted"}
        try:
            yield Around(model, receiver, environ)
        finally:
            model.released.set()
