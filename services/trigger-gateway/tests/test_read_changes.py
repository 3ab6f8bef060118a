"""Reading one database, and seeing to it that each is read: what is done when something is in the way."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest

from rota_common.errors import Transient
from rota_contracts.messages.trigger import TriggerReceivedV1
from rota_contracts.robots.robot import Robot
from trigger_gateway.adapters.in_memory_databases import InMemoryDatabases, InMemoryStreamLeases
from trigger_gateway.adapters.in_memory_inbound_log import InMemoryInboundLog
from trigger_gateway.adapters.in_memory_stores import InMemoryRobots, InMemorySources, InMemoryTriggers
from trigger_gateway.databases import read_changes
from trigger_gateway.databases.assign_databases import AssignDatabases
from trigger_gateway.databases.change_event import Change
from trigger_gateway.databases.change_streams import ReadingState, StreamBroken
from trigger_gateway.databases.read_changes import ReadChanges
from trigger_gateway.problems import Invalid
from trigger_gateway.robots.record import RobotRecord
from trigger_gateway.robots.routes import Routes
from trigger_gateway.sources.source import DatabaseSettings, Source

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
CONFIG = {"identity": {"role": "Greeter"}, "events": [{"type": "database", "source": "crm"}]}


class World:
    """The source `crm` of the team `acme`, and the robot `leader` that wants its changes. The clock stands still."""

    def __init__(self) -> None:
        self.sources, self.robots, self.triggers = InMemorySources(), InMemoryRobots(), InMemoryTriggers()
        self.databases, self.readings, self.inbound = (
            InMemoryDatabases(),
            InMemoryStreamLeases(self.clock),
            InMemoryInboundLog(),
        )
        self.source = Source("acme", "crm", AT, database=settings())

    def clock(self) -> datetime:
        return AT

    async def prepare(self) -> None:
        await self.sources.add(self.source)
        robot = {"member_id": "leader", "team_id": "acme", "rev": 1, "robot_config": CONFIG}
        await self.robots.insert(RobotRecord(Robot.model_validate(robot), AT))

    def reader(self, triggers: Any = None) -> ReadChanges:
        routes = Routes(sources=self.sources, robots=self.robots, clock=self.clock)
        return ReadChanges(
            databases=self.databases,
            leases=self.readings,
            routes=routes,
            triggers=triggers or self.triggers,
            inbound=self.inbound,
            clock=self.clock,
            random=Random(1),
            service="test",
            outages=(),
        )

    @asynccontextmanager
    async def reading(self, triggers: Any = None) -> AsyncIterator[None]:
        lease = await self.readings.acquire(self.source, "a")
        assert lease is not None
        task = asyncio.create_task(self.reader(triggers)(self.source, lease))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def until(self, so: Callable[[], bool]) -> None:
        async with asyncio.timeout(5):
            while not so():
                await asyncio.sleep(0.001)

    async def until_state(self, state: ReadingState, reason: str = "", *, changes: int = 0) -> None:
        told = None
        try:
            async with asyncio.timeout(5):
                while told != (state, reason, changes):
                    await asyncio.sleep(0.001)
                    status = await self.readings.status("acme", "crm")
                    told = status.state, status.reason, status.changes
        except TimeoutError:
            raise AssertionError(f"it isn't so: {told}") from None


def settings(**more: Any) -> DatabaseSettings:
    given = {"url": "$ENV.CRM_URL", "database": "sales", "collection": "leads"}
    return DatabaseSettings.model_validate(given | more)


def change(number: int, **more: Any) -> Change:
    return Change(**{"token": str(number), "operation": "insert", "at": AT, "key": {"_id": number}} | more)


@pytest.fixture
async def world(monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(read_changes, "RETRY_BASE_S", 0.001)
    made = World()
    await made.prepare()
    return made


async def test_a_place_is_noted_only_once_its_triggers_are_stored(world: World) -> None:
    world.triggers.away = True
    async with world.reading():
        await world.databases.append(*map(change, range(3)))
        await world.until_state(ReadingState.WAITING, "NATS: not connected", changes=0)
        world.triggers.away = False
        await world.until_state(ReadingState.READING, changes=3)
        assert len(world.triggers.published) == 3


class Picky(InMemoryTriggers):
    """Takes no trigger of the change 1."""

    async def publish(self, trigger: TriggerReceivedV1, *, trace: str = "") -> bool:
        if trigger.input.data["document_key"] == {"_id": 1}:
            raise Invalid("too_large", "the request is too large")
        return await super().publish(trigger, trace=trace)


async def test_what_can_never_be_stored_holds_up_nobody(world: World) -> None:
    triggers = Picky()
    async with world.reading(triggers):
        await world.databases.append(change(0), change(1), change(2, unreadable="who knows"), change(3))
        await world.until(lambda: len(triggers.published) == 2)
    keys = [trigger.input.data["document_key"]["_id"] for trigger in triggers.published.values()]
    assert keys == [0, 3]
    lines, _ = await world.inbound.page("acme", "crm", page=1, page_size=10)
    assert [line.reason for line in lines if line.reason] == ["unreadable_change"]


async def test_a_loss_is_noted_and_reading_goes_on(world: World) -> None:
    async with world.reading():
        await world.databases.append(change(0))
        await world.until(lambda: len(world.triggers.published) == 1)
        world.databases.broken = StreamBroken("the log has ended")
        await world.databases.append()
        await world.until_state(ReadingState.LOST, "the log has ended", changes=1)
        await world.databases.append(change(1))
        await world.until(lambda: len(world.triggers.published) == 2)


@pytest.mark.parametrize("failure", [Transient("no answer"), RuntimeError("a bug")])
async def test_whatever_goes_wrong_it_is_said_and_tried_again(world: World, failure: Exception) -> None:
    world.databases.away = failure
    async with world.reading():
        reason = "no answer" if isinstance(failure, Transient) else read_changes.BUG
        await world.until_state(ReadingState.WAITING, reason)
        world.databases.away = None
        await world.databases.append(change(0))
        await world.until(lambda: len(world.triggers.published) == 1)


async def test_whoever_was_replaced_stops(world: World) -> None:
    lease = await world.readings.acquire(world.source, "a")
    assert lease is not None
    await world.readings.release(lease)
    await world.readings.acquire(world.source, "b")
    async with asyncio.timeout(5):
        await world.reader()(world.source, lease)


class Replica:
    """Notes what it is told to read, and reads until it is cancelled."""

    def __init__(self, world: World, name: str) -> None:
        self.now: list[str] = []
        self.assign_databases = AssignDatabases(
            sources=world.sources,
            leases=world.readings,
            read=self._read,
            random=Random(1),
            owner=name,
            service="test",
        )

    async def _read(self, source: Source, lease: Any) -> None:
        self.now.append(source.name)
        try:
            await asyncio.Event().wait()
        finally:
            self.now.remove(source.name)

    async def assign(self) -> list[str]:
        await self.assign_databases.assign()
        await asyncio.sleep(0)
        return self.now


async def test_a_database_is_read_by_one_until_it_is_gone(world: World) -> None:
    first, second = Replica(world, "a"), Replica(world, "b")
    assert await first.assign() == ["crm"]
    assert await second.assign() == []
    assert await first.assign() == ["crm"]
    await world.sources.remove("acme", "crm")
    assert await first.assign() == []


async def test_replicas_take_some_at_a_time_so_that_others_get_some_too(world: World) -> None:
    for number in range(14):
        await world.sources.add(Source("acme", f"crm{number}", AT, database=settings()))
    first, second = Replica(world, "a"), Replica(world, "b")
    assert len(await first.assign()) == 10
    assert len(await second.assign()) == 5
    assert sorted(first.now + second.now) == sorted({*first.now, *second.now})


async def test_a_replica_reads_no_more_than_it_can(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trigger_gateway.databases.assign_databases.AT_MOST", 3)
    for number in range(5):
        await world.sources.add(Source("acme", f"crm{number}", AT, database=settings()))
    first = Replica(world, "a")
    assert len(await first.assign()) == 3
    assert len(await first.assign()) == 3


async def test_a_loop_that_is_stopped_hands_everything_over(world: World) -> None:
    first, second = Replica(world, "a"), Replica(world, "b")
    loop = asyncio.create_task(first.assign_databases.loop())
    await world.until(lambda: first.now == ["crm"])
    loop.cancel()
    await asyncio.gather(loop, return_exceptions=True)
    assert first.now == []
    assert await second.assign() == ["crm"]
