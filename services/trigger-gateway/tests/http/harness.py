"""A gateway on fakes: its HTTP API over ASGI, its stores in memory, its messages on a bus in memory."""

import base64
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx
from fastapi import FastAPI
from fastapi.routing import _IncludedRouter
from pydantic import SecretStr
from standardwebhooks.webhooks import Webhook
from starlette.routing import BaseRoute

from rota_common.runtime.service import Runtime
from rota_common.runtime.serving import App
from rota_common.testing.in_memory_bus import InMemoryBus
from rota_contracts.catalog import AUDIT_RECORDED, FORGET_FILES, TRIGGER_RECEIVED
from rota_contracts.messages.trigger import TriggerReceivedV1
from rota_contracts.messages.workspace import ForgetFiles, ForgottenFiles
from rota_contracts.robots.robot import Robot
from trigger_gateway.adapters.in_memory import in_memory
from trigger_gateway.adapters.in_memory_stores import InMemoryDefinitions
from trigger_gateway.app import build
from trigger_gateway.ports import Adapters
from trigger_gateway.settings import Settings
from trigger_gateway.use_cases import UseCases

ADMIN = "the-administrators-key"
SECRET = "whsec_" + base64.b64encode(b"a secret of 24 bytes or so").decode()
SECRETS_KEY = base64.urlsafe_b64encode(b"0123456789abcdef0123456789abcdef").decode()
ENVIRON = {"LEADS_SECRET": SECRET}
TEAM = "/v1/teams/acme"
HOOK = "/v1/hooks/acme/leads"
LEAD = {"type": "lead.created", "data": {"name": "Ada", "company": "Analytical Engines"}}
ROBOT: dict[str, Any] = {
    "member_id": "leader",
    "display_name": "Lead Processor",
    "robot_config": {
        "identity": {"role": "Lead Qualification Specialist", "duties": ["Score lead quality"]},
        "events": [{"type": "webhook", "source": "/webhook/leads", "filter": {"event_types": ["lead.created"]}}],
    },
}


def robot(member: str = "leader", **config: Any) -> dict[str, Any]:
    """The lead processor of the specification's §11.5, with some of its configuration changed."""
    return ROBOT | {"member_id": member, "robot_config": ROBOT["robot_config"] | config}


def settings(**more: Any) -> Settings:
    given: dict[str, Any] = {"nats_url": "", "mongo_url": "", "mongo_prefix": "", "stop_timeout": 1}
    return Settings(**given | {"admin_key": SecretStr(ADMIN), "sweep_interval": 0.05} | more)


@dataclass
class Gateway:
    """One replica and a client of its API; `key` is the key of the team `acme` once `make_team` made it. `forgotten`:
    what a memory was asked to remove of people's files."""

    app: App
    bus: InMemoryBus
    adapters: Adapters
    http: httpx.AsyncClient
    key: str = ""
    forgotten: list[ForgetFiles] = field(default_factory=list)

    @property
    def fastapi(self) -> FastAPI:
        assert isinstance(self.app.http, FastAPI)
        return self.app.http

    @property
    def use(self) -> UseCases:
        made: UseCases = self.fastapi.state.use_cases
        return made

    def triggers(self) -> list[TriggerReceivedV1]:
        """The triggers published so far, oldest first."""
        return [event.data for event in self.bus.facts(TRIGGER_RECEIVED)]

    def facts(self) -> int:
        """The number of facts published so far, by any service, besides the audit trail."""
        published = self.bus.streams["FACTS"].history
        return sum(not each.subject.startswith(AUDIT_RECORDED.type) for each in published)

    def published(self, member: str = "leader") -> Robot | None:
        """The robot of the team acme as every other service reads it."""
        definitions = self.adapters.definitions
        assert isinstance(definitions, InMemoryDefinitions)
        return definitions.robots.get(("acme", member))

    def replica(self, **given: Any) -> AbstractAsyncContextManager["Gateway"]:
        """Another gateway with the same stores and the same bus."""
        return gateway(bus=self.bus, adapters=self.adapters, **given)

    async def call(self, method: str, path: str, *, key: str | None = None, **more: Any) -> httpx.Response:
        headers = {"authorization": f"Bearer {self.key if key is None else key}", **more.pop("headers", {})}
        return await self.http.request(method, path, headers=headers, **more)

    async def make_team(self, team: str = "acme") -> str:
        made = await self.call("POST", "/v1/teams", key=ADMIN, json={"team_id": team})
        assert made.status_code == 201, made.text
        return str(made.json()["api_key"])

    async def forget(self, request: ForgetFiles) -> ForgottenFiles:
        self.forgotten.append(request)
        return ForgottenFiles(count=0)

    async def make_key(self, role: str, name: str = "", **more: str) -> str:
        made = await self.call("POST", f"{TEAM}/keys", json={"role": role, "name": name, **more})
        assert made.status_code == 201, made.text
        return str(made.json()["api_key"])

    async def make_robot(self, member: str = "leader", **config: Any) -> dict[str, Any]:
        made = await self.call("POST", f"{TEAM}/robots", json=robot(member, **config))
        assert made.status_code == 201, made.text
        return dict(made.json())

    async def make_source(self, name: str = "leads", **more: Any) -> None:
        body = {"name": name, "secret": "$ENV.LEADS_SECRET", **more}
        made = await self.call("POST", f"{TEAM}/sources", json=body)
        assert made.status_code == 201, made.text

    async def post(
        self, body: Any = LEAD, *, event_id: str = "evt_1", path: str = HOOK, headers: Mapping[str, str] | None = None
    ) -> httpx.Response:
        """A signed event, with some headers replaced."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self.http.post(path, content=raw, headers=signed(raw, event_id) | dict(headers or {}))


def signed(body: bytes, event_id: str = "evt_1", *, at: datetime | None = None, secret: str = SECRET) -> dict[str, str]:
    sent = at or datetime.now(UTC)
    return {
        "content-type": "application/json",
        "webhook-id": event_id,
        "webhook-timestamp": str(int(sent.timestamp())),
        "webhook-signature": Webhook(secret).sign(event_id, sent, body.decode()),
    }


def error_of(answer: httpx.Response) -> tuple[int, str]:
    """The status and the code of an error."""
    return answer.status_code, answer.json()["error"]["code"]


def fields_of(answer: httpx.Response) -> dict[str, str]:
    """The messages of a 422 by field."""
    assert answer.status_code == 422, answer.text
    return {field["field"]: field["message"] for field in answer.json()["error"]["fields"]}


ROUTES: dict[int, BaseRoute] = {}


def share_routes(app: App) -> None:
    """FastAPI prepares an app's routes at its first requests, which takes longer than most tests: once is enough."""
    assert isinstance(app.http, FastAPI)
    routes = app.http.router.routes
    for index, route in enumerate(routes):
        if isinstance(route, _IncludedRouter):
            routes[index] = ROUTES.setdefault(index, route)


@asynccontextmanager
async def gateway(
    given: Settings | None = None,
    *,
    bus: InMemoryBus | None = None,
    runtime: Runtime | None = None,
    adapters: Adapters | None = None,
    start: bool = True,
) -> AsyncIterator[Gateway]:
    """With `start` its loops and handlers run; two gateways with the same `bus` and `adapters` are replicas."""
    own, bus = bus is None, bus or InMemoryBus()
    adapters = adapters or in_memory(given=ENVIRON, secrets_key=SECRETS_KEY)
    app = build(given or settings(), runtime=runtime or Runtime(bus=bus), adapters=adapters)
    share_routes(app)
    transport = httpx.ASGITransport(app.http, raise_app_exceptions=False)
    if start:
        await app.service.start()
        await app.service.started.wait()
    try:
        async with httpx.AsyncClient(transport=transport, base_url="http://gateway") as http:
            made = Gateway(app, bus, adapters, http)
            if own:
                bus.answer(FORGET_FILES, made.forget)
            yield made
    finally:
        if start:
            await app.service.stop(1)
