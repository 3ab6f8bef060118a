"""Live events of a team, and bodies that arrive in pieces."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

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
    Channel,
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

from .asgi import following, request
from .harness import HOOK, Gateway, signed

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
WHOSE: dict[str, Any] = {"team_id": "acme", "member_id": "leader"}


async def start(gateway: Gateway, run: str, **whose: str) -> None:
    fact = ExecutionStartedV1(execution_id=run, started_at=AT, **WHOSE | whose)
    await gateway.bus.publish(EXECUTION_STARTED, fact, caused_by=run)


async def test_a_team_follows_its_own_activity(acme: Gateway) -> None:  # TG-23, TG-40
    async with following(acme) as live:
        await start(acme, "e0", team_id="other")
        summary = RunSummary(role="x", trigger="x", status="completed")
        asked = LearningRequestedV1(execution_id="e1", summary=summary, **WHOSE)
        await acme.bus.publish(LEARNING_REQUESTED, asked, caused_by="e1")  # between services, not for people
        await start(acme, "e1")
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


async def test_the_stream_can_be_narrowed_to_a_robot_or_an_execution(acme: Gateway) -> None:
    async with following(acme, member_id="second") as robots, following(acme, execution_id="e3") as runs:
        await start(acme, "e1")
        await start(acme, "e2", member_id="second")
        await start(acme, "e3")
        assert (await robots.next())[1]["data"]["execution_id"] == "e2"
        assert (await runs.next())[1]["data"]["execution_id"] == "e3"


PLACE: dict[str, Any] = WHOSE | {"target_id": "t1", "type": DeliveryType.WEBHOOK, "target": "https://crm.example/in"}
FACTS: list[tuple[Channel[Any], Any]] = [
    (PLAN_CHANGED, PlanChangedV1(**WHOSE, plan_id="p1", action="plan.add", at=AT)),
    (
        EXECUTION_PARKED,
        ExecutionParkedV1(**WHOSE, execution_id="e1", status=ExecStatus.WAITING, parks=1, parked_at=AT),
    ),
    (
        EXECUTION_INTERVENED,
        ExecutionIntervenedV1(**WHOSE, execution_id="e1", intervention_id="i1", action="instruct", at=AT),
    ),
    (EXECUTION_RESUMABLE, ExecutionResumableV1(**WHOSE, execution_id="e1", parks=1, resumable_at=AT)),
    (
        TRIGGER_MISSED,
        TriggerMissedV1(
            **WHOSE, first=AT, last=AT, count=1, reason=MissReason.SKIPPED, message="skipped", missed_at=AT
        ),
    ),  # TG-18
    (ROBOT_FAILED, RobotFailedV1(**WHOSE, execution_id="e1", at=AT)),
    (ROBOT_RECOVERED, RobotRecoveredV1(**WHOSE, execution_id="e2", at=AT)),
    (TARGET_DISABLED, TargetDisabledV1(**PLACE, at=AT, reason="it is gone")),  # F4
    (TARGET_ENABLED, TargetEnabledV1(**PLACE, at=AT)),
]


async def test_plans_interventions_clocks_robots_and_targets_are_streamed(acme: Gateway) -> None:  # TG-18, F4
    async with following(acme) as live:
        seen = []
        for channel, fact in FACTS:
            await acme.bus.publish(channel, fact, caused_by=channel.type)
            seen.append((await live.next())[1])
    assert [event["type"] for event in seen] == [channel.type for channel, _ in FACTS]
    assert [event["data"] for event in seen] == [fact.model_dump(mode="json") for _, fact in FACTS]


async def test_a_notification_is_streamed(acme: Gateway) -> None:  # DEC-12
    posted = NotificationPostedV1(
        notification_id="n1", execution_id="e1", channel="sales", title="A lead", body="Ada",
        posted_at=AT, subscriber="wei", **WHOSE,
    )  # fmt: skip
    async with following(acme, execution_id="e1") as live:
        await acme.bus.publish(NOTIFICATION_POSTED, posted, caused_by="n1")
        seen = (await live.next())[1]
    assert (seen["type"], seen["data"]["subscriber"]) == ("rota.v1.notification.posted", "wei")


async def test_a_trigger_belongs_to_its_future_execution(acme: Gateway) -> None:
    second = event_trigger_id("acme", "leads", "evt_2", "leader")
    async with following(acme, execution_id=execution_id(second)) as live:
        await acme.post(event_id="evt_1")
        await acme.post(event_id="evt_2")
        seen = (await live.next())[1]
    assert (seen["type"], seen["data"]["trigger_id"]) == ("rota.v1.trigger.received", second)


async def test_a_quiet_stream_has_a_heartbeat(acme: Gateway) -> None:
    state = acme.fastapi.state
    state.use_cases = replace(state.use_cases, heartbeat=0.05)
    async with following(acme) as live:
        kind, text = await live.next()
    assert kind == ":"
    assert text.startswith("ping")


async def test_a_slow_reader_is_sent_the_number_of_dropped_events(acme: Gateway) -> None:
    sent = 600
    async with following(acme) as live:
        for number in range(sent):
            seen = ActivityV1(
                execution_id=f"e{number}", kind=ActivityKind.VERDICT, phase="run", text="x", at=AT, **WHOSE
            )
            await acme.bus.publish(ACTIVITY, seen, caused_by="")
        dropped, got, last = 0, 0, ""
        while last != f"e{sent - 1}":
            name, data = await live.next()
            if name == "rota.dropped":
                dropped += data["dropped"]
            else:
                got, last = got + 1, data["data"]["execution_id"]
    assert dropped > 0
    assert 256 <= got < 300
    assert got + dropped == sent


async def test_a_body_of_unknown_size_is_cut_off_at_the_limit(acme: Gateway) -> None:  # TG-32
    pieces = 0

    async def endless() -> dict[str, Any]:
        nonlocal pieces
        pieces += 1
        return {"type": "http.request", "body": b"x" * 16_384, "more_body": True}

    start, *_ = await request(acme, "POST", HOOK, endless, headers=signed(b"{}"))
    assert start["status"] == 413
    assert pieces == 5  # 64 KiB and one piece more
    assert acme.triggers() == []


async def test_a_body_that_comes_in_pieces_is_accepted(acme: Gateway) -> None:
    left = [b'{"type":', b'"lead.created",', b'"data":{}}']
    headers = signed(b"".join(left))

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": left.pop(0), "more_body": len(left) > 0}

    start, *_ = await request(acme, "POST", HOOK, receive, headers=headers)
    assert start["status"] == 202
    assert len(acme.triggers()) == 1
