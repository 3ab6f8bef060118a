"""The knowledge of robots: kept, recalled, forgotten, and ended with its robot."""

from collections.abc import AsyncIterator, Sequence
from datetime import timedelta

import pytest
from services.memory.tests.harness import NOON, Memory

from memory.adapters.in_memory import InMemoryEntries
from memory.domain import Owner
from memory.ports import Vector
from rota_contracts.messages.memory import MemoryEntry


@pytest.fixture
async def memory() -> AsyncIterator[Memory]:
    async with Memory().running() as running:
        running.robot(1)
        yield running


async def test_entries_are_recalled_by_their_content(memory: Memory) -> None:  # ME-01, LE-05
    assert await memory.remember("invoices go out on monday", "the customer likes short mails") == 2
    assert await memory.recall("when do invoices go out", limit=1) == ["invoices go out on monday"]


async def test_words_count_beside_meaning_and_what_scores_too_low_is_left_out(memory: Memory) -> None:  # ME-01, ME-02
    """The embedder of tests knows words by the spaces between them, so commas make another meaning of them."""
    await memory.remember("invoices go out on monday", "invoices, go, out, on, monday", "invoices", "mails are short")
    query = "Invoices go out on Monday"
    found = [(one.entry.content, round(one.score, 2)) for one in (await memory.reply(query, min_score=0.4)).entries]
    assert found == [("invoices go out on monday", 1.0), ("invoices, go, out, on, monday", 0.44)]
    assert len(await memory.recall(query)) == 4


async def test_an_entry_remembered_twice_is_kept_once(memory: Memory) -> None:
    assert [await memory.remember("a lesson"), await memory.remember("a lesson")] == [1, 1]
    assert await memory.recall("a lesson") == ["a lesson"]


async def test_an_empty_query_recalls_nothing(memory: Memory) -> None:
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


async def test_older_entries_can_be_forgotten_alone(memory: Memory) -> None:  # LE-06
    for days, text in enumerate(("today", "yesterday", "the day before")):
        await memory.remember(text, at=NOON - timedelta(days=days))
    assert await memory.forget(["today", "the day before"], before=NOON) == 1
    assert await memory.forget(before=NOON) == 1
    assert await memory.forget(before=NOON) == 0
    assert await memory.recall("today") == ["today"]


async def test_an_expired_entry_is_recalled_again_under_a_longer_keep(memory: Memory) -> None:  # LE-06
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
    await memory.deleted(2)
    assert await memory.recall("a lesson") == []
    assert await memory.remember("a late lesson", at=NOON + timedelta(seconds=1)) == 0
    assert await memory.recall("a late lesson") == []


async def test_a_robot_made_anew_starts_with_nothing_and_keeps_what_it_learns(memory: Memory) -> None:  # LE-04, LE-07
    await memory.remember("of the first")
    await memory.deleted(2)
    memory.robot(3)
    await memory.changed(3)
    assert await memory.remember("of a run of the first, late", at=NOON - timedelta(seconds=1)) == 0
    assert await memory.remember("of the second", at=NOON + timedelta(seconds=1)) == 1
    await memory.deleted(2, again=" again")
    assert await memory.recall("of the") == ["of the second"]


async def test_a_late_deletion_spares_the_robots_successor(memory: Memory) -> None:
    await memory.remember("of the first")
    memory.robot(3)
    await memory.remember("of the second", at=NOON + timedelta(seconds=1))
    await memory.deleted(2)
    assert await memory.recall("of the") == ["of the second"]


async def test_an_unknown_robot_may_learn(memory: Memory) -> None:
    unknown = Owner("acme", "new")
    assert await memory.remember("a lesson", owner=unknown) == 1
    await memory.deleted(1, unknown)
    assert await memory.recall("a lesson", owner=unknown) == []


async def test_an_entry_kept_while_its_robot_was_being_deleted_does_not_survive() -> None:  # LE-07
    class Deleting(InMemoryEntries):
        async def keep(self, owner: Owner, entries: Sequence[tuple[MemoryEntry, Vector]], *, rev: int) -> None:
            await memory.deleted(rev + 1, owner)
            await super().keep(owner, entries, rev=rev)

    memory = Memory(Deleting())
    memory.robot(1)
    async with memory.running():
        assert await memory.remember("a lesson") == 0
        assert await memory.recall("a lesson") == []
