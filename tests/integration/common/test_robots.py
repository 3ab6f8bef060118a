"""Following the robots' bucket: everything there is, a mark, and then what changes."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from nats.errors import Error as NatsError

from rota_common.bus.connection import Bus
from rota_common.bus.robots import AT_ONCE, Robots
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_contracts.streams import ROBOTS_BUCKET

MANY = 2 * AT_ONCE + 1


@pytest_asyncio.fixture
async def bus(nats: EmbeddedServer) -> AsyncIterator[Bus]:
    bus = Bus(nats.url, name="scheduler")
    await bus.connect()
    yield bus
    await bus.stop()


async def put(bus: Bus, *members: str, text: str = "") -> None:
    bucket = await bus.jetstream.key_value(ROBOTS_BUCKET)
    for member in members:
        await bucket.put(f"acme.{member}", (text or member).encode())


async def test_all_that_is_there_comes_before_the_mark_and_what_changes_after_it(bus: Bus) -> None:  # SC-14
    names = [f"m{number}" for number in range(MANY)]
    await put(bus, *names)
    await put(bus, "m0", text="m0, changed")
    following = Robots(bus).follow(seconds=60)
    found = [await anext(following) for _ in range(MANY + 1)]
    assert sorted(each for each in found if each) == sorted([b"m0, changed", *(name.encode() for name in names[1:])])
    assert found[-1] is None
    await put(bus, "m1", text="m1, changed")
    assert await asyncio.wait_for(anext(following), 5) == b"m1, changed"
    await following.aclose()


async def test_the_mark_comes_at_once_where_there_is_no_robot(bus: Bus) -> None:
    following = Robots(bus).follow(seconds=60)
    assert await asyncio.wait_for(anext(following), 5) is None
    await put(bus, "m1")
    assert await asyncio.wait_for(anext(following), 5) == b"m1"
    await following.aclose()


async def test_a_robot_that_was_purged_by_hand_has_no_definition(bus: Bus) -> None:
    await put(bus, "m1", "m2")
    await (await bus.jetstream.key_value(ROBOTS_BUCKET)).purge("acme.m1")
    following = Robots(bus).follow(seconds=60)
    assert [await anext(following) for _ in range(2)] == [b"m2", None]
    await following.aclose()


async def test_no_more_is_taken_in_than_is_read(bus: Bus) -> None:
    await put(bus, *(f"m{number}" for number in range(MANY)))
    before, following = bus.client.stats["in_msgs"], Robots(bus).follow(seconds=60)
    assert await anext(following)
    await bus.client.flush()
    assert bus.client.stats["in_msgs"] - before < AT_ONCE + 10
    await following.aclose()


async def test_following_ends_in_time_and_when_it_can_not_go_on(bus: Bus) -> None:  # SC-15
    assert [each async for each in Robots(bus).follow(seconds=0)] == [None]
    following = Robots(bus).follow(seconds=60)
    assert await anext(following) is None
    for each in await bus.jetstream.consumers_info(f"KV_{ROBOTS_BUCKET}"):
        await bus.jetstream.delete_consumer(f"KV_{ROBOTS_BUCKET}", each.name)
    with pytest.raises(NatsError):
        await asyncio.wait_for(anext(following), 10)
