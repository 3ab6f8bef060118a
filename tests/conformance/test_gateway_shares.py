"""Shares of teams, counted with each write: in memory, and in MongoDB for replicas that write at the same moment."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from rota_common.stores.mongo import Mongo
from rota_contracts.robots.robot import Robot
from rota_contracts.sources import OPERATIONS
from trigger_gateway.adapters.in_memory_attachments import InMemoryAttachmentRecords
from trigger_gateway.adapters.in_memory_stores import InMemoryRobots, InMemorySources
from trigger_gateway.adapters.mongo_attachments import MongoAttachmentRecords
from trigger_gateway.adapters.mongo_robots import MongoRobots
from trigger_gateway.adapters.mongo_sources import MongoSources
from trigger_gateway.attachments.ports import AttachmentRecords
from trigger_gateway.problems import ShareUsed
from trigger_gateway.robots.ports import RobotRecords
from trigger_gateway.robots.record import RobotRecord, deleted
from trigger_gateway.sources.ports import Sources
from trigger_gateway.sources.source import DatabaseSettings, Source
from trigger_gateway.teams.shares import Share, Usage

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
LATER = AT + timedelta(days=90)
THREE = Share("things", ("ROTA_THINGS", "ROTA_THING_BYTES"), 3, 100_000).allow


class Replicas:
    """Three views of one store."""

    def __init__(self, stores: list[Mongo]) -> None:
        self._stores = stores
        self._robots, self._sources = InMemoryRobots(), InMemorySources()
        self._files = InMemoryAttachmentRecords()

    async def robots(self) -> list[RobotRecords]:
        made = [MongoRobots(store.database) for store in self._stores]
        for each in made:
            await each.prepare()
        return [*made] or [self._robots] * 3

    async def sources(self) -> list[Sources]:
        made = [MongoSources(store.database) for store in self._stores]
        for each in made:
            await each.prepare()
        return [*made] or [self._sources] * 3

    async def files(self) -> list[AttachmentRecords]:
        made = [MongoAttachmentRecords(store.database) for store in self._stores]
        for each in made:
            await each.prepare()
        return [*made] or [self._files] * 3


@pytest.fixture(params=["memory", "mongo"])
async def replicas(request: pytest.FixtureRequest) -> AsyncIterator[Replicas]:
    if request.param == "memory":
        yield Replicas([])
        return
    url, prefix = request.getfixturevalue("mongo_url"), request.getfixturevalue("mongo_prefix")
    stores = [Mongo(url, f"{prefix}_gateway") for _ in range(3)]
    yield Replicas(stores)
    for store in stores:
        await store.close()


def record(member: str, *, team: str = "acme", role: str = "Greeter", rev: int = 1) -> RobotRecord:
    config = {"identity": {"role": role}}
    given = {"member_id": member, "team_id": team, "rev": rev, "robot_config": config}
    return RobotRecord(Robot.model_validate(given), AT)


async def test_robots_of_several_replicas_never_exceed_the_share_together(replicas: Replicas) -> None:
    stores = await replicas.robots()
    tries = [stores[number % 3].insert(record(f"r{number}"), allow=THREE) for number in range(9)]
    results = await asyncio.gather(
        *tries, stores[0].insert(record("r0", team="other"), allow=THREE), return_exceptions=True
    )
    assert [type(each) for each in results].count(ShareUsed) == 6
    assert results[-1] is True
    assert len((await stores[0].page("acme", page=1, page_size=100))[0]) == 3


async def test_a_refused_robot_leaves_nothing_and_a_known_one_is_no_new_one(replicas: Replicas) -> None:
    [store, *_] = await replicas.robots()

    def full(after: Usage) -> None:
        raise ShareUsed("share_used", f"{after.count}")

    with pytest.raises(ShareUsed, match="^1$"):
        await store.insert(record("a"), allow=full)
    assert await store.find("acme", "a") is None
    assert await store.insert(record("a"), allow=THREE) is True
    assert await store.insert(record("a"), allow=THREE) is False
    grown = record("a", role="x" * 200_000, rev=2)
    with pytest.raises(ShareUsed, match="ROTA_THING_BYTES"):
        await store.replace(grown, expected=record("a"), allow=THREE)
    assert await store.find("acme", "a") == record("a")
    assert await store.replace(grown, expected=record("a", rev=7), allow=THREE) is False
    assert await store.replace(grown, expected=record("a")) is True


async def test_a_deleted_robot_counts_with_its_bytes_alone(replicas: Replicas) -> None:
    [store, *_] = await replicas.robots()
    seen: list[Usage] = []
    for member in ("a", "b"):
        await store.insert(record(member), allow=seen.append)
    gone = RobotRecord(deleted(record("a").robot), AT)
    await store.replace(gone, expected=record("a"))
    await store.insert(record("c"), allow=seen.append)
    assert [each.count for each in seen] == [1, 2, 2]
    size = len(record("a").robot.model_dump_json())
    assert [each.bytes for each in seen][:2] == [size, 2 * size]
    assert seen[2].bytes == 2 * size + len(gone.robot.model_dump_json())


async def test_sources_are_counted_by_their_kind(replicas: Replicas) -> None:
    stores = await replicas.sources()
    settings = DatabaseSettings(url="$ENV.CRM", database="crm", collection="leads", operations=[*OPERATIONS])
    tries = [
        stores[number % 3].add(Source("acme", f"d{number}", AT, database=settings), allow=THREE) for number in range(6)
    ]
    results = await asyncio.gather(*tries, return_exceptions=True)
    assert [type(each) for each in results].count(ShareUsed) == 3
    assert results.count(True) == 3


async def test_files_are_counted_by_number_and_bytes_until_they_expire(replicas: Replicas) -> None:
    stores = await replicas.files()

    async def reserve(number: int, size: int, *, at: datetime = AT, team: str = "acme") -> None:
        store = stores[number % 3]
        await store.reserve(
            team, f"{team}-{at:%d%H}-{number}", size, now=at, until=at + timedelta(hours=1), allow=THREE
        )

    results = await asyncio.gather(*(reserve(number, 60_000) for number in range(6)), return_exceptions=True)
    assert [type(each) for each in results].count(ShareUsed) == 5
    await reserve(0, 60_000, team="other")
    kept = next(number for number, each in enumerate(results) if each is None)
    await stores[0].settle(f"acme-0209-{kept}", 10, until=LATER)
    await reserve(7, 99_990)
    with pytest.raises(ShareUsed, match="bytes of things"):
        await reserve(8, 1)
    await stores[1].release("acme-0209-7")
    await reserve(9, 1)
    hour = AT + timedelta(hours=1)  # the reservation 9 has ended, the file has not
    await reserve(1, 1, at=hour)
    await reserve(2, 1, at=hour)
    with pytest.raises(ShareUsed, match="3 of 3 things"):
        await reserve(3, 1, at=hour)
    await reserve(4, 1, at=LATER)


async def test_a_file_that_is_reserved_again_is_counted_once(replicas: Replicas) -> None:
    [store, *_] = await replicas.files()
    seen: list[Usage] = []
    for size in (5, 7):
        await store.reserve("acme", "again-and-again", size, now=AT, until=AT + timedelta(hours=1), allow=seen.append)
    assert seen == [Usage(1, 5), Usage(1, 7)]
    await store.reserve("other", "of-another", 5, now=AT, until=AT + timedelta(hours=1), allow=seen.append)
    assert await store.of_team("acme", limit=2) == ["again-and-again"]


async def test_files_are_listed_until_they_expire_the_latest_first(replicas: Replicas) -> None:
    store, *_ = await replicas.files()
    for number, end in enumerate((1, 3, 2, 2)):
        until = AT + timedelta(hours=end)
        await store.reserve("acme", f"f{number}", 1, now=AT, until=until, allow=lambda _: None)
    await store.reserve("other", "f9", 1, now=AT, until=LATER, allow=lambda _: None)
    first = await store.page("acme", now=AT + timedelta(hours=1), after=None, limit=2)
    rest = await store.page("acme", now=AT + timedelta(hours=1), after=first[-1], limit=2)
    assert [one.item_id for one in (*first, *rest)] == ["f1", "f3", "f2"]
