"""The feed of one robot, as subscribers read it: in order, without a gap, through restarts and absences."""

import asyncio
from typing import Any

import nats as nats_py
import pytest
from nats.js.api import ConsumerConfig

from rota_common.testing.crash import crash
from rota_common.testing.patience import PATIENCE_S
from rota_contracts.catalog import (
    DELIVERY_ATTEMPTED,
    DELIVERY_COMPLETED,
    DELIVERY_SETTLED,
    FEED,
)
from rota_contracts.envelope import SEQUENCE
from rota_contracts.feed import feed_durable, feed_subject
from tests.integration.delivery.harness import ServersHarness as Harness
from tests.integration.delivery.receivers import HttpReceiver

pytestmark = pytest.mark.once
OF_ONE = (DELIVERY_ATTEMPTED, DELIVERY_COMPLETED, DELIVERY_SETTLED)


@pytest.fixture
def harness(own_harness: Harness) -> Harness:
    return own_harness


@pytest.fixture
async def robot(harness: Harness, receiver: HttpReceiver) -> None:
    await harness.robot({"preferences": {"webhook": {"targets": [{"url": receiver.url()}]}}})
    await subscribed(harness, "witness")


async def subscribed(harness: Harness, name: str) -> str:
    """The durable consumer of a new subscriber of the team's feed."""
    durable = feed_durable(harness.team, name)
    client = await nats_py.connect(harness.nats_url)
    await client.jetstream().add_consumer(
        FEED, ConsumerConfig(durable_name=durable, filter_subject=feed_subject(harness.team))
    )
    await client.close()
    return durable


async def requested(harness: Harness, start: int, end: int) -> None:
    """Requests `start` … `end` - 1 are made at once, and all their facts are stored when this returns: an attempt may
    have waited for a slot of its target until its request was accepted."""
    await asyncio.gather(*(harness.request(f"r{number}") for number in range(start, end)))
    await read(harness.nats_url, feed_durable(harness.team, "witness"), (end - start) * len(OF_ONE))


async def assert_counted_to(harness: Harness, count: int) -> None:
    for channel in OF_ONE:
        kept = await harness.in_stream(channel)
        assert [event.sequence for event in kept] == list(range(1, count + 1)), channel.name
        assert len({event.data.request_id for event in kept}) == count


async def test_two_replicas_count_the_facts_of_one_robot_together(harness: Harness, robot: None) -> None:
    await asyncio.gather(harness.start(), harness.start())
    await requested(harness, 0, 100)
    await assert_counted_to(harness, 100)


async def test_the_next_replica_continues_the_count(harness: Harness, robot: None) -> None:
    first = await harness.start()
    await requested(harness, 0, 3)
    await crash(first)
    second = await harness.start()
    await requested(harness, 3, 6)
    await second.stop()
    await harness.start()
    await requested(harness, 6, 9)
    await assert_counted_to(harness, 9)


async def test_the_count_continues_after_the_stream_has_expired_all_facts(harness: Harness, robot: None) -> None:
    first = await harness.start()
    await requested(harness, 0, 3)
    await first.stop()
    client = await nats_py.connect(harness.nats_url)
    await client.jetstream().purge_stream(FEED)
    await client.close()
    await harness.start()
    await requested(harness, 3, 5)
    for channel in OF_ONE:
        assert [event.sequence for event in await harness.in_stream(channel)] == [4, 5]


# F8
async def test_a_feed_client_that_was_away_continues_in_order(harness: Harness, robot: None) -> None:
    durable = await subscribed(harness, "crm")
    await asyncio.gather(harness.start(), harness.start())
    seen: list[tuple[str, int]] = []
    for start, end in ((0, 10), (10, 40), (40, 45)):
        await requested(harness, start, end)  # no client reads meanwhile
        seen += await read(harness.nats_url, durable, (end - start) * len(OF_ONE))
    for channel in OF_ONE:
        subject = channel.subject(harness.team, "ann")
        assert [count for name, count in seen if name == subject] == list(range(1, 46))
    assert len(seen) == 45 * len(OF_ONE)


async def read(url: str, durable: str, count: int) -> list[tuple[str, int]]:
    """What the subscriber is given now: subject and number of each."""
    client = await nats_py.connect(url)
    source = await client.jetstream().pull_subscribe_bind(durable, FEED)
    found: list[tuple[str, int]] = []
    while len(found) < count:
        for message in await source.fetch(count - len(found), timeout=PATIENCE_S):
            headers: dict[str, Any] = message.headers or {}
            found.append((message.subject, int(headers[SEQUENCE])))
            await message.ack_sync()
    await client.close()
    return found
