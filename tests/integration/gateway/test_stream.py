"""Live events and body limits over a real HTTP connection."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from rota_common.bus.router import Router
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.runtime.service import Runtime, Service
from rota_common.testing.patience import PATIENCE_S
from rota_contracts.catalog import (
    ACTIVITY,
    EXECUTION_INTERVENED,
    EXECUTION_PARKED,
    EXECUTION_RESUMABLE,
    EXECUTION_STARTED,
    LEARNING_REQUESTED,
    NOTIFICATION_POSTED,
    PLAN_CHANGED,
    ROBOT_FAILED,
    ROBOT_RECOVERED,
    TARGET_DISABLED,
    TARGET_ENABLED,
    TRIGGER_MISSED,
)
from rota_contracts.ids import event_trigger_id, execution_id
from rota_contracts.messages.activity import ActivityKind, ActivityV1
from rota_contracts.messages.control import ExecutionIntervenedV1
from rota_contracts.messages.delivery import DeliveryType
from rota_contracts.messages.execution import ExecStatus, ExecutionStartedV1
from rota_contracts.messages.learning import LearningRequestedV1, RunSummary
from rota_contracts.messages.notification import NotificationPostedV1
from rota_contracts.messages.parking import ExecutionParkedV1, ExecutionResumableV1
from rota_contracts.messages.plan import PlanChangedV1
from rota_contracts.messages.robot_facts import RobotFailedV1, RobotRecoveredV1
from rota_contracts.messages.targets import TargetDisabledV1, TargetEnabledV1
from rota_contracts.messages.trigger import MissReason, TriggerMissedV1
from tests.integration.gateway.harness import Gateway, fastapi_of, messages, serving, signed
from tests.integration.gateway.stand_ins import answering
from tests.integration.gateway.test_webhooks import error_of

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


@pytest.fixture
async def served(acme: Gateway) -> AsyncIterator[Gateway]:
    async with serving(acme) as made:
        yield made


@dataclass
class Live:
    lines: AsyncIterator[str]

    async def next(self) -> tuple[str, Any]:
        """Name and data of the next event; `:` for a comment."""
        name, data = "message", ""
        async with asyncio.timeout(PATIENCE_S):
            async for line in self.lines:
                kind, _, value = line.partition(":")
                if kind == "" and value:
                    return ":", value.strip()
                name = value.strip() if kind == "event" else name
                data = value.strip() if kind == "data" else data
                if not line and data:
                    return name, json.loads(data)
        raise AssertionError("the stream has ended")


@asynccontextmanager
async def following(gateway: Gateway, **query: str) -> AsyncIterator[Live]:
    headers = {"authorization": f"Bearer {gateway.key}"}
    async with gateway.http.stream("GET", "/v1/teams/acme/stream", params=query, headers=headers) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        live = Live(answer.aiter_lines())
        assert await live.next() == (":", "listening")
        yield live


@pytest.fixture
async def executor(nats: EmbeddedServer) -> AsyncIterator[Service]:
    service = Service("executor", nats.url, runtime=Runtime(fetch_timeout=0.3))
    await service.start()
    await service.started.wait()
    yield service
    await service.stop(1)


async def start(executor: Service, run: str, *, team: str = "acme", member: str = "leader") -> None:
    fact = ExecutionStartedV1(team_id=team, member_id=member, execution_id=run, started_at=AT)
    await executor.publish(EXECUTION_STARTED, fact, caused_by=run)


async def test_a_team_follows_its_own_activity(served: Gateway, executor: Service) -> None:  # TG-23, TG-40
    async with following(served) as live:
        await start(executor, "e0", team="other")
        summary = RunSummary(role="x", trigger="x", status="completed")
        asked = LearningRequestedV1(team_id="acme", member_id="leader", execution_id="e1", summary=summary)
        await executor.publish(LEARNING_REQUESTED, asked, caused_by="e1")  # between services, not for people
        await start(executor, "e1")
        name, event = await live.next()
        assert name == "message"
        assert event.pop("id")
        assert datetime.fromisoformat(event.pop("time"))
        assert event == {
            "specversion": "1.0",
            "type": "rota.v1.execution.started",
            "source": "executor",
            "data": {
                "team_id": "acme",
                "member_id": "leader",
                "execution_id": "e1",
                "started_at": "2026-03-02T09:00:00Z",
                "grant": 0,
            },
        }


async def test_the_stream_can_be_narrowed_to_a_robot_or_an_execution(served: Gateway, executor: Service) -> None:
    async with following(served, member_id="second") as robots, following(served, execution_id="e3") as runs:
        await start(executor, "e1")
        await start(executor, "e2", member="second")
        await start(executor, "e3")
        assert (await robots.next())[1]["data"]["execution_id"] == "e2"
        assert (await runs.next())[1]["data"]["execution_id"] == "e3"


async def test_plans_and_what_people_change_are_seen(served: Gateway, executor: Service, nats: EmbeddedServer) -> None:
    whose: dict[str, Any] = {"team_id": "acme", "member_id": "leader"}
    planned = PlanChangedV1(**whose, plan_id="p1", action="plan.add", at=AT)
    parked = ExecutionParkedV1(**whose, execution_id="e1", status=ExecStatus.WAITING, parks=1, parked_at=AT)
    resumable = ExecutionResumableV1(**whose, execution_id="e1", parks=1, resumable_at=AT)
    said = ExecutionIntervenedV1(**whose, execution_id="e1", intervention_id="i1", action="instruct", at=AT)
    async with answering("scheduler", nats.url, Router()) as scheduler, following(served) as live:
        await scheduler.publish(PLAN_CHANGED, planned, caused_by="p1")
        for channel, fact in (
            (EXECUTION_PARKED, parked),
            (EXECUTION_INTERVENED, said),
            (EXECUTION_RESUMABLE, resumable),
        ):
            await executor.publish(channel, fact, caused_by="e1")
        seen = [(await live.next())[1]["type"].removeprefix("rota.v1.") for _ in range(4)]
    assert seen == ["plan.changed", "execution.parked", "execution.intervened", "execution.resumable"]


async def test_a_notification_is_seen(served: Gateway, nats: EmbeddedServer) -> None:  # DEC-12
    posted = NotificationPostedV1(
        team_id="acme", member_id="leader", notification_id="n1", execution_id="e1", channel="sales",
        title="A lead", body="Ada", posted_at=AT, subscriber="wei",
    )  # fmt: skip
    async with (
        answering("delivery-center", nats.url, Router()) as center,
        following(served, execution_id="e1") as live,
    ):
        await center.publish(NOTIFICATION_POSTED, posted, caused_by="n1")
        seen = (await live.next())[1]
    assert (seen["type"], seen["data"]["subscriber"]) == ("rota.v1.notification.posted", "wei")


async def test_what_a_clock_missed_and_how_a_robot_fares_is_seen(
    served: Gateway, nats: EmbeddedServer
) -> None:  # TG-18
    whose: dict[str, Any] = {"team_id": "acme", "member_id": "leader"}
    missed = TriggerMissedV1(
        **whose, first=AT, last=AT, count=1, reason=MissReason.SKIPPED, message="skipped", missed_at=AT
    )
    async with answering("scheduler", nats.url, Router()) as scheduler, following(served) as live:
        await scheduler.publish(TRIGGER_MISSED, missed, caused_by="m1")
        await scheduler.publish(ROBOT_FAILED, RobotFailedV1(**whose, execution_id="e1", at=AT), caused_by="e1")
        await scheduler.publish(ROBOT_RECOVERED, RobotRecoveredV1(**whose, execution_id="e2", at=AT), caused_by="e2")
        seen = [(await live.next())[1]["type"].removeprefix("rota.v1.") for _ in range(3)]
    assert seen == ["trigger.missed", "robot.failed", "robot.recovered"]


async def test_a_place_that_is_switched_off_and_on_is_seen(served: Gateway, nats: EmbeddedServer) -> None:  # F4
    place: dict[str, Any] = {
        "team_id": "acme",
        "member_id": "leader",
        "target_id": "t1",
        "type": DeliveryType.WEBHOOK,
        "target": "https://crm.example/in",
        "at": AT,
    }
    async with answering("delivery-center", nats.url, Router()) as center, following(served) as live:
        await center.publish(TARGET_DISABLED, TargetDisabledV1(**place, reason="it is gone"), caused_by="t1")
        await center.publish(TARGET_ENABLED, TargetEnabledV1(**place), caused_by="t1")
        seen = [(await live.next())[1] for _ in range(2)]
    assert [event["type"].removeprefix("rota.v1.") for event in seen] == ["target.disabled", "target.enabled"]
    assert seen[0]["data"]["reason"] == "it is gone"


async def test_a_trigger_belongs_to_the_execution_it_will_be(served: Gateway) -> None:
    second = event_trigger_id("acme", "leads", "evt_2", "leader")
    async with following(served, execution_id=execution_id(second)) as live:
        await served.post(event_id="evt_1")
        await served.post(event_id="evt_2")
        seen = (await live.next())[1]
    assert (seen["type"], seen["data"]["trigger_id"]) == ("rota.v1.trigger.received", second)


async def test_a_quiet_stream_beats(served: Gateway) -> None:
    state = fastapi_of(served.app).state
    state.use_cases = replace(state.use_cases, heartbeat=0.05)
    async with following(served) as live:
        kind, text = await live.next()
    assert kind == ":"
    assert text.startswith("ping")


async def test_who_reads_too_slowly_is_told_how_much_was_dropped(served: Gateway, executor: Service) -> None:
    """The connection's buffers hold a few megabytes: more than that, and then the 256 that wait, is sent unread."""
    sent = 8000
    async with following(served) as live:
        for number in range(sent):
            seen = ActivityV1(
                team_id="acme", member_id="leader", execution_id=f"e{number}",
                kind=ActivityKind.VERDICT, phase="run", text="x" * 2000, at=AT,
            )  # fmt: skip
            await executor.publish.observe(ACTIVITY, seen)
        dropped, got, last = 0, 0, ""
        while last != f"e{sent - 1}":
            name, data = await live.next()
            if name == "rota.dropped":
                dropped += data["dropped"]
            else:
                got, last = got + 1, data["data"]["execution_id"]
    assert dropped > 0
    assert got + dropped == sent


async def test_a_body_that_doesnt_say_its_size_is_cut_off_at_the_limit(served: Gateway) -> None:  # TG-32
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while sent < 100 * 1024 * 1024:
            sent += 16_384
            yield b"x" * 16_384

    headers = {**signed(b"{}"), "transfer-encoding": "chunked"}
    try:
        answer = await served.http.post("/v1/hooks/acme/leads", content=endless(), headers=headers)
        assert error_of(answer) == (413, "too_large")
    except httpx.TransportError:  # the server has closed while we were still writing
        pass
    assert sent < 10 * 1024 * 1024
    assert await messages(served.nats_url) == 0


async def test_a_body_that_comes_in_pieces_is_taken(served: Gateway) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for part in (b'{"type":', b'"lead.created",', b'"data":{}}'):
            yield part

    headers = signed(b'{"type":"lead.created","data":{}}')
    answer = await served.http.post("/v1/hooks/acme/leads", content=pieces(), headers=headers)
    assert answer.status_code == 202
    assert await messages(served.nats_url) == 1
