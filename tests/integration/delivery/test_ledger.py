"""The ledger and replay over the bus, as the gateway asks for them."""

import asyncio
import json
from collections import Counter
from typing import Any

import pytest

from rota_common.errors import Permanent
from rota_contracts.catalog import (
    DELIVERY_ACCEPTED,
    DELIVERY_ATTEMPTED,
    DELIVERY_COMPLETED,
    DELIVERY_FAILED,
    DELIVERY_SETTLED,
    LIST_DELIVERIES,
    READ_DELIVERY,
    REPLAY_DELIVERIES,
    SWITCH_TARGET,
)
from rota_contracts.envelope import Event
from rota_contracts.messages.delivery import ReadDelivery
from rota_contracts.messages.delivery_log import ListDeliveries, ReplayDeliveries, ReplayedDelivery
from rota_contracts.messages.targets import SwitchTarget
from tests.integration.delivery.conftest import World
from tests.integration.delivery.receivers import HttpReceiver

OUTAGE = 200


def hook(receiver: HttpReceiver) -> dict[str, Any]:
    return {"preferences": {"webhook": {"targets": [{"url": receiver.url()}]}}}


@pytest.fixture(autouse=True)
def no_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    """A receiver that fails is tried on."""
    monkeypatch.setattr("delivery_center.domain.circuit_breaker.IN_A_ROW", 10**9)


async def no_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """How a receiver is that is down."""


async def replayed(world: World, **fields: Any) -> list[ReplayedDelivery]:
    """All pages."""
    found: list[ReplayedDelivery] = []
    after = ""
    while True:
        asked = ReplayDeliveries.model_validate({"team_id": "acme", "replay_id": "p1", "after": after} | fields)
        answer = await world.gateway.ask(REPLAY_DELIVERIES, asked)
        found += answer.replayed
        after = answer.next
        if not after:
            return found


async def listed(world: World, **fields: Any) -> list[str]:
    """The requests of all pages, newest first."""
    found: list[str] = []
    after = ""
    while True:
        asked = ListDeliveries.model_validate({"team_id": "acme", "limit": 50, "after": after} | fields)
        answer = await world.gateway.ask(LIST_DELIVERIES, asked)
        found += [each.request_id for each in answer.deliveries]
        after = answer.next
        if not after:
            return found


async def settled(world: World, count: int) -> list[Event[Any]]:
    """The deliveries that are settled, once there are `count`. Who listens beside the stream may hear one twice: what
    comes second in a race of two replicas is on its way before the stream refuses it."""
    heard = count
    while True:
        events = {event.id: event for event in await world.heard(DELIVERY_SETTLED, heard)}
        if len(events) >= count:
            return list(events.values())
        heard += count - len(events)


@pytest.mark.once
async def test_after_an_outage_one_command_delivers_all_that_was_given_up(world: World, receiver: HttpReceiver) -> None:
    receiver.manner = no_answer
    await world.robot(hook(receiver))
    await world.hear(DELIVERY_ACCEPTED, DELIVERY_SETTLED)
    await asyncio.gather(*(world.start(retry_schedule=(0.05,)) for _ in range(2)))
    for start in range(0, OUTAGE, 50):
        await asyncio.gather(*(world.request(f"r{number}") for number in range(start, start + 50)))
    first = await settled(world, OUTAGE)
    everything = {f"r{number}" for number in range(OUTAGE)}
    assert set(await listed(world, state="failed")) == everything
    receiver.manner = None
    receiver.got.clear()
    sent = await replayed(world, member_id="ann")
    assert {each.replay_of for each in sent} == everything
    again = (await settled(world, 2 * OUTAGE))[OUTAGE:]
    assert all(event.data.success for event in again)
    assert {event.data.replay_of for event in again} == everything
    assert Counter(json.loads(got.body)["data"]["replay_of"] for got in receiver.got) == dict.fromkeys(everything, 1)
    new_ids = {got.headers["webhook-id"] for got in receiver.got}
    assert len(new_ids) == OUTAGE
    assert not new_ids & {event.data.results[0].delivery_id for event in first}
    assert await replayed(world, member_id="ann", replay_id="p2") == [], "nothing is left"
    assert len(await listed(world)) == 2 * OUTAGE
    assert [event.sequence for event in await world.kept(DELIVERY_SETTLED)] == list(range(1, 2 * OUTAGE + 1))


async def test_a_replay_is_told_as_one_and_the_execution_hears_nothing_of_it(
    world: World, receiver: HttpReceiver
) -> None:
    receiver.will_answer(410)
    await world.robot(hook(receiver))
    await world.hear(DELIVERY_ACCEPTED, DELIVERY_SETTLED)
    await world.start(disable_after=1e9)
    await world.request()
    await world.heard(DELIVERY_SETTLED)
    (target,) = (await world.gateway.ask(READ_DELIVERY, ReadDelivery(team_id="acme", request_id="r1"))).targets
    await enabled(world, target.result.target_id)
    (one,) = await replayed(world, request_id="r1")
    (*_, settled) = await world.heard(DELIVERY_SETTLED, 2)
    assert (settled.data.request_id, settled.data.replay_of, settled.data.success) == (one.request_id, "r1", True)
    kept = {
        channel.name: [event.data.replay_of for event in await world.kept(channel)]
        for channel in (DELIVERY_ATTEMPTED, DELIVERY_FAILED, DELIVERY_COMPLETED)
    }
    assert kept == {
        DELIVERY_ATTEMPTED.name: [None, "r1"],
        DELIVERY_FAILED.name: [None],
        DELIVERY_COMPLETED.name: [None],
    }
    assert {event.data.request_id for event in await world.kept(DELIVERY_ACCEPTED)} == {"r1"}


async def enabled(world: World, target_id: str) -> None:
    """A receiver that says 410 is switched off."""
    switch = SwitchTarget(team_id="acme", target_id=target_id, enabled=True)
    await world.gateway.ask(SWITCH_TARGET, switch)


async def test_a_delivery_is_read_with_what_its_receiver_said(world: World, receiver: HttpReceiver) -> None:
    receiver.will_answer(500)
    await world.robot(hook(receiver))
    await world.hear(DELIVERY_SETTLED)
    await world.start()
    await world.request()
    await world.heard(DELIVERY_SETTLED)
    found = await world.gateway.ask(READ_DELIVERY, ReadDelivery(team_id="acme", request_id="r1"))
    assert [each.details for each in found.targets[0].attempts] == [
        {"status": 500, "body": "as scripted"},
        {"status": 200, "body": "thanks"},
    ]
    assert found.context is not None
    assert (found.context.execution_id, found.summary) == ("e1", "15 new leads.")
    assert found == await world.gateway.ask(READ_DELIVERY, ReadDelivery(team_id="acme", execution_id="e1"))
    theirs = await world.gateway.ask(READ_DELIVERY, ReadDelivery(team_id="other", request_id="r1"))
    assert theirs.request_id is None


async def test_a_deleted_robots_deliveries_are_not_replayed(world: World, receiver: HttpReceiver) -> None:
    await world.robot(hook(receiver))
    await world.hear(DELIVERY_SETTLED)
    await world.start()
    await world.request()
    await world.heard(DELIVERY_SETTLED)
    await world.robot(hook(receiver), deleted=True, rev=2)
    with pytest.raises(Permanent, match="the robot ann was deleted: nothing is replayed"):
        await until_refused(world)


async def until_refused(world: World) -> None:
    """Each replica hears of it in its own time."""
    for number in range(200):
        await replayed(world, request_id="r1", targets="all", replay_id=f"p{number}")
        await asyncio.sleep(0.02)
