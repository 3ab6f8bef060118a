"""The delivery log and replays over NATS, as the gateway asks for them."""

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
from tests.integration.delivery.harness import Harness
from tests.integration.delivery.receivers import HttpReceiver

OUTAGE = 200
TOGETHER = 50


def hook(receiver: HttpReceiver) -> dict[str, Any]:
    return {"preferences": {"webhook": {"targets": [{"url": receiver.url()}]}}}


@pytest.fixture(autouse=True)
def no_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    """A receiver that fails is tried on."""
    monkeypatch.setattr("delivery_center.domain.circuit_breaker.CONSECUTIVE_FAILURES", 10**9)


async def no_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """How a receiver is that is down."""


async def replayed(harness: Harness, **fields: Any) -> list[ReplayedDelivery]:
    """All pages."""
    found: list[ReplayedDelivery] = []
    after = ""
    while True:
        asked = ReplayDeliveries.model_validate({"team_id": harness.team, "replay_id": "p1", "after": after} | fields)
        answer = await harness.ask(REPLAY_DELIVERIES, asked)
        found += answer.replayed
        after = answer.next
        if not after:
            return found


async def listed(harness: Harness, **fields: Any) -> list[str]:
    """The requests of all pages, newest first."""
    found: list[str] = []
    after = ""
    while True:
        asked = ListDeliveries.model_validate({"team_id": harness.team, "limit": 50, "after": after} | fields)
        answer = await harness.ask(LIST_DELIVERIES, asked)
        found += [each.request_id for each in answer.deliveries]
        after = answer.next
        if not after:
            return found


async def settled(harness: Harness, count: int) -> list[Event[Any]]:
    """The deliveries that are settled, once there are `count`; each `TOGETHER` of them have their own time. Who listens
    beside the stream may hear one twice: what comes second in a race of two replicas is on its way before the stream
    refuses it."""
    events: dict[str, Event[Any]] = {}
    heard = 0
    while len(events) < count:
        heard += min(TOGETHER, count - len(events))
        events = {event.id: event for event in await harness.events(DELIVERY_SETTLED, heard)}
    return list(events.values())


# F5
@pytest.mark.soak
@pytest.mark.once
async def test_one_replay_after_an_outage_delivers_everything_that_was_given_up(
    harness: Harness, receiver: HttpReceiver
) -> None:
    receiver.manner = no_answer
    await harness.robot(hook(receiver))
    await harness.listen(DELIVERY_ACCEPTED, DELIVERY_SETTLED)
    await asyncio.gather(*(harness.start(retry_schedule=(0.05,)) for _ in range(2)))
    for start in range(0, OUTAGE, TOGETHER):
        await asyncio.gather(*(harness.request(f"r{number}") for number in range(start, start + TOGETHER)))
    first = await settled(harness, OUTAGE)
    everything = {f"r{number}" for number in range(OUTAGE)}
    assert set(await listed(harness, state="failed")) == everything
    receiver.manner = None
    receiver.got.clear()
    sent = await replayed(harness, member_id="ann")
    assert {each.replay_of for each in sent} == everything
    again = (await settled(harness, 2 * OUTAGE))[OUTAGE:]
    assert all(event.data.success for event in again)
    assert {event.data.replay_of for event in again} == everything
    assert Counter(json.loads(got.body)["data"]["replay_of"] for got in receiver.got) == dict.fromkeys(everything, 1)
    new_ids = {got.headers["webhook-id"] for got in receiver.got}
    assert len(new_ids) == OUTAGE
    assert not new_ids & {event.data.results[0].delivery_id for event in first}
    assert await replayed(harness, member_id="ann", replay_id="p2") == [], "nothing is left"
    assert len(await listed(harness)) == 2 * OUTAGE
    assert [event.sequence for event in await harness.in_stream(DELIVERY_SETTLED)] == list(range(1, 2 * OUTAGE + 1))


async def test_the_facts_of_a_replay_refer_to_it_and_none_goes_to_the_execution(
    harness: Harness, receiver: HttpReceiver
) -> None:
    receiver.will_answer(410)
    await harness.robot(hook(receiver))
    await harness.listen(DELIVERY_ACCEPTED, DELIVERY_SETTLED)
    await harness.start(disable_after=1e9)
    await harness.request()
    await harness.events(DELIVERY_SETTLED)
    (target,) = (await harness.ask(READ_DELIVERY, ReadDelivery(team_id=harness.team, request_id="r1"))).targets
    await enabled(harness, target.result.target_id)
    (one,) = await replayed(harness, request_id="r1")
    (*_, settled) = await harness.events(DELIVERY_SETTLED, 2)
    assert (settled.data.request_id, settled.data.replay_of, settled.data.success) == (one.request_id, "r1", True)
    kept = {
        channel.name: [event.data.replay_of for event in await harness.in_stream(channel)]
        for channel in (DELIVERY_ATTEMPTED, DELIVERY_FAILED, DELIVERY_COMPLETED)
    }
    assert kept == {
        DELIVERY_ATTEMPTED.name: [None, "r1"],
        DELIVERY_FAILED.name: [None],
        DELIVERY_COMPLETED.name: [None],
    }
    assert {event.data.request_id for event in await harness.in_stream(DELIVERY_ACCEPTED)} == {"r1"}


async def enabled(harness: Harness, target_id: str) -> None:
    """A receiver that replies 410 is disabled."""
    switch = SwitchTarget(team_id=harness.team, target_id=target_id, enabled=True)
    await harness.ask(SWITCH_TARGET, switch)


async def test_a_delivery_is_read_with_its_receivers_replies(harness: Harness, receiver: HttpReceiver) -> None:
    receiver.will_answer(500)
    await harness.robot(hook(receiver))
    await harness.listen(DELIVERY_SETTLED)
    await harness.start()
    await harness.request()
    await harness.events(DELIVERY_SETTLED)
    found = await harness.ask(READ_DELIVERY, ReadDelivery(team_id=harness.team, request_id="r1"))
    assert [each.details for each in found.targets[0].attempts] == [
        {"status": 500, "body": "as scripted"},
        {"status": 200, "body": "thanks"},
    ]
    assert found.context is not None
    assert (found.context.execution_id, found.summary) == ("e1", "15 new leads.")
    assert found == await harness.ask(READ_DELIVERY, ReadDelivery(team_id=harness.team, execution_id="e1"))
    theirs = await harness.ask(READ_DELIVERY, ReadDelivery(team_id="other", request_id="r1"))
    assert theirs.request_id is None


async def test_a_deleted_robots_deliveries_are_not_replayed(harness: Harness, receiver: HttpReceiver) -> None:
    await harness.robot(hook(receiver))
    await harness.listen(DELIVERY_SETTLED)
    await harness.start()
    await harness.request()
    await harness.events(DELIVERY_SETTLED)
    await harness.robot(hook(receiver), deleted=True, rev=2)
    with pytest.raises(Permanent, match="the robot ann was deleted: nothing is replayed"):
        await replayed_until_refused(harness)


async def replayed_until_refused(harness: Harness) -> None:
    """Each replica receives it in its own time."""
    for number in range(200):
        await replayed(harness, request_id="r1", targets="all", replay_id=f"p{number}")
        await asyncio.sleep(0.02)
