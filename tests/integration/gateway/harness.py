"""A gateway with its API, signed events, and a scheduler that answers as the test says."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx
import nats as nats_py
import uvicorn
from fastapi import FastAPI
from pydantic import SecretStr
from standardwebhooks.webhooks import Webhook

from rota_common.bus.router import Router
from rota_common.runtime.embedded_servers import free_port
from rota_common.runtime.service import Runtime, Service
from rota_common.runtime.serving import App
from rota_common.testing.patience import PATIENCE_S
from rota_common.testing.team_secrets import ForEveryTeam
from rota_contracts.catalog import (
    CHANGE_PLAN,
    LIST_PLANS,
    LIST_RETRYABLE,
    READ_ROBOTS,
    READ_TRIGGER,
    TRIGGER_ADMITTED,
    TRIGGER_RECEIVED,
    TRIGGER_REJECTED,
    WITHDRAW,
)
from rota_contracts.envelope import Event, parse_event
from rota_contracts.ids import execution_id
from rota_contracts.messages.control import Withdraw, WithdrawReply
from rota_contracts.messages.execution import ReadTrigger, TriggerReply, TriggerState
from rota_contracts.messages.plan import (
    ChangePlan,
    ChangePlanReply,
    ListPlans,
    PlanAction,
    PlanItem,
    PlanPage,
    PlanState,
)
from rota_contracts.messages.retry import ListRetryable, RetryablePage
from rota_contracts.messages.robot_state import ReadRobots, RobotsReply, RobotState
from rota_contracts.messages.trigger import RejectReason, TriggerAdmittedV1, TriggerReceivedV1, TriggerRejectedV1
from trigger_gateway.app import build
from trigger_gateway.settings import Settings

ADMIN = "the-administrators-key"
SECRET = "whsec_" + base64.b64encode(b"a secret of 24 bytes or so").decode()
ENVIRON = {"LEADS_SECRET": SECRET}
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


def settings(nats_url: str, mongo_url: str, prefix: str, **more: Any) -> Settings:
    given: dict[str, Any] = {"nats_url": nats_url, "mongo_url": mongo_url, "mongo_prefix": prefix, "stop_timeout": 1}
    return Settings(**given | {"admin_key": SecretStr(ADMIN), "sweep_interval": 0.05} | more)


@asynccontextmanager
async def started(app: App) -> AsyncIterator[App]:
    """The service without an HTTP server around it."""
    await app.service.start()
    await app.service.started.wait()
    try:
        yield app
    finally:
        await app.service.stop(1)


@dataclass
class Gateway:
    """One replica and a client of its API; `key` is the key of the team `acme` once `make_team` made it."""

    app: App
    nats_url: str
    http: httpx.AsyncClient
    key: str = ""

    async def call(self, method: str, path: str, *, key: str | None = None, **more: Any) -> httpx.Response:
        headers = {"authorization": f"Bearer {self.key if key is None else key}", **more.pop("headers", {})}
        return await self.http.request(method, path, headers=headers, **more)

    async def make_team(self, team: str = "acme") -> str:
        made = await self.call("POST", "/v1/teams", key=ADMIN, json={"team_id": team})
        assert made.status_code == 201, made.text
        return str(made.json()["api_key"])

    async def make_key(self, role: str, name: str = "") -> str:
        made = await self.call("POST", "/v1/teams/acme/keys", json={"role": role, "name": name})
        assert made.status_code == 201, made.text
        return str(made.json()["api_key"])

    async def make_robot(self, member: str = "leader", **config: Any) -> dict[str, Any]:
        made = await self.call("POST", "/v1/teams/acme/robots", json=robot(member, **config))
        assert made.status_code == 201, made.text
        return dict(made.json())

    async def make_source(self, name: str = "leads", **more: Any) -> None:
        body = {"name": name, "secret": "$ENV.LEADS_SECRET", **more}
        made = await self.call("POST", "/v1/teams/acme/sources", json=body)
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


@asynccontextmanager
async def gateway(given: Settings, **overrides: Any) -> AsyncIterator[Gateway]:
    """Speaks ASGI to the application: no sockets between the test and the gateway."""
    with_defaults = {"runtime": Runtime(), "team_secrets": ForEveryTeam(ENVIRON)} | overrides
    app = build(given, **with_defaults)
    transport = httpx.ASGITransport(app.http, raise_app_exceptions=False)
    async with started(app), httpx.AsyncClient(transport=transport, base_url="http://gateway") as http:
        yield Gateway(app, given.nats_url, http)


@asynccontextmanager
async def serving(made: Gateway) -> AsyncIterator[Gateway]:
    """The same gateway behind uvicorn on loopback."""
    port = free_port()
    config = uvicorn.Config(made.app.http, port=port, log_config=None, lifespan="off", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    task = asyncio.create_task(server._serve())
    while not server.started:
        await asyncio.sleep(0.01)
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_S) as http:
        yield Gateway(made.app, made.nats_url, http, made.key)
    server.should_exit = True
    await task


def fastapi_of(app: App) -> FastAPI:
    assert isinstance(app.http, FastAPI)
    return app.http


def error_of(answer: httpx.Response) -> tuple[int, str]:
    """The status and the code of an error."""
    return answer.status_code, answer.json()["error"]["code"]


def fields_of(answer: httpx.Response) -> dict[str, str]:
    assert answer.status_code == 422, answer.text
    return {field["field"]: field["message"] for field in answer.json()["error"]["fields"]}


@dataclass
class Scheduler:
    """Admits every trigger, or refuses it when `refuses` says why; answers what has become of it.

    `queued` and `admitted` are executions of the robot leader; `plans` is what is planned, by id; `states` is how the
    team's robots stand, by name.
    """

    url: str
    refuses: RejectReason | None = None
    refuses_plans: str = ""
    seen: list[TriggerReceivedV1] = field(default_factory=list)
    queued: list[str] = field(default_factory=list)
    admitted: list[str] = field(default_factory=list)
    withdrawals: list[Withdraw] = field(default_factory=list)
    changes: list[ChangePlan] = field(default_factory=list)
    plans: dict[str, PlanItem] = field(default_factory=dict)
    states: dict[str, RobotState] = field(default_factory=dict)
    looked: list[ReadRobots] = field(default_factory=list)

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Scheduler"]:
        self.service = Service("scheduler", self.url)
        router = Router()
        router.on(TRIGGER_RECEIVED, self._on_trigger)
        router.answer(READ_TRIGGER, self._read)
        router.answer(LIST_RETRYABLE, self._list_retryable)
        router.answer(WITHDRAW, self._withdraw)
        router.answer(CHANGE_PLAN, self._change_plan)
        router.answer(LIST_PLANS, self._list_plans)
        router.answer(READ_ROBOTS, self._read_robots)
        self.service.include(router)
        await self.service.start()
        await self.service.started.wait()
        try:
            yield self
        finally:
            await self.service.stop(1)

    async def _list_retryable(self, _: ListRetryable) -> RetryablePage:
        return RetryablePage(executions=[])

    async def _on_trigger(self, event: Event[TriggerReceivedV1]) -> None:
        trigger, at = event.data, self.service.runtime.clock()
        self.seen.append(trigger)
        whose = {"team_id": trigger.team_id, "member_id": trigger.member_id, "trigger_id": trigger.trigger_id}
        if self.refuses is None:
            admitted = {"type": trigger.type, "execution_id": execution_id(trigger.trigger_id), "admitted_at": at}
            fact = TriggerAdmittedV1.model_validate(whose | admitted)
            await self.service.publish(TRIGGER_ADMITTED, fact, caused_by=event)
        else:
            why = {"type": trigger.type, "reason": self.refuses, "message": f"no: {self.refuses}", "rejected_at": at}
            no = TriggerRejectedV1.model_validate(whose | why)
            await self.service.publish(TRIGGER_REJECTED, no, caused_by=event)

    async def _read(self, question: ReadTrigger) -> TriggerReply:
        if question.execution_id is not None:
            states = dict.fromkeys(self.admitted, TriggerState.ADMITTED) | dict.fromkeys(
                self.queued, TriggerState.QUEUED
            )
            return TriggerReply(trigger_id="", state=states.get(question.execution_id, TriggerState.UNKNOWN))
        known = any(trigger.trigger_id == question.trigger_id for trigger in self.seen)
        if not known:
            return TriggerReply(trigger_id=question.trigger_id, state=TriggerState.UNKNOWN)
        if self.refuses is not None:
            text = f"no: {self.refuses}"
            return TriggerReply(trigger_id=question.trigger_id, state=TriggerState.REJECTED, message=text)
        run = execution_id(question.trigger_id)
        return TriggerReply(trigger_id=question.trigger_id, state=TriggerState.RUNNING, execution_id=run)

    async def _withdraw(self, what: Withdraw) -> WithdrawReply:
        self.withdrawals.append(what)
        wanted = (self.queued + self.admitted) if what.execution_id is None else [what.execution_id]
        gone = [each for each in self.queued if each in wanted]
        self.queued = [each for each in self.queued if each not in gone]
        return WithdrawReply(execution_ids=gone, admitted=[each for each in self.admitted if each in wanted])

    async def _change_plan(self, change: ChangePlan) -> ChangePlanReply:
        self.changes.append(change)
        if self.refuses_plans:
            return ChangePlanReply(item=self.plans.get(change.plan_id), refused=self.refuses_plans)
        there = self.plans.get(change.plan_id)
        if change.action is PlanAction.ADD and there is None:
            given = change.model_dump(exclude={"action"})
            there = PlanItem(created_at=self.service.runtime.clock(), **given)
        elif there is not None:
            gone = change.action is PlanAction.REMOVE
            there = there.model_copy(update={"state": PlanState.REMOVED} if gone else {"plan_time": change.plan_time})
        if there is not None:
            self.plans[change.plan_id] = there
        return ChangePlanReply(item=there)

    async def _read_robots(self, question: ReadRobots) -> RobotsReply:
        self.looked.append(question)
        found = [self.states[name] for name in question.member_ids if name in self.states]
        return RobotsReply(robots=[each for each in found if each.team_id == question.team_id])

    async def _list_plans(self, question: ListPlans) -> PlanPage:
        mine = [one for one in self.plans.values() if question.member_id in (None, one.member_id)]
        return PlanPage(items=mine[: question.limit])


async def triggers(url: str) -> list[Event[TriggerReceivedV1]]:
    """Every trigger that waits for the scheduler; a work queue takes no second consumer, so they are looked at."""
    client, channel = await nats_py.connect(url), TRIGGER_RECEIVED
    try:
        jetstream = client.jetstream()
        state = (await jetstream.stream_info("TRIGGERS")).state
        found = [await jetstream.get_msg("TRIGGERS", seq) for seq in range(state.first_seq, state.last_seq + 1)]
    finally:
        await client.close()
    return [parse_event(channel.payload, each.headers, each.data or b"", expected=channel.type) for each in found]


async def messages(url: str, stream: str = "TRIGGERS", subjects: str = ">") -> int:
    """How many messages a stream holds on these subjects."""
    client = await nats_py.connect(url)
    try:
        state = (await client.jetstream().stream_info(stream, subjects_filter=subjects)).state
        return sum((state.subjects or {}).values())
    finally:
        await client.close()
