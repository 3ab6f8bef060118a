"""The shared entries of teams: the fake and the one in Qdrant keep the same promises."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory.adapters.in_memory import InMemorySharedEntries
from memory.adapters.qdrant.connection import Qdrant
from memory.adapters.qdrant.entries import QdrantEntries
from memory.adapters.qdrant.shared_entries import QdrantSharedEntries
from memory.domain import Owner, Shelf
from memory.ports import SharedEntries, Vector
from rota_contracts.messages.learning import LessonType
from rota_contracts.messages.memory import MemoryEntry, SharedEntry

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
EAST, NORTH, NORTHEAST = [1.0, 0.0], [0.0, 1.0], [0.6, 0.8]
POLICIES = Shelf("acme", "policies")


def entry(name: str, collection: str = "policies", content: str = "text") -> SharedEntry:
    return SharedEntry(collection=collection, id=name, title=f"On {name}", content=content, updated_at=NOON)


@pytest.fixture(params=["dict", "qdrant in memory", "qdrant in a folder"])
async def shared(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SharedEntries]:
    if request.param == "dict":
        yield InMemorySharedEntries()
        return
    qdrant = Qdrant(path=str(tmp_path / "qdrant") if "folder" in request.param else "", dimensions=2)
    await qdrant.open()
    real = QdrantSharedEntries(qdrant)
    await real.prepare()
    yield real
    await qdrant.close()


async def found(
    shared: SharedEntries, team: str = "acme", vector: Vector = EAST, limit: int = 10, *collections: str
) -> list[str]:
    answers = await shared.nearest(team, vector, limit, collections=collections or None)
    return [each.entry.id for each in answers]


async def test_the_nearest_of_all_collections_come_first(shared: SharedEntries) -> None:  # EX-27
    kept = [(entry("n", "products"), NORTH), (entry("e"), EAST), (entry("ne", "prices"), NORTHEAST)]
    await shared.keep("acme", kept)
    first, second = await shared.nearest("acme", EAST, 2)
    assert (first.entry, second.entry) == (entry("e"), entry("ne", "prices"))
    assert [round(each.score, 3) for each in (first, second)] == [1.0, 0.6]


async def test_the_collections_of_a_team_go_together_and_no_others(shared: SharedEntries) -> None:
    for team in ("acme", "acme-2"):
        await shared.keep(team, [(entry("p"), EAST), (entry("q", "products"), EAST)])
    for _ in range(2):
        await shared.clear_team("acme")
    assert (await found(shared), {*await found(shared, "acme-2")}) == ([], {"p", "q"})


async def test_only_the_named_collections_are_searched_and_their_results_are_mixed(shared: SharedEntries) -> None:
    await shared.keep("acme", [(entry("p-n"), NORTH), (entry("p-e"), EAST)])
    await shared.keep("acme", [(entry("q-ne", "products"), NORTHEAST), (entry("s", "secrets"), EAST)])
    assert await found(shared, "acme", EAST, 10, "policies") == ["p-e", "p-n"]
    assert await found(shared, "acme", EAST, 10, "policies", "products", "policies") == ["p-e", "q-ne", "p-n"]
    assert await found(shared, "acme", EAST, 2, "policies", "products") == ["p-e", "q-ne"]
    assert await found(shared, "acme", EAST, 10, "nothing-here") == []
    assert await shared.nearest("acme", EAST, 10, collections=[]) == []


async def test_an_entry_kept_again_replaces_itself_in_its_collection_alone(shared: SharedEntries) -> None:
    await shared.keep("acme", [(entry("a", content="old"), EAST), (entry("a", "products", "of products"), EAST)])
    await shared.keep("acme", [(entry("a", content="new"), NORTH)])
    answers = await shared.nearest("acme", NORTH, 10)
    assert [(each.entry.content, round(each.score, 3)) for each in answers] == [("new", 1.0), ("of products", 0.0)]


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (Shelf("a_b", "c"), Shelf("a", "b_c")),
        (Shelf("a-b", "c"), Shelf("a", "b-c")),
        (Shelf("acme", "policies"), Shelf("acme2", "policies")),
        (Shelf("acme", "policies"), Shelf("ACME", "policies")),
        (Shelf("acme", "other"), Shelf("other", "acme")),
    ],
)
async def test_a_team_finds_no_entries_of_another(shared: SharedEntries, one: Shelf, two: Shelf) -> None:  # EX-27
    await shared.keep(one.team, [(entry("x", one.collection, "of one"), EAST)])
    await shared.keep(two.team, [(entry("x", two.collection, "of two"), EAST)])
    for mine, collections in ((one, None), (one, [one.collection, two.collection, two.team])):
        answers = await shared.nearest(mine.team, EAST, 10, collections=collections)
        assert [each.entry.content for each in answers] == ["of one"]
    assert await shared.remove(one, ["x"]) == 1
    assert await shared.remove(one, ["x"]) == 0
    assert await shared.clear(one) == 0
    assert await found(shared, two.team) == ["x"]


async def test_removal_counts_the_entries_and_spares_the_rest(shared: SharedEntries) -> None:
    await shared.keep("acme", [(entry(name), EAST) for name in "abc"])
    await shared.keep("acme", [(entry("a", "products"), EAST)])
    assert await shared.remove(POLICIES, ["a", "b", "b", "z"]) == 2
    assert await shared.remove(POLICIES, []) == 0
    assert await found(shared, "acme", EAST, 10, "policies") == ["c"]
    assert await found(shared, "acme", EAST, 10, "products") == ["a"]


async def test_a_collection_is_removed_alone(shared: SharedEntries) -> None:
    await shared.keep("acme", [(entry("a"), EAST), (entry("b"), NORTH), (entry("a", "products"), EAST)])
    assert await shared.clear(POLICIES) == 2
    assert await shared.clear(POLICIES) == 0
    assert await found(shared) == ["a"]


async def test_robots_and_teams_entries_are_kept_in_one_folder(tmp_path: Path) -> None:
    robot = Owner("acme", "writer")
    lesson = MemoryEntry(id="a", type=LessonType.INSIGHT, content="a lesson", created_at=NOON)
    for visit in ("first", "again"):
        qdrant = Qdrant(path=str(tmp_path), dimensions=2)
        await qdrant.open()
        lessons, shared = QdrantEntries(qdrant), QdrantSharedEntries(qdrant)
        await lessons.prepare()
        await shared.prepare()
        if visit == "first":
            await lessons.keep(robot, [(lesson, EAST)], rev=1)
            await shared.keep("acme", [(entry("b"), EAST)])
        assert [each.entry.id for each in await lessons.nearest(robot, EAST, 10)] == ["a"]
        assert await found(shared) == ["b"]
        await qdrant.close()
