"""A running memory on a bus in memory."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from memory.adapters.in_memory import InMemoryEntries, InMemoryRobots, in_memory
from memory.app import build
from memory.domain import Owner
from memory.settings import Settings
from rota_common.runtime.service import Runtime
from rota_common.testing.in_memory_bus import InMemoryBus
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
    RecallReply,
    Remember,
    SearchShared,
    Share,
    SharedEntry,
    Unshare,
)
from rota_contracts.messages.robot_facts import RobotChangedV1, RobotDeletedV1
from rota_contracts.robots.robot import Robot

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
ROBOT = Owner("acme", "writer")


class Memory:
    """The questions and facts of the other services; `now` is the instant for all of them."""

    def __init__(self, entries: InMemoryEntries | None = None) -> None:
        self.now = NOON
        self.bus = InMemoryBus(clock=lambda: self.now)
        self.robots = InMemoryRobots()
        self.adapters = in_memory(entries=entries, robots=self.robots)

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Memory"]:
        runtime = Runtime(bus=self.bus, clock=lambda: self.now)
        service = build(Settings(), runtime=runtime, adapters=self.adapters).service
        await service.start()
        await service.started.wait()
        yield self
        await service.stop(1)

    def robot(self, rev: int, *, deleted: bool = False, keep: int = 0) -> None:
        """Save the robot's definition."""
        config = {"identity": {"role": "writer"}, "learn": {"keep": keep}}
        names = {"team_id": ROBOT.team, "member_id": ROBOT.member}
        definition = {**names, "rev": rev, "deleted": deleted, "robot_config": config}
        self.robots.robots[ROBOT] = Robot.model_validate(definition)

    async def changed(self, rev: int, owner: Owner = ROBOT) -> None:
        fact = RobotChangedV1(team_id=owner.team, member_id=owner.member, rev=rev)
        await self.bus.publish(ROBOT_CHANGED, fact, caused_by=f"changed {rev}")
        await self.bus.settled()

    async def deleted(self, rev: int, owner: Owner = ROBOT, *, again: str = "") -> None:
        fact = RobotDeletedV1(team_id=owner.team, member_id=owner.member, rev=rev)
        await self.bus.publish(ROBOT_DELETED, fact, caused_by=f"deleted {rev}{again}")
        await self.bus.settled()

    async def remember(self, *contents: str, at: datetime = NOON, owner: Owner = ROBOT) -> int:
        entries = [MemoryEntry(id=text, type=LessonType.INSIGHT, content=text, created_at=at) for text in contents]
        request = Remember(team_id=owner.team, member_id=owner.member, entries=entries)
        return (await self.bus.ask(REMEMBER, request)).count

    async def recall(self, query: str, *, owner: Owner = ROBOT, **given: Any) -> list[str]:
        found = await self.reply(query, owner=owner, **given)
        return [one.entry.content for one in found.entries]

    async def reply(self, query: str, *, owner: Owner = ROBOT, **given: Any) -> RecallReply:
        return await self.bus.ask(RECALL, Recall(team_id=owner.team, member_id=owner.member, query=query, **given))

    async def forget(self, ids: list[str] | None = None, *, before: datetime | None = None) -> int:
        request = Forget(team_id=ROBOT.team, member_id=ROBOT.member, ids=ids, before=before)
        return (await self.bus.ask(FORGET, request)).count

    async def share(self, collection: str, *contents: str, team: str = "acme", **fields: Any) -> int:
        entries = [
            SharedEntry(**{"collection": collection, "id": text[:50], "content": text, "updated_at": NOON} | fields)
            for text in contents
        ]
        return (await self.bus.ask(SHARE, Share(team_id=team, entries=entries))).count

    async def search(self, query: str, *, team: str = "acme", **given: Any) -> list[str]:
        found = await self.bus.ask(SEARCH_SHARED, SearchShared(team_id=team, query=query, **given))
        return [each.entry.content for each in found.entries]

    async def unshare(self, collection: str, ids: list[str] | None = None, *, team: str = "acme") -> int:
        return (await self.bus.ask(UNSHARE, Unshare(team_id=team, collection=collection, ids=ids))).count
