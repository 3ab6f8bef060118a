"""What is kept, what comes back, and what ends with its robot; all in plain dictionaries."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memory.adapters.in_memory import (
    HashingEmbedder,
    InMemoryKnowledge,
    InMemoryKnowledgeBases,
    InMemoryRobots,
    InMemoryShared,
)
from memory.domain import Owner
from memory.follow_robots import FollowRobots
from memory.forget import ForgetEntries
from memory.ports import Vector
from memory.recall import RecallEntries
from memory.remember import RememberEntries
from rota_contracts.messages.learning import LessonType
from rota_contracts.messages.memory import Forget, MemoryEntry, Recall, Remember
from rota_contracts.robots.robot import Robot

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
ROBOT = Owner("acme", "writer")


class Memory:
    """The use cases, wired to dictionaries."""

    def __init__(self, knowledge: InMemoryKnowledge | None = None) -> None:
        self.knowledge, self.bases, self.robots = (
            knowledge or InMemoryKnowledge(),
            InMemoryKnowledgeBases(),
            InMemoryRobots(),
        )
        embedder = HashingEmbedder()
        self._remember = RememberEntries(self.knowledge, self.bases, self.robots, embedder)
        self.now = NOON
        self._recall = RecallEntries(self.knowledge, InMemoryShared(), self.robots, embedder, lambda: self.now)
        self._forget = ForgetEntries(self.knowledge)
        self.follow = FollowRobots(self.knowledge, self.bases)

    def robot(self, rev: int, *, deleted: bool = False, keep: int = 0) -> None:
        config = {"identity": {"role": "writer"}, "learn": {"keep": keep}}
        names = {"team_id": ROBOT.team, "member_id": ROBOT.member}
        definition = {**names, "rev": rev, "deleted": deleted, "robot_config": config}
        self.robots.robots[ROBOT] = Robot.model_validate(definition)

    async def remember(self, *contents: str, at: datetime = NOON, owner: Owner = ROBOT) -> int:
        entries = [MemoryEntry(id=text, type=LessonType.INSIGHT, content=text, created_at=at) for text in contents]
        return (await self._remember(Remember(team_id=owner.team, member_id=owner.member, entries=entries))).count

    async def recall(self, query: str, *, owner: Owner = ROBOT, **given: Any) -> list[str]:
        found = await self._recall(Recall(team_id=owner.team, member_id=owner.member, query=query, **given))
        return [one.entry.content for one in found.entries]

    async def forget(self, ids: list[str] | None = None, *, before: datetime | None = None) -> int:
        asked = Forget(team_id=ROBOT.team, member_id=ROBOT.member, ids=ids, before=before)
        return (await self._forget(asked)).count


@pytest.fixture
def memory() -> Memory:
    made = Memory()
    made.robot(1)
    return made


async def test_what_is_remembered_is_recalled_by_what_it_says(memory: Memory) -> None:  # ME-01, LE-05
    assert await memory.remember("invoices go out on monday", "the customer likes short mails") == 2
    assert await memory.recall("when do invoices go out", limit=1) == ["invoices go out on monday"]


async def test_remembering_twice_keeps_it_once(memory: Memory) -> None:
    assert [await memory.remember("a lesson"), await memory.remember("a lesson")] == [1, 1]
    assert await memory.recall("a lesson") == ["a lesson"]


async def test_nothing_is_asked_and_nothing_is_answered(memory: Memory) -> None:
    await memory.remember("a lesson")
    assert await memory.recall("  ") == []
    assert await memory.remember() == 0


async def test_robots_whose_labels_are_equal_do_not_meet(memory: Memory) -> None:  # DEC-31
    await memory.remember("of one", owner=Owner("a_b", "c"))
    await memory.remember("of two", owner=Owner("a", "b_c"))
    assert await memory.recall("of", owner=Owner("a_b", "c")) == ["of one"]
    assert await memory.recall("of", owner=Owner("a", "b_c")) == ["of two"]


async def test_forgetting_some_and_forgetting_all(memory: Memory) -> None:
    await memory.remember("one", "two", "three")
    assert await memory.forget(["one", "four"]) == 1
    assert sorted(await memory.recall("two")) == ["three", "two"]
    assert await memory.forget() == 2
    assert await memory.recall("two") == []


async def test_what_is_older_can_be_forgotten_alone(memory: Memory) -> None:  # LE-06
    for days, text in enumerate(("today", "yesterday", "the day before")):
        await memory.remember(text, at=NOON - timedelta(days=days))
    assert await memory.forget(["today", "the day before"], before=NOON) == 1
    assert await memory.forget(before=NOON) == 1
    assert await memory.forget(before=NOON) == 0
    assert await memory.recall("today") == ["today"]


async def test_what_is_kept_no_longer_is_not_recalled_and_a_longer_keep_brings_it_back(memory: Memory) -> None:  # LE-06
    await memory.remember("a lesson of monday")
    await memory.remember("a lesson of tuesday", at=NOON + timedelta(days=1))
    memory.now = NOON + timedelta(days=7, seconds=1)
    memory.robot(2, keep=7)
    assert await memory.recall("a lesson of monday") == ["a lesson of tuesday"]
    for rev, keep in ((3, 8), (4, 0), (5, 10**12)):
        memory.robot(rev, keep=keep)
        assert sorted(await memory.recall("a lesson of monday")) == ["a lesson of monday", "a lesson of tuesday"]


async def test_knowledge_ends_with_its_robot(memory: Memory) -> None:  # LE-07
    await memory.remember("a lesson")
    memory.robot(2, deleted=True)
    await memory.follow.deleted(ROBOT, rev=2, at=NOON)
    assert await memory.recall("a lesson") == []
    assert await memory.remember("a late lesson", at=NOON + timedelta(seconds=1)) == 0
    assert await memory.recall("a late lesson") == []


async def test_a_robot_made_anew_starts_with_nothing_and_keeps_what_it_learns(memory: Memory) -> None:  # LE-04, LE-07
    await memory.remember("of the first")
    await memory.follow.deleted(ROBOT, rev=2, at=NOON)
    memory.robot(3)
    await memory.follow.changed(ROBOT, rev=3, at=NOON)
    assert await memory.remember("of a run of the first, late", at=NOON - timedelta(seconds=1)) == 0
    assert await memory.remember("of the second", at=NOON + timedelta(seconds=1)) == 1
    await memory.follow.deleted(ROBOT, rev=2, at=NOON)
    assert await memory.recall("of the") == ["of the second"]


async def test_a_robots_end_that_is_heard_late_spares_its_successor(memory: Memory) -> None:
    await memory.remember("of the first")
    memory.robot(3)
    await memory.remember("of the second", at=NOON + timedelta(seconds=1))
    await memory.follow.deleted(ROBOT, rev=2, at=NOON)
    assert await memory.recall("of the") == ["of the second"]


async def test_a_robot_nobody_has_told_of_may_learn(memory: Memory) -> None:
    unknown = Owner("acme", "new")
    assert await memory.remember("a lesson", owner=unknown) == 1
    await memory.follow.deleted(unknown, rev=1, at=NOON)
    assert await memory.recall("a lesson", owner=unknown) == []


async def test_an_entry_kept_while_its_robot_was_being_deleted_does_not_survive() -> None:  # LE-07
    class Interrupted(InMemoryKnowledge):
        async def keep(self, owner: Owner, entries: Sequence[tuple[MemoryEntry, Vector]], *, rev: int) -> None:
            await memory.follow.deleted(owner, rev=rev + 1, at=NOON)
            await super().keep(owner, entries, rev=rev)

    memory = Memory(Interrupted())
    memory.robot(1)
    assert await memory.remember("a lesson") == 0
    assert await memory.recall("a lesson") == []
