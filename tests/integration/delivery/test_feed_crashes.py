"""A replica is killed around the publishing of facts: a subscriber sees each once, counted without a gap, also when
another publishes them after the stream has forgotten their ids."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from delivery_center.adapters.mongo_deliveries import MongoDeliveries
from delivery_center.domain.delivery import Delivery
from rota_common.runtime.service import Service
from rota_common.testing.bus import shorten_duplicate_window
from rota_contracts.catalog import (
    DELIVERY_ACCEPTED,
    DELIVERY_ATTEMPTED,
    DELIVERY_COMPLETED,
    DELIVERY_FAILED,
    DELIVERY_SETTLED,
    FEED,
    Channel,
)
from tests.integration.delivery.harness import ServersHarness as Harness
from tests.integration.delivery.receivers import HttpReceiver
from tests.integration.delivery.test_crashes import SHORT_LEASE, Stuck, hooks, killed_at, stuck_before

pytestmark = pytest.mark.once
FEED_OF_ONE = (DELIVERY_ATTEMPTED, DELIVERY_COMPLETED, DELIVERY_SETTLED)
WINDOW_S = 0.1


@pytest.fixture
def harness(own_harness: Harness) -> Harness:
    return own_harness


async def forgotten() -> None:
    """The stream's memory of ids is a matter of time alone."""
    await asyncio.sleep(3 * WINDOW_S)


async def counted(harness: Harness, channel: Channel[Any]) -> list[int | None]:
    """The numbers that a subscriber reads, in their order; each fact once."""
    kept = await harness.in_stream(channel)
    assert len({event.id for event in kept}) == len(kept)
    return [event.sequence for event in kept]


async def start_with(harness: Harness, receiver: HttpReceiver, *answers: int) -> None:
    receiver.will_answer(*answers)
    await shorten_duplicate_window(harness.nats_url, FEED, after=WINDOW_S)
    await harness.robot({"preferences": hooks(receiver.url())})
    await harness.listen(DELIVERY_ACCEPTED, DELIVERY_SETTLED, DELIVERY_FAILED)


def ids(receiver: HttpReceiver) -> Sequence[str]:
    return [got.headers["webhook-id"] for got in receiver.got]


@pytest.mark.soak
async def test_killed_between_sending_and_recording_the_id_is_repeated_and_the_fact_is_not(
    harness: Harness, receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    await start_with(harness, receiver)
    with monkeypatch.context() as patch:
        patch.setattr(MongoDeliveries, "record_first", stuck := Stuck())
        first = await harness.start()
        await harness.request()
        await killed_at(stuck.reached, first, harness)
    await forgotten()
    await harness.start()
    await harness.events(DELIVERY_ACCEPTED)
    assert len(ids(receiver)) == 2
    assert len(set(ids(receiver))) == 1
    assert [await counted(harness, channel) for channel in FEED_OF_ONE] == [[1]] * 3


# F8
@pytest.mark.parametrize("channel", [*FEED_OF_ONE, DELIVERY_ACCEPTED], ids=lambda channel: channel.name)
@pytest.mark.soak
async def test_killed_between_recording_and_publishing_each_fact_is_stored_once(
    harness: Harness, receiver: HttpReceiver, channel: Channel[Any]
) -> None:
    await start_with(harness, receiver)
    first = await harness.start()
    stuck = stuck_before(first, channel)
    await harness.request()
    await killed_at(stuck.reached, first, harness)
    await forgotten()
    await harness.start()
    await harness.events(DELIVERY_ACCEPTED)
    assert len(ids(receiver)) == 1
    assert [await counted(harness, each) for each in FEED_OF_ONE] == [[1]] * 3


@pytest.mark.soak
async def test_killed_before_the_request_is_acknowledged_no_fact_is_stored_twice(
    harness: Harness, receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    await start_with(harness, receiver)
    with monkeypatch.context() as patch:
        patch.setattr("rota_common.bus.handling.acknowledge", stuck := Stuck())
        first = await harness.start()
        await harness.request()
        await killed_at(stuck.reached, first, harness)
    await forgotten()
    await harness.start()
    await harness.events(DELIVERY_ACCEPTED, 2)
    await harness.request("r2")
    await harness.events(DELIVERY_ACCEPTED, 3)
    assert [await counted(harness, channel) for channel in FEED_OF_ONE] == [[1, 2]] * 3


@pytest.mark.soak
async def test_killed_between_publishing_a_retry_and_releasing_it_no_fact_is_stored_twice(
    harness: Harness, receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    await start_with(harness, receiver, 500, 500, 500)
    monkeypatch.setattr("delivery_center.use_cases.LEASE_MARGIN_S", 0.0)
    stuck, save = Stuck(), MongoDeliveries.save

    async def save_but_not_let_go(store: MongoDeliveries, delivery: Delivery) -> bool:
        return bool(await (save(store, delivery) if delivery.claimed else stuck()))

    with monkeypatch.context() as patch:
        patch.setattr(MongoDeliveries, "save", save_but_not_let_go)
        first = await harness.start(**SHORT_LEASE)
        await harness.request()
        await killed_at(stuck.reached, first, harness)
    await forgotten()
    await harness.start(**SHORT_LEASE)
    await harness.events(DELIVERY_SETTLED)
    assert await counted(harness, DELIVERY_ATTEMPTED) == [1, 2, 3]
    assert [await counted(harness, each) for each in (DELIVERY_FAILED, DELIVERY_SETTLED)] == [[1], [1]]
    assert len(set(ids(receiver))) == 1


@pytest.mark.parametrize("channel", [DELIVERY_ATTEMPTED, DELIVERY_FAILED, DELIVERY_SETTLED], ids=lambda each: each.name)
@pytest.mark.soak
async def test_killed_between_recording_a_retry_and_publishing_it_each_fact_is_stored_once(
    harness: Harness, receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch, channel: Channel[Any]
) -> None:
    await start_with(harness, receiver, 500, 500, 410)
    monkeypatch.setattr("delivery_center.use_cases.LEASE_MARGIN_S", 0.0)
    first = await harness.start(**SHORT_LEASE)
    stuck = stuck_at_the_last(first, channel, receiver)
    await harness.request()
    await killed_at(stuck.reached, first, harness)
    await forgotten()
    await harness.start(**SHORT_LEASE)
    await harness.events(DELIVERY_SETTLED)
    assert await counted(harness, DELIVERY_ATTEMPTED) == [1, 2, 3]
    assert [await counted(harness, each) for each in (DELIVERY_FAILED, DELIVERY_SETTLED)] == [[1], [1]]
    assert len(ids(receiver)) == 3


def stuck_at_the_last(service: Service, channel: Channel[Any], receiver: HttpReceiver) -> Stuck:
    """The service publishes nothing on this channel once the receiver's script has ended."""
    stuck, jetstream = Stuck(), service.bus.jetstream
    publish: Any = jetstream.publish

    async def held(subject: str, *args: Any, **given: Any) -> Any:
        last = subject.startswith(channel.type) and not receiver.script
        return await (stuck() if last else publish(subject, *args, **given))

    jetstream.publish = held  # type: ignore[method-assign]  # only so can the moment be met
    return stuck
