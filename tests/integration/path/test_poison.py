"""A poison message ends in the dead letters with its reason, and a redrive brings it back."""

import asyncio
import json
from pathlib import Path
from typing import Any

import nats as nats_client
import pytest

from rota_common.clock import now
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.runtime.service import Runtime
from rota_contracts.catalog import TRIGGER_RECEIVED
from rota_contracts.envelope import Event
from rota_contracts.ids import execution_id
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.trigger import TriggerInput, TriggerReceivedV1, TriggerType
from tests.integration.path.harness import System, a_system, example

ROBOT = "lead-processor"


def good_trigger(team: str) -> Event[TriggerReceivedV1]:
    trigger = TriggerReceivedV1(
        trigger_id=f"t-{team}",
        team_id=team,
        member_id=ROBOT,
        type=TriggerType.EVENT,
        input=TriggerInput(event_type="lead.created", data={"company": "BigCorp"}),
        received_at=now(),
    )
    return Event(id=f"e-{team}", type=TRIGGER_RECEIVED.type, source="trigger-gateway", time=now(), data=trigger)


async def publish(url: str, team: str, body: bytes, headers: dict[str, str]) -> None:
    client = await nats_client.connect(url)
    subject = TRIGGER_RECEIVED.subject(team, ROBOT)
    await client.jetstream().publish(subject, body, stream="TRIGGERS", headers=headers)
    await client.close()


async def buried(system: System) -> list[dict[str, Any]]:
    """The team's dead letters, at least one."""
    subject = TRIGGER_RECEIVED.subject(system.team, ROBOT)
    async with asyncio.timeout(40):
        while not (found := [one for one in await system.admin.dead() if one["subject"] == subject]):
            await asyncio.sleep(0.1)
    return found


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("body", "changes", "reason"),
    [
        (b"not json at all", {}, "Invalid JSON"),
        (None, {"ce-type": "rota.v1.trigger.missed"}, "rota.v1.trigger.missed"),
        (None, {"ce-id": ""}, "ce-id"),
    ],
    ids=["unreadable", "of another type", "without its envelope"],
)
async def test_an_unreadable_message_is_buried_with_its_reason(
    system: System, body: bytes | None, changes: dict[str, str], reason: str
) -> None:  # F10
    await system.api.create_robot(example(ROBOT, system.hooks.url))
    event = good_trigger(system.team)
    await publish(system.stack.nats_url, system.team, event.body() if body is None else body, event.headers() | changes)
    (letter,) = await buried(system)
    assert reason in letter["reason"]
    assert letter["consumer"] == "scheduler-trigger-received"
    after = await system.ended((await system.post_lead())["triggers"][0])  # the next one is not blocked
    assert after.status is ExecStatus.COMPLETED


async def test_a_redrive_brings_back_what_a_failing_handler_buried(
    tmp_path: Path, nats: EmbeddedServer, mongo_url: str, mongo_prefix: str
) -> None:  # F10
    broken, runtime = True, Runtime()

    def breaking(handler: Any) -> Any:
        async def maybe(message: Any) -> Any:
            if broken and isinstance(getattr(message, "data", None), TriggerReceivedV1):
                raise ZeroDivisionError("a bug, until it is fixed")
            return await handler(message)

        return maybe

    runtime = Runtime(middlewares=(breaking,))
    async with a_system(
        tmp_path / "rota", nats_url=nats.url, mongo_url=mongo_url, mongo_prefix=mongo_prefix, runtime=runtime
    ) as system:
        await system.api.create_robot(example(ROBOT, system.hooks.url))
        event = good_trigger(system.team)
        await publish(system.stack.nats_url, system.team, event.body(), event.headers())
        (letter,) = await buried(system)
        assert letter["reason"].startswith("ZeroDivisionError")
        assert letter["deliveries"] == 5
        assert "maybe" in letter["traceback"]
        trigger_id = event.data.trigger_id
        assert json.loads((await system.admin.dead_letter(letter["seq"]))["payload"])["trigger_id"] == trigger_id

        broken = False
        await system.admin.redrive(letter["seq"])
        over = await system.ended({"trigger_id": trigger_id, "execution_id": execution_id(trigger_id)})
        assert over.status is ExecStatus.COMPLETED
        assert await system.admin.dead() == []
        assert len(system.hooks.received) == 1
