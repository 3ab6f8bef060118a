"""The readings in memory keep the same promises as those in MongoDB; so do the robots that are found by a source."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rota_common.clock import now
from rota_common.stores.mongo import Mongo
from rota_common.testing.patience import PATIENCE_S
from rota_contracts.robots.robot import Robot
from trigger_gateway.adapters.in_memory_databases import InMemoryStreamLeases
from trigger_gateway.adapters.in_memory_stores import InMemoryRobots
from trigger_gateway.adapters.mongo_robots import MongoRobots
from trigger_gateway.adapters.mongo_stream_leases import MongoStreamLeases
from trigger_gateway.databases.change_streams import Lease, LeaseLost, ReadingState, ResumePoint, StreamLeases
from trigger_gateway.robots.ports import RobotRecords
from trigger_gateway.robots.record import RobotRecord
from trigger_gateway.sources.source import DatabaseSettings, Source

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
LEASE = 0.4
KEPT = 1.0


def crm(name: str = "crm", *, rev: int = 1, created_at: datetime = AT, **settings: Any) -> Source:
    given = {"url": "$ENV.CRM_URL", "database": "sales", "collection": "leads"} | settings
    return Source("acme", name, created_at, database=DatabaseSettings.model_validate(given), rev=rev)


@pytest.fixture(params=["memory", "mongo"])
async def readings(request: pytest.FixtureRequest, mongo_url: str, mongo_prefix: str) -> AsyncIterator[StreamLeases]:
    """Their leases end by the clock of the store, so that is the machine's."""
    if request.param == "memory":
        yield InMemoryStreamLeases(now, lease=LEASE, kept=KEPT)
        return
    server = Mongo(mongo_url, f"{mongo_prefix}_gateway")
    made = MongoStreamLeases(server.database, now, lease=LEASE, kept=KEPT)
    await made.prepare()
    yield made
    await server.client.drop_database(server.database.name)
    await server.close()


async def acquired(readings: StreamLeases, source: Source, owner: str) -> Lease:
    """Once it is free."""
    async with asyncio.timeout(PATIENCE_S):
        while (lease := await readings.acquire(source, owner)) is None:
            await asyncio.sleep(0.02)
    return lease


async def test_one_of_many_gets_a_source(readings: StreamLeases) -> None:
    leases = await asyncio.gather(*(readings.acquire(crm(), f"replica {number}") for number in range(10)))
    assert len([lease for lease in leases if lease is not None]) == 1
    assert await readings.unleased([crm(), crm("erp")]) == [crm("erp")]


async def test_a_lease_that_is_renewed_goes_on_and_one_that_isnt_ends(readings: StreamLeases) -> None:
    first = await acquired(readings, crm(), "a")
    for _ in range(8):
        await asyncio.sleep(LEASE / 4)
        assert await readings.renew("a") == {"acme/crm": first.epoch}
        assert await readings.acquire(crm(), "b") is None
    second = await acquired(readings, crm(), "b")
    assert (second.owner, second.epoch) == ("b", first.epoch + 1)
    assert await readings.renew("a") == {}


async def test_a_released_source_is_free_at_once(readings: StreamLeases) -> None:
    first = await acquired(readings, crm(), "a")
    await readings.release(first)
    assert await readings.unleased([crm()]) == [crm()]
    second = await readings.acquire(crm(), "b")
    assert second is not None
    await readings.release(first)  # too late: it is another's by now
    assert await readings.unleased([crm()]) == []


WRITES: list[Callable[[StreamLeases, Lease], Awaitable[Any]]] = [
    lambda readings, lease: readings.resume_point(lease),
    lambda readings, lease: readings.advance(lease, "9"),
    lambda readings, lease: readings.note(lease, ReadingState.WAITING),
    lambda readings, lease: readings.mark_lost(lease, "gone", after=None, now=AT),
]


@pytest.mark.parametrize("write", WRITES)
async def test_a_replaced_reader_writes_nothing(
    readings: StreamLeases, write: Callable[[StreamLeases, Lease], Awaitable[Any]]
) -> None:
    dead = await acquired(readings, crm(), "a")
    successor = await acquired(readings, crm(), "a")  # a lease that ended is another one, also of the same replica
    await readings.advance(successor, "5", changes=2)
    with pytest.raises(LeaseLost):
        await write(readings, dead)
    assert await readings.resume_point(successor) == ResumePoint(AT, "5")
    assert (await readings.status("acme", "crm")).changes == 2


async def test_reading_begins_when_the_source_was_made_and_goes_on_where_it_ended(readings: StreamLeases) -> None:
    first = await acquired(readings, crm(), "a")
    assert await readings.resume_point(first) == ResumePoint(AT)
    await readings.advance(first, "3", changes=3, last_change_at=AT)
    await readings.release(first)
    second = await acquired(readings, crm(rev=2, operations=["insert"]), "b")
    assert await readings.resume_point(second) == ResumePoint(AT, "3")
    await readings.advance(second, "4")
    status = await readings.status("acme", "crm")
    assert (status.changes, status.last_change_at) == (3, AT)


@pytest.mark.parametrize("elsewhere", [{"collection": "orders"}, {"database": "other"}, {"url": "$ENV.OTHER_URL"}])
async def test_a_source_that_reads_something_else_begins_with_that_now(
    readings: StreamLeases, elsewhere: dict[str, str]
) -> None:
    first = await acquired(readings, crm(), "a")
    await readings.advance(first, "3", changes=3)
    await readings.release(first)
    before = now()
    second = await acquired(readings, crm(rev=2, **elsewhere), "b")
    place = await readings.resume_point(second)
    assert place.after is None
    assert before <= place.since <= now()
    assert (await readings.status("acme", "crm")).changes == 0


async def test_another_source_of_the_same_name_begins_when_it_was_made(readings: StreamLeases) -> None:
    first = await acquired(readings, crm(), "a")
    await readings.advance(first, "3", changes=3)
    await readings.release(first)
    later = AT + timedelta(hours=1)
    assert await readings.resume_point(await acquired(readings, crm(created_at=later), "a")) == ResumePoint(later)


async def test_the_status_says_how_it_goes(readings: StreamLeases) -> None:
    assert (await readings.status("acme", "crm")).state is ReadingState.UNREAD
    lease = await acquired(readings, crm(), "a")
    await readings.note(lease, ReadingState.READING)
    reading = await readings.status("acme", "crm")
    assert (reading.state, reading.reason) == (ReadingState.READING, "")
    await asyncio.sleep(0.01)
    await readings.note(lease, ReadingState.READING)
    assert await readings.status("acme", "crm") == reading
    await readings.note(lease, ReadingState.WAITING, "$ENV.CRM_URL is missing")
    waiting = await readings.status("acme", "crm")
    assert (waiting.state, waiting.reason) == (ReadingState.WAITING, "$ENV.CRM_URL is missing")
    assert reading.since is not None
    assert waiting.since is not None
    assert waiting.since > reading.since
    await readings.release(lease)
    assert (await readings.status("acme", "crm")).state is ReadingState.UNREAD


async def test_a_loss_is_said_until_the_source_is_changed(readings: StreamLeases) -> None:
    lease = await acquired(readings, crm(), "a")
    await readings.note(lease, ReadingState.READING)
    await readings.mark_lost(lease, "the log has ended", after=None, now=AT)
    assert await readings.resume_point(lease) == ResumePoint(AT, None)
    await readings.mark_lost(lease, "the log has ended", after="7", now=AT + timedelta(minutes=1))
    assert await readings.resume_point(lease) == ResumePoint(AT, "7"), "a token is a place of its own"
    await readings.mark_lost(lease, "the log has ended", after="7", now=AT)
    for _ in range(2):
        lost = await readings.status("acme", "crm")
        assert (lost.state, lost.reason, lost.since) == (ReadingState.LOST, "the log has ended", AT)
        await readings.release(lease)
        lease = await acquired(readings, crm(), "b")
    await readings.release(lease)
    await acquired(readings, replace(crm(), rev=2), "b")
    assert (await readings.status("acme", "crm")).state is ReadingState.READING


async def test_what_is_gone_is_forgotten_a_while_after_it_was_read(readings: StreamLeases) -> None:
    gone, kept = await acquired(readings, crm("gone"), "a"), await acquired(readings, crm("kept"), "a")
    for lease in (gone, kept):
        await readings.advance(lease, "3")
        await readings.release(lease)
    await readings.forget([crm("kept")])
    assert (await readings.status("acme", "gone")).state is ReadingState.UNREAD
    again = await acquired(readings, crm("gone"), "a")
    assert (await readings.resume_point(again)).after == "3"
    await readings.release(again)
    async with asyncio.timeout(PATIENCE_S):
        while (await readings.status("acme", "gone")).since is not None:
            await asyncio.sleep(0.1)
            await readings.forget([crm("kept")])
    assert (await readings.resume_point(await acquired(readings, crm("kept"), "a"))).after == "3"


ROBOT = {"identity": {"role": "Greeter"}}


def subscriber(member: str, *events: tuple[str, str]) -> RobotRecord:
    config = ROBOT | {"events": [{"type": kind, "source": source} for kind, source in events]}
    robot = Robot.model_validate({"member_id": member, "team_id": "acme", "rev": 1, "robot_config": config})
    return RobotRecord(robot, AT)


@pytest.fixture(params=["memory", "mongo"])
async def robots(request: pytest.FixtureRequest, mongo_url: str, mongo_prefix: str) -> AsyncIterator[RobotRecords]:
    if request.param == "memory":
        yield InMemoryRobots()
        return
    server = Mongo(mongo_url, f"{mongo_prefix}_gateway")
    made = MongoRobots(server.database)
    await made.prepare()
    yield made
    await server.close()


async def names(robots: RobotRecords, source: str, kind: str) -> list[str]:
    return sorted(each.member for each in await robots.subscribers("acme", source, kind=kind))


async def test_a_webhook_and_a_database_of_one_name_have_their_own_subscribers(robots: RobotRecords) -> None:  # TG-12
    for record in (
        subscriber("both", ("webhook", "crm"), ("database", "crm")),
        subscriber("webhook", ("webhook", "/webhook/crm")),
        subscriber("database", ("database", "crm"), ("database", "erp")),
        subscriber("neither"),
    ):
        await robots.insert(record)
    assert await names(robots, "crm", "webhook") == ["both", "webhook"]
    assert await names(robots, "crm", "database") == ["both", "database"]
    assert await names(robots, "erp", "database") == ["database"]


async def test_a_record_written_before_databases_were_sources_is_found(mongo_url: str, mongo_prefix: str) -> None:
    server = Mongo(mongo_url, f"{mongo_prefix}_gateway")
    robots, collection = MongoRobots(server.database), server.database["robots"]
    await robots.prepare()
    old, gone = subscriber("old", ("database", "crm")), subscriber("gone", ("database", "crm"))
    for record in (old, replace(gone, robot=gone.robot.model_copy(update={"deleted": True}))):
        await robots.insert(record)
    await collection.update_many({}, {"$unset": {"databases": "", "form": ""}})
    assert (await names(robots, "crm", "database"), await names(robots, "erp", "database")) == (["old"], [])
    assert await robots.find("acme", "old") == old
    await server.close()
