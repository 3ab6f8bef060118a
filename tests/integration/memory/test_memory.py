"""The memory on a real bus, with a real mongod, Qdrant in a folder and the embedder it ships with."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from memory.app import build
from memory.settings import Settings
from rota_common.bus.robots import robot_key
from rota_common.errors import Permanent
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.runtime.service import Runtime, Service
from rota_common.stores.mongo import Mongo
from rota_common.testing.chaos import twice
from rota_contracts.catalog import (
    FORGET,
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
    Forget,
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
    """The gateway, which tells of robots; the learner and the executor, who ask."""

    def __init__(self, url: str) -> None:
        self._all = [Service(name, url) for name in ("trigger-gateway", "learner", "executor")]
        self.gateway, self.learner, self.executor = self._all

    async def start(self) -> None:
        for service in self._all:
            await service.bus.connect()

    async def stop(self) -> None:
        for service in self._all:
            await service.bus.stop()

    async def remember(self, member: str, *contents: str, team: str = "acme", at: datetime = FAR_AHEAD) -> int:
        entries = [MemoryEntry(id=text, type=LessonType.INSIGHT, content=text, created_at=at) for text in contents]
        return (await self.learner.ask(REMEMBER, Remember(team_id=team, member_id=member, entries=entries))).count

    async def recall(self, member: str, query: str, team: str = "acme") -> list[str]:
        found = await self.executor.ask(RECALL, Recall(team_id=team, member_id=member, query=query))
        return [one.entry.content for one in found.entries]

    async def share(self, collection: str, *contents: str, team: str = "acme") -> int:
        entries = [SharedEntry(collection=collection, id=text, content=text, updated_at=FAR_AHEAD) for text in contents]
        return (await self.gateway.ask(SHARE, Share(team_id=team, entries=entries))).count

    async def recall_shared(self, query: str, *collections: str, team: str = "acme") -> list[str]:
        """What a robot is given of its team's collections."""
        question = Recall(team_id=team, member_id="writer", query=query, collections=list(collections))
        return [each.entry.content for each in (await self.executor.ask(RECALL, question)).shared]

    async def search(self, query: str, *, team: str = "acme", **given: Any) -> list[str]:
        found = await self.gateway.ask(SEARCH_SHARED, SearchShared(team_id=team, query=query, **given))
        return [each.entry.content for each in found.entries]

    async def tell(self, member: str, rev: int, *, deleted: bool = False, keep: int = 0) -> None:
        """What the gateway does when a robot is saved: the bucket first, then the fact."""
        robot = Robot.model_validate(
            {
                "team_id": "acme",
                "member_id": member,
                "rev": rev,
                "deleted": deleted,
                "robot_config": {"identity": {"role": "writer"}, "learn": {"keep": keep}},
            }
        )
        bucket = await self.gateway.bus.jetstream.key_value(ROBOTS_BUCKET)
        await bucket.put(robot_key("acme", member), robot.model_dump_json().encode())
        cause = f"{member} {rev}"
        if deleted:
            fact = RobotDeletedV1(team_id="acme", member_id=member, rev=rev)
            await self.gateway.publish(ROBOT_DELETED, fact, caused_by=cause)
        else:
            await self.gateway.publish(
                ROBOT_CHANGED, RobotChangedV1(team_id="acme", member_id=member, rev=rev), caused_by=cause
            )


@pytest.fixture
async def others(nats: EmbeddedServer) -> AsyncIterator[Others]:
    made = Others(nats.url)
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
def settings(nats: EmbeddedServer, mongo_url: str, mongo_prefix: str, tmp_path: Path) -> Settings:
    folder = str(tmp_path / "qdrant")
    return Settings(nats_url=nats.url, mongo_url=mongo_url, mongo_prefix=mongo_prefix, qdrant_path=folder)


@asynccontextmanager
async def memory(settings: Settings, **runtime: Any) -> AsyncIterator[Service]:
    service = build(settings, runtime=Runtime(fetch_timeout=0.3, **runtime)).service
    await service.start()
    await service.started.wait()
    yield service
    await service.stop(1)


async def settled(service: Service) -> None:
    """Wait until the memory has dealt with every event there is."""
    for channel in (ROBOT_CHANGED, ROBOT_DELETED):
        while True:
            assert channel.stream is not None
            info = await service.bus.jetstream.consumer_info(channel.stream, channel.durable("memory"))
            if not info.num_pending and not info.num_ack_pending:
                break


async def test_lessons_are_recalled_by_meaning(settings: Settings, others: Others) -> None:  # ME-01, LE-05
    lessons = ("The customer prefers to pay by bank transfer", "Publish the report before nine in the morning")
    async with memory(settings):
        await others.tell("writer", 1)
        assert await others.remember("writer", *lessons) == 2
        assert await others.recall("writer", "which payment method do they like?") == [*lessons]
        assert await others.recall("writer", "what time is the report due?") == [*reversed(lessons)]


async def test_recall_survives_a_restart(settings: Settings, others: Others) -> None:
    async with memory(settings):
        await others.remember("writer", "a lesson")
    async with memory(settings):
        assert await others.recall("writer", "a lesson") == ["a lesson"]


@pytest.mark.once
async def test_robots_whose_labels_are_equal_do_not_meet(settings: Settings, others: Others) -> None:  # DEC-31
    async with memory(settings):
        await others.remember("c", "of one", team="a_b")
        await others.remember("b_c", "of two", team="a")
        assert await others.recall("c", "of", team="a_b") == ["of one"]
        assert await others.recall("b_c", "of", team="a") == ["of two"]
        forgotten = await others.learner.ask(FORGET, Forget(team_id="a_b", member_id="c"))
        assert forgotten.count == 1
        assert await others.recall("b_c", "of", team="a") == ["of two"]


async def test_a_knowledge_base_lives_as_long_as_its_robot(
    settings: Settings, others: Others, mongo_url: str, mongo_prefix: str
) -> None:  # LE-04, LE-07
    mongo = Mongo(mongo_url, f"{mongo_prefix}_memory")
    bases = mongo.database["knowledge_bases"]
    async with memory(settings, middlewares=[twice]) as service:
        await others.tell("writer", 1)
        await others.tell("writer", 2)
        await settled(service)
        (base,) = await bases.find().to_list(None)
        assert (base["_id"], base["label"], base["rev"]) == ("acme.writer", "robot_acme_writer_kb", 2)
        await others.remember("writer", "a lesson", at=LONG_AGO)
        await others.remember("reader", "of another")
        await others.tell("writer", 3, deleted=True)
        await settled(service)
        assert await others.recall("writer", "a lesson") == []
        assert await others.recall("reader", "of another") == ["of another"]
        assert await others.remember("writer", "a late lesson") == 0
        (base,) = await bases.find().to_list(None)
        assert base["deleted_rev"] == 3
    await mongo.close()


async def test_a_robot_made_anew_keeps_its_own_lessons_alone(settings: Settings, others: Others) -> None:  # LE-07
    await others.tell("writer", 1)
    async with memory(settings, middlewares=[twice]):
        await others.remember("writer", "of the first")
    await others.tell("writer", 2, deleted=True)
    await others.tell("writer", 3)
    async with memory(settings, middlewares=[twice]) as service:
        assert await others.remember("writer", "of the second") == 1
        await settled(service)
        assert await others.remember("writer", "of the first, late", at=LONG_AGO) == 0
        assert await others.recall("writer", "of the") == ["of the second"]


@pytest.mark.once
async def test_what_is_kept_no_longer_is_not_recalled_and_can_be_forgotten(
    settings: Settings, others: Others
) -> None:  # LE-06
    monday = datetime(2026, 3, 2, 12, tzinfo=UTC)
    async with memory(settings, clock=lambda: monday + timedelta(days=7, hours=1)):
        await others.tell("writer", 1)
        await others.remember("writer", "of monday", at=monday)
        await others.remember("writer", "of tuesday", at=monday + timedelta(days=1))
        await others.share("policies", "of monday")
        assert sorted(await others.recall("writer", "of")) == ["of monday", "of tuesday"]
        await others.tell("writer", 2, keep=7)
        assert await others.recall("writer", "of") == ["of tuesday"]
        old = Forget(team_id="acme", member_id="writer", before=monday + timedelta(hours=1))
        assert [(await others.learner.ask(FORGET, old)).count for _ in range(2)] == [1, 0]
        await others.tell("writer", 3)
        assert await others.recall("writer", "of") == ["of tuesday"]
        assert await others.search("of monday") == ["of monday"]


@pytest.mark.once
async def test_what_a_team_shares_is_found_by_meaning_and_outlives_a_restart(
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
        gone = await others.gateway.ask(UNSHARE, Unshare(team_id="acme", collection="policies", ids=[leave]))
        assert gone.count == 1
        assert await others.recall_shared("parental leave", "policies") == [refunds]


@pytest.mark.once
async def test_what_a_team_shares_is_its_own(settings: Settings, others: Others) -> None:  # EX-27
    async with memory(settings):
        await others.share("b_c", "of one", team="a")
        await others.share("c", "of two", team="a_b")
        assert await others.search("of", team="a", collections=["b_c", "c"]) == ["of one"]
        assert await others.recall_shared("of", "b_c", "c", team="a_b") == ["of two"]
        gone = await others.gateway.ask(UNSHARE, Unshare(team_id="a", collection="b_c"))
        assert gone.count == 1
        assert await others.search("of", team="a_b") == ["of two"]


async def test_a_question_to_too_many_collections_is_refused(settings: Settings, others: Others) -> None:
    async with memory(settings):
        with pytest.raises(Permanent, match="expected at most 50 collections"):
            await others.recall_shared("anything", *(f"c{number}" for number in range(51)))


async def test_it_is_ready_when_its_stores_are(settings: Settings) -> None:
    app = build(settings, runtime=Runtime(fetch_timeout=0.3))
    await app.service.start()
    await app.service.started.wait()
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app.http), base_url="http://memory") as client:
        answer = await client.get("/health/ready")
    assert (answer.status_code, answer.json()["problems"]) == (200, {})
    await app.service.stop(1)


async def test_it_waits_for_a_qdrant_that_is_away(settings: Settings) -> None:
    away = settings.model_copy(update={"qdrant_url": "http://127.0.0.1:9"})
    service = build(away, runtime=Runtime(fetch_timeout=0.3)).service
    await service.start()
    problems: dict[str, str] = {}
    while "can't be reached" not in problems.get("qdrant", ""):
        problems = await service.problems()
    assert problems["start"] == "preparing its store"
    await service.stop(1)
