"""Definitions from memory: read once, never older than the revision that is promised, within bounds."""

import asyncio
import contextlib
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from rota_common import topology
from rota_common.bus.connection import Bus
from rota_common.bus.definition_memory import ENTRY, KEEP_S, DefinitionMemory, footprint
from rota_common.bus.known_robots import KnownRobots
from rota_common.runtime.embedded_servers import nats_server
from rota_common.testing.patience import PATIENCE_S
from rota_common.testing.samples import a_robot
from rota_contracts.robots.robot import Robot
from rota_contracts.streams import ROBOTS_BUCKET

pytestmark = pytest.mark.integration
ANN = "acme", "ann"


class CountedRobots(KnownRobots):
    """How often the bucket was read; `after_reading` happens between an answer of the bucket and its use."""

    def __init__(self, bus: Bus, *, after_reading: Callable[[], Awaitable[None]] | None = None) -> None:
        super().__init__(bus)
        self.readings, self.after_reading = 0, after_reading

    async def find(self, team: str, member: str) -> Robot | None:
        self.readings += 1
        found = await super().find(team, member)
        if self.after_reading is not None:
            await self.after_reading()
        return found


async def put(bus: Bus, robot: Robot) -> None:
    bucket = await bus.jetstream.key_value(ROBOTS_BUCKET)
    await bucket.put(f"{robot.team_id}.{robot.member_id}", robot.model_dump_json().encode())


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await condition():
            await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def kept_current(robots: CountedRobots) -> AsyncIterator[None]:
    async def follow() -> None:
        while await robots.keep_current():
            pass

    async def answers_from_memory() -> bool:
        await robots.known(*ANN)
        before = robots.readings
        await robots.known(*ANN)
        return robots.readings == before

    following = asyncio.create_task(follow())
    try:
        await until(answers_from_memory)
        yield
    finally:
        following.cancel()
        await asyncio.wait([following])


async def test_a_definition_in_use_is_read_once_and_its_changes_come_by_themselves(bus: Bus) -> None:
    robots = CountedRobots(bus)
    await put(bus, a_robot(rev=1))
    async with kept_current(robots):
        read = robots.readings
        assert await robots.known(*ANN, rev=1) == a_robot(rev=1)
        await put(bus, changed := a_robot(rev=2, deleted=True))

        async def current() -> bool:
            return await robots.known(*ANN) == changed

        await until(current)
        assert robots.readings == read
    await robots.known(*ANN)
    assert robots.readings == read + 1  # it isn't kept current any more


async def test_an_older_definition_than_promised_is_read_anew(bus: Bus) -> None:
    robots = CountedRobots(bus)
    await put(bus, a_robot(rev=1))
    async with kept_current(robots):
        read = robots.readings
        for rev in range(2, 7):  # the watch may be faster or slower
            await put(bus, changed := a_robot(rev=rev))
            assert await robots.known(*ANN, rev=rev) == changed
        assert await robots.known(*ANN, rev=99) == changed  # the bucket is behind
        assert robots.readings > read


async def test_what_changes_while_it_is_read_is_not_kept_as_it_was(bus: Bus) -> None:
    robots = CountedRobots(bus)
    for member in ("ann", "ben"):
        await put(bus, a_robot(member_id=member, rev=1))
    async with kept_current(robots):

        async def change() -> None:
            robots.after_reading = None
            await put(bus, a_robot(member_id="ben", rev=2))
            await put(bus, a_robot(rev=2))

            async def passed() -> bool:  # the watch is in order: what came before was handled
                ann = await robots.known(*ANN)
                return ann is not None and ann.rev == 2

            await until(passed)

        robots.after_reading = change
        before_the_change = await robots.known("acme", "ben")
        assert before_the_change is not None
        assert before_the_change.rev == 1
        assert await robots.known("acme", "ben") == a_robot(member_id="ben", rev=2)


async def test_what_is_no_definition_stops_nothing(bus: Bus) -> None:
    robots = CountedRobots(bus)
    await put(bus, a_robot(rev=1))
    async with kept_current(robots):
        bucket = await bus.jetstream.key_value(ROBOTS_BUCKET)
        await bucket.put("acme.ben", b"{}")
        await put(bus, a_robot(rev=2))

        async def current() -> bool:
            robot = await robots.known(*ANN)
            return robot is not None and robot.rev == 2

        await until(current)
        read = robots.readings
        await robots.known(*ANN)
        assert robots.readings == read


async def test_an_interrupted_connection_forgets_all(tmp_path: Path) -> None:
    server = nats_server(tmp_path)
    await server.start()
    await topology.apply_to(server.url)
    bus, writer = Bus(server.url, name="test"), Bus(server.url, name="writer")
    try:
        await bus.connect()
        await writer.connect()
        robots = CountedRobots(bus)
        await put(writer, a_robot(rev=1))
        async with kept_current(robots):
            read = robots.readings
            await server.kill()
            await server.start()

            async def changed() -> bool:
                if writer.connected:
                    await put(writer, a_robot(rev=2))
                return writer.connected

            async def connected() -> bool:
                return bus.connected

            await until(changed)
            await until(connected)
            assert await robots.known(*ANN) == a_robot(rev=2)
            assert robots.readings > read
    finally:
        await asyncio.gather(bus.stop(), writer.stop())
        await server.stop()


def test_a_definition_counts_with_all_that_it_takes_in_memory(subtests: pytest.Subtests) -> None:
    many_parts = {"events": [{"type": "webhook", "source": f"s{number}"} for number in range(500)]}
    for name, text in {"plain": a_robot(), "many parts": a_robot(config=many_parts)}.items():
        encoded = text.model_dump_json().encode()
        Robot.model_validate_json(encoded)  # what is made once is made by now
        tracemalloc.start()
        robot = Robot.model_validate_json(encoded)
        taken = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        with subtests.test(name):
            assert taken <= footprint(robot) + ENTRY


def test_the_memory_is_bounded() -> None:
    size = footprint(plain := a_robot()) + ENTRY
    memory = DefinitionMemory[Robot](20 * size)
    for number in range(100):
        memory.put(("acme", f"m{number}"), plain)
        assert memory.size <= 20 * size
    assert [number for number in range(100) if memory.get(("acme", f"m{number}"))] == list(range(80, 100))


def test_a_team_with_large_definitions_pushes_out_its_own_alone() -> None:
    plain = a_robot()
    memory = DefinitionMemory[Robot](20 * (footprint(plain) + ENTRY))
    for number in range(5):
        memory.put(("small", f"m{number}"), plain)
    for number in range(200):
        memory.put(("large", f"m{number}"), plain)
    assert all(memory.get(("small", f"m{number}")) for number in range(5))


def test_a_definition_is_kept_for_a_minute() -> None:  # EX-79
    now = 0.0
    memory = DefinitionMemory[Robot](10**6, clock=lambda: now)
    memory.put(ANN, a_robot())
    now = KEEP_S
    assert memory.get(ANN) == a_robot()
    now = KEEP_S + 0.1
    assert memory.get(ANN) is None
