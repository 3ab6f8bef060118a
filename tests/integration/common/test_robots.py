"""Following the robots' bucket: everything there is, a mark, and then what changes."""

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest
from nats.errors import Error as NatsError

from rota_common.bus.bucket_changes import AT_ONCE
from rota_common.bus.connection import Bus
from rota_common.bus.robots import Robots
from rota_common.testing.in_memory_stores import InMemoryRobots
from rota_common.testing.samples import a_robot
from rota_contracts.robots.robot import Robot
from rota_contracts.streams import ROBOTS_BUCKET

MANY = 2 * AT_ONCE + 1
STREAM = f"KV_{ROBOTS_BUCKET}"
Put = Callable[[Robot], Awaitable[None]]


@pytest.fixture(params=["memory", "nats"])
def store(request: pytest.FixtureRequest) -> tuple[Robots, Put]:
    """The robots, and how the gateway puts one there."""
    if request.param == "nats":
        bus: Bus = request.getfixturevalue("bus")
        return Robots(bus), lambda robot: put(bus, robot.member_id, text=robot.model_dump_json())
    robots = InMemoryRobots()

    async def put_in_memory(robot: Robot) -> None:
        robots.put(robot)

    return robots, put_in_memory


async def put(bus: Bus, *members: str, text: str = "") -> None:
    bucket = await bus.jetstream.key_value(ROBOTS_BUCKET)
    for member in members:
        await bucket.put(f"acme.{member}", (text or member).encode())


async def test_find_returns_the_current_robot_also_a_deleted_one(store: tuple[Robots, Put]) -> None:
    robots, save = store
    assert await robots.find("acme", "ann") is None
    for robot in (a_robot(rev=1), a_robot(rev=2, deleted=True)):
        await save(robot)
        assert await robots.find("acme", "ann") == robot
    assert await robots.find("other", "ann") is None


async def test_stored_robots_precede_the_mark_and_changes_follow_it(store: tuple[Robots, Put]) -> None:
    robots, save = store  # SC-14
    names = [f"m{number}" for number in range(MANY)]
    for name in names:
        await save(a_robot(member_id=name))
    await save(a_robot(member_id="m0", rev=7))
    following = robots.follow(seconds=60)
    found = [await anext(following) for _ in range(MANY + 1)]
    read = [json.loads(each) for each in found if each]
    assert sorted((each["member_id"], each["rev"]) for each in read) == sorted(
        [("m0", 7), *((name, 1) for name in names[1:])]
    )
    assert found[-1] is None
    await save(a_robot(member_id="m1", rev=8))
    changed = await asyncio.wait_for(anext(following), 5)
    assert changed is not None
    assert json.loads(changed)["rev"] == 8
    await following.aclose()


async def test_without_robots_the_mark_is_first(store: tuple[Robots, Put]) -> None:
    robots, save = store
    following = robots.follow(seconds=60)
    assert await asyncio.wait_for(anext(following), 5) is None
    await save(a_robot())
    assert await asyncio.wait_for(anext(following), 5) == a_robot().model_dump_json().encode()
    await following.aclose()


async def test_following_ends_in_time(store: tuple[Robots, Put]) -> None:  # SC-15
    assert [each async for each in store[0].follow(seconds=0)] == [None]


async def test_a_robot_that_was_purged_by_hand_has_no_definition(bus: Bus) -> None:
    await put(bus, "m1", "m2")
    await (await bus.jetstream.key_value(ROBOTS_BUCKET)).purge("acme.m1")
    following = Robots(bus).follow(seconds=60)
    assert [await anext(following) for _ in range(2)] == [b"m2", None]
    await following.aclose()


async def test_no_more_is_fetched_than_is_read(bus: Bus) -> None:
    await put(bus, *(f"m{number}" for number in range(MANY)))
    before, following = bus.client.stats["in_msgs"], Robots(bus).follow(seconds=60)
    assert await anext(following)
    await bus.client.flush()
    assert bus.client.stats["in_msgs"] - before < AT_ONCE + 10
    await following.aclose()


async def test_following_ends_when_it_can_not_go_on(bus: Bus) -> None:  # SC-15
    following = Robots(bus).follow(seconds=60)
    assert await anext(following) is None
    for each in await bus.jetstream.consumers_info(STREAM):
        await bus.jetstream.delete_consumer(STREAM, each.name)
    with pytest.raises(NatsError):
        await asyncio.wait_for(anext(following), 10)
