"""The memory with its own adapters: nats-server, mongod, Qdrant in a folder, and the embedder of production.

Its messages are tested on a bus in memory in services/memory/tests.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from memory.app import build
from memory.settings import Settings
from rota_common.bus.robots import robot_key
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.runtime.service import Runtime, Service
from rota_common.stores.mongo import Mongo
from rota_common.testing.chaos import twice
from rota_common.testing.crash import crash
from rota_contracts.catalog import (
    RECALL,
    REMEMBER,
    ROBOT_CHANGED,
    ROBOT_DELETED,
    SEARCH_SHARED,
    SHARE,
    UNSHARE,
)
from rota_contracts.messages.learning import LessonType
from rota_contracts.messages.memory import (
    MemoryEntry,
    Recall,
    Remember,
    SearchShared,
    Share,
    SharedEntry,
    Unshare,
)
from rota_contracts.messages.robot_facts import RobotChangedV1, RobotDeletedV1
from rota_contracts.robots.robot import Robot
from rota_contracts.streams import ROBOTS_BUCKET

LONG_AGO, FAR_AHEAD = datetime(2020, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)


class Others:
    """The services around the memory: the gateway, the learner and the executor."""

    def __init__(self, url: str, team: str) -> None:
        self.team = team
        self.gateway = Service("trigger-gateway", url)
        self.learner, self.executor = Service("learner", url), Service("executor", url)
        self._all = (self.gateway, self.learner, self.executor)

    async def start(self) -> None:
        for service in self._all:
            await service.bus.connect()

    async def stop(self) -> None:
        for service in self._all:
            await service.bus.stop()

    async def remember(self, member: str, *contents: str, at: datetime = FAR_AHEAD) -> int:
        entries = [MemoryEntry(id=text, type=LessonType.INSIGHT, content=text, created_at=at) for text in contents]
        return (await self.learner.ask(REMEMBER, Remember(team_id=self.team, member_id=member, entries=entries))).count

    async def recall(self, member: str, query: str) -> list[str]:
        found = await self.executor.ask(RECALL, Recall(team_id=self.team, member_id=member, query=query))
        return [one.entry.content for one in found.entries]

    async def share(self, collection: str, *contents: str) -> int:
        entries = [SharedEntry(collection=collection, id=text, content=text, updated_at=FAR_AHEAD) for text in contents]
        return (await self.gateway.ask(SHARE, Share(team_id=self.team, entries=entries))).count

    async def recall_shared(self, query: str, *collections: str) -> list[str]:
        """The entries of its team's collections that a robot recalls."""
        question = Recall(team_id=self.team, member_id="writer", query=query, collections=list(collections))
        return [each.entry.content for each in (await self.executor.ask(RECALL, question)).shared]

    async def search(self, query: str, **given: Any) -> list[str]:
        found = await self.gateway.ask(SEARCH_SHARED, SearchShared(team_id=self.team, query=query, **given))
        return [each.entry.content for each in found.entries]

    async def save_robot(self, member: str, rev: int, *, deleted: bool = False) -> None:
        """What the gateway does when a robot is saved: the bucket first, then the fact."""
        robot = Robot.model_validate(
            {
                "team_id": self.team,
                "member_id": member,
                "rev": rev,
                "deleted": deleted,
                "robot_config": {"identity": {"role": "writer"}},
            }
        )
        bucket = await self.gateway.bus.jetstream.key_value(ROBOTS_BUCKET)
        await bucket.put(robot_key(self.team, member), robot.model_dump_json().encode())
        cause = f"{self.team} {member} {rev}"
        if deleted:
            fact = RobotDeletedV1(team_id=self.team, member_id=member, rev=rev)
            await self.gateway.publish(ROBOT_DELETED, fact, caused_by=cause)
        else:
            await self.gateway.publish(
                ROBOT_CHANGED, RobotChangedV1(team_id=self.team, member_id=member, rev=rev), caused_by=cause
            )


@pytest.fixture
async def others(shared_nats: EmbeddedServer, request: pytest.FixtureRequest) -> AsyncIterator[Others]:
    made = Others(shared_nats.url, request.node.name.replace("_", "-"))
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
def settings(shared_nats: EmbeddedServer, mongo_url: str, mongo_prefix: str, tmp_path: Path) -> Settings:
    folder = str(tmp_path / "qdrant")
    return Settings(nats_url=shared_nats.url, mongo_url=mongo_url, mongo_prefix=mongo_prefix, qdrant_path=folder)


@asynccontextmanager
async def memory(settings: Settings, **runtime: Any) -> AsyncIterator[Service]:
    service = build(settings, runtime=Runtime(**runtime)).service
    await service.start()
    await service.started.wait()
    try:
        yield service
        await settled(service)  # or an event that it holds would be the next test's after its ack wait
    finally:
        await crash(service)


async def settled(service: Service) -> None:
    """Wait until the memory has handled every event."""
    for channel in (ROBOT_CHANGED, ROBOT_DELETED):
        while True:
            assert channel.stream is not None
            info = await service.bus.jetstream.consumer_info(channel.stream, channel.durable("memory"))
            if not info.num_pending and not info.num_ack_pending:
                break


async def test_lessons_are_recalled_by_meaning(settings: Settings, others: Others) -> None:  # ME-01, LE-05
    lessons = ("The customer prefers to pay by bank transfer", "Publish the report before nine in the morning")
    async with memory(settings):
        await others.save_robot("writer", 1)
        assert await others.remember("writer", *lessons) == 2
        assert await others.recall("writer", "which payment method do they like?") == [*lessons]
        assert await others.recall("writer", "what time is the report due?") == [*reversed(lessons)]


async def test_recall_survives_a_restart(settings: Settings, others: Others) -> None:
    async with memory(settings):
        await others.remember("writer", "a lesson")
    async with memory(settings):
        assert await others.recall("writer", "a lesson") == ["a lesson"]


async def test_a_knowledge_base_lives_as_long_as_its_robot(
    settings: Settings, others: Others, mongo_url: str, mongo_prefix: str
) -> None:  # LE-04, LE-07
    mongo = Mongo(mongo_url, f"{mongo_prefix}_memory")
    bases = mongo.database["knowledge_bases"]
    async with memory(settings, middlewares=[twice]) as service:
        await others.save_robot("writer", 1)
        await others.save_robot("writer", 2)
        await settled(service)
        (base,) = await bases.find({"team": others.team}).to_list(None)
        assert (base["_id"], base["label"], base["rev"]) == (
            f"{others.team}.writer",
            f"robot_{others.team}_writer_kb",
            2,
        )
        await others.remember("writer", "a lesson", at=LONG_AGO)
        await others.remember("reader", "of another")
        await others.save_robot("writer", 3, deleted=True)
        await settled(service)
        assert await others.recall("writer", "a lesson") == []
        assert await others.recall("reader", "of another") == ["of another"]
        assert await others.remember("writer", "a late lesson") == 0
        (base,) = await bases.find({"team": others.team}).to_list(None)
        assert base["deleted_rev"] == 3
    await mongo.close()


async def test_a_robot_made_anew_keeps_its_own_lessons_alone(settings: Settings, others: Others) -> None:  # LE-07
    await others.save_robot("writer", 1)
    async with memory(settings, middlewares=[twice]):
        await others.remember("writer", "of the first")
    await others.save_robot("writer", 2, deleted=True)
    await others.save_robot("writer", 3)
    async with memory(settings, middlewares=[twice]) as service:
        assert await others.remember("writer", "of the second") == 1
        await settled(service)
        assert await others.remember("writer", "of the first, late", at=LONG_AGO) == 0
        assert await others.recall("writer", "of the") == ["of the second"]


@pytest.mark.once
async def test_shared_entries_are_found_by_meaning_and_survive_a_restart(
    settings: Settings, others: Others
) -> None:  # EX-27
    leave, refunds = "Parents may stay at home for a year", "Customers get their money back within ten days"
    async with memory(settings):
        assert await others.share("policies", leave, refunds) == 2
        assert await others.share("products", "The large plan has seats for fifty people") == 1
    async with memory(settings):
        assert (await others.search("how long does a refund take?"))[0] == refunds
        assert await others.search("seats", limit=1) == ["The large plan has seats for fifty people"]
        assert await others.recall_shared("parental leave", "policies") == [leave, refunds]
        assert await others.recall_shared("parental leave") == []
        gone = await others.gateway.ask(UNSHARE, Unshare(team_id=others.team, collection="policies", ids=[leave]))
        assert gone.count == 1
        assert await others.recall_shared("parental leave", "policies") == [refunds]


async def test_the_service_is_ready_when_its_stores_are(settings: Settings) -> None:
    app = build(settings)
    await app.service.start()
    await app.service.started.wait()
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app.http), base_url="http://memory") as client:
        answer = await client.get("/health/ready")
    assert (answer.status_code, answer.json()["problems"]) == (200, {})
    await app.service.stop(1)


async def test_the_service_waits_for_an_unavailable_qdrant(settings: Settings) -> None:
    away = settings.model_copy(update={"qdrant_url": "http://127.0.0.1:9"})
    service = build(away).service
    await service.start()
    problems: dict[str, str] = {}
    while "qdrant" not in problems or problems.get("start") != "preparing its store":
        problems = await service.problems()
    await service.stop(1)
