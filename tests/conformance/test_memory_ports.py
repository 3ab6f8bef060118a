"""The memory's ports: the fakes and the real adapters keep the same promises."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import wordllama
from wordllama import WordLlama

from memory.adapters.in_memory import HashingEmbedder, InMemoryEntries, InMemoryKnowledgeBases
from memory.adapters.mongo_knowledge_bases import MongoKnowledgeBases
from memory.adapters.qdrant.connection import Qdrant
from memory.adapters.qdrant.entries import QdrantEntries
from memory.adapters.wordllama_embedder import WordllamaEmbedder
from memory.domain import Owner
from memory.ports import Embedder, Entries, KnowledgeBases, Vector
from rota_common.errors import Permanent
from rota_common.stores.mongo import Mongo
from rota_contracts.messages.learning import LessonType
from rota_contracts.messages.memory import MemoryEntry

ROBOT, OTHER = Owner("acme", "writer"), Owner("acme", "reader")
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
EAST, NORTH, NORTHEAST = [1.0, 0.0], [0.0, 1.0], [0.6, 0.8]


def entry(name: str, content: str = "text", *, at: datetime = NOON, **fields: Any) -> MemoryEntry:
    return MemoryEntry(id=name, type=LessonType.INSIGHT, content=content, execution_id="e1", created_at=at, **fields)


@asynccontextmanager
async def connected(path: str, *, dimensions: int = 2) -> AsyncIterator[Qdrant]:
    qdrant = Qdrant(path=path, dimensions=dimensions)
    await qdrant.open()
    yield qdrant
    await qdrant.close()


@pytest.fixture(params=["dict", "qdrant in memory", "qdrant in a folder"])
async def knowledge(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Entries]:
    if request.param == "dict":
        yield InMemoryEntries()
        return
    async with connected(str(tmp_path / "qdrant") if "folder" in request.param else "") as qdrant:
        real = QdrantEntries(qdrant)
        await real.prepare()
        yield real


async def recalled(knowledge: Entries, owner: Owner, vector: Vector = EAST, limit: int = 10) -> list[str]:
    return [found.entry.id for found in await knowledge.nearest(owner, vector, limit)]


async def test_the_nearest_come_first(knowledge: Entries) -> None:  # ME-01
    await knowledge.keep(ROBOT, [(entry("n"), NORTH), (entry("e"), EAST), (entry("ne"), NORTHEAST)], rev=1)
    found = await knowledge.nearest(ROBOT, EAST, 2)
    assert [one.entry for one in found] == [entry("e"), entry("ne")]
    assert [round(one.score, 3) for one in found] == [1.0, 0.6]


async def test_an_entry_kept_twice_is_kept_once_with_its_last_content(knowledge: Entries) -> None:
    await knowledge.keep(ROBOT, [(entry("a", "old"), EAST)], rev=1)
    await knowledge.keep(ROBOT, [(entry("a", "new"), NORTH)], rev=2)
    (found,) = await knowledge.nearest(ROBOT, NORTH, 10)
    assert (found.entry.content, round(found.score, 3)) == ("new", 1.0)


async def test_a_robot_finds_no_entries_of_another(knowledge: Entries) -> None:  # LE-04, DEC-31
    one, two = Owner("a_b", "c"), Owner("a", "b_c")
    assert one.label == two.label
    await knowledge.keep(one, [(entry("x", "of one"), EAST)], rev=1)
    await knowledge.keep(two, [(entry("x", "of two"), EAST)], rev=1)
    assert [found.entry.content for found in await knowledge.nearest(one, EAST, 10)] == ["of one"]
    assert await knowledge.remove(one, ["x"]) == 1
    assert await knowledge.clear(one) == 0
    assert [found.entry.content for found in await knowledge.nearest(two, EAST, 10)] == ["of two"]


async def test_the_entries_of_a_team_go_together_and_no_others(knowledge: Entries) -> None:
    elsewhere = Owner("acme-2", "writer")
    for owner in (ROBOT, OTHER, elsewhere):
        await knowledge.keep(owner, [(entry("a"), EAST)], rev=1)
    for _ in range(2):
        await knowledge.clear_team("acme")
    assert [await recalled(knowledge, owner) for owner in (ROBOT, OTHER, elsewhere)] == [[], [], ["a"]]


async def test_removal_counts_the_entries(knowledge: Entries) -> None:
    await knowledge.keep(ROBOT, [(entry(name), EAST) for name in "abc"], rev=1)
    await knowledge.keep(OTHER, [(entry("a"), EAST)], rev=1)
    assert await knowledge.remove(ROBOT, ["a", "b", "z"]) == 2
    assert await knowledge.remove(ROBOT, ["a"]) == 0
    assert await knowledge.remove(ROBOT, []) == 0
    assert await recalled(knowledge, ROBOT) == ["c"]
    assert await recalled(knowledge, OTHER) == ["a"]


async def test_clearing_spares_entries_of_a_later_revision(knowledge: Entries) -> None:  # LE-07
    for rev in (1, 2, 3):
        await knowledge.keep(ROBOT, [(entry(f"r{rev}"), EAST)], rev=rev)
    await knowledge.keep(OTHER, [(entry("o"), EAST)], rev=1)
    assert await knowledge.clear(ROBOT, up_to_rev=2) == 2
    assert await recalled(knowledge, ROBOT) == ["r3"]
    assert await knowledge.clear(ROBOT) == 1
    assert await recalled(knowledge, OTHER) == ["o"]


async def test_older_entries_are_found_and_removed_apart_from_the_rest(knowledge: Entries) -> None:  # LE-06
    moment = timedelta(milliseconds=1)
    east = datetime(2026, 3, 2, 13, tzinfo=timezone(timedelta(hours=1)))  # noon, as others write it
    ages = {"older": NOON - moment, "noon": NOON, "noon in the east": east, "younger": NOON + moment}
    await knowledge.keep(ROBOT, [(entry(name, at=at), EAST) for name, at in ages.items()], rev=1)
    await knowledge.keep(OTHER, [(entry("older", at=NOON - moment), EAST)], rev=1)
    young = await knowledge.nearest(ROBOT, EAST, 10, since=NOON)
    assert sorted(found.entry.id for found in young) == ["noon", "noon in the east", "younger"]
    assert await knowledge.remove(ROBOT, ["older", "noon"], before=NOON) == 1
    assert await knowledge.clear(ROBOT, before=NOON) == 0
    assert await knowledge.clear(ROBOT, up_to_rev=0, before=NOON + 2 * moment) == 0
    assert await knowledge.clear(ROBOT, before=NOON + moment) == 2
    assert await recalled(knowledge, ROBOT) == ["younger"]
    assert await recalled(knowledge, OTHER) == ["older"]


async def test_entries_of_one_scope_are_found_and_removed_apart_from_the_rest(knowledge: Entries) -> None:  # LE-05
    scopes = {"of none": "", "a": "c-1", "A": "C-1", "longer": "c-1 ", "mixed": "c-10"}
    await knowledge.keep(ROBOT, [(entry(name, scope=scope), EAST) for name, scope in scopes.items()], rev=1)
    await knowledge.keep(OTHER, [(entry("a", scope="c-1"), EAST)], rev=1)
    for name, scope in scopes.items():
        found = await knowledge.nearest(ROBOT, EAST, 10, scope=scope)
        assert [one.entry for one in found] == [entry(name, scope=scope)]
    assert await knowledge.clear(ROBOT, scope="c-1", before=NOON) == 0
    assert await knowledge.clear(ROBOT, scope="c-1") == 1
    assert await knowledge.clear(ROBOT, scope="c-1") == 0
    assert len(await knowledge.nearest(OTHER, EAST, 10, scope="c-1")) == 1
    assert await knowledge.clear(ROBOT, scope="") == 1
    assert await recalled(knowledge, ROBOT) == []
    assert await knowledge.clear(ROBOT) == 3


async def test_rehearsed_entries_are_found_by_those_who_want_them_alone(knowledge: Entries) -> None:  # LE-05
    canned = [entry("canned", rehearsed=True), entry("canned, scoped", rehearsed=True, scope="c-1")]
    await knowledge.keep(ROBOT, [(each, EAST) for each in [entry("real"), *canned]], rev=1)
    assert await recalled(knowledge, ROBOT) == ["real"]
    assert await knowledge.nearest(ROBOT, EAST, 10, scope="c-1") == []
    found = await knowledge.nearest(ROBOT, EAST, 10, rehearsed=True)
    assert sorted(one.entry.id for one in found) == ["canned", "real"]
    (scoped,) = await knowledge.nearest(ROBOT, EAST, 10, scope="c-1", rehearsed=True)
    assert scoped.entry == canned[1]


async def test_a_vector_of_zeros_is_near_to_nothing(knowledge: Entries) -> None:
    await knowledge.keep(ROBOT, [(entry("zero"), [0.0, 0.0]), (entry("e"), EAST)], rev=1)
    assert await recalled(knowledge, ROBOT, limit=1) == ["e"]
    assert await recalled(knowledge, ROBOT, [0.0, 0.0], limit=1) != []


async def test_a_folder_keeps_its_entries(tmp_path: Path) -> None:
    async with connected(str(tmp_path)) as qdrant:
        first = QdrantEntries(qdrant)
        await first.prepare()
        await first.keep(ROBOT, [(entry("a"), EAST)], rev=1)
    async with connected(str(tmp_path)) as qdrant:
        second = QdrantEntries(qdrant)
        await second.prepare()
        assert await recalled(second, ROBOT) == ["a"]


async def test_a_collection_of_another_embedder_is_refused(tmp_path: Path) -> None:
    async with connected(str(tmp_path)) as qdrant:
        await QdrantEntries(qdrant).prepare()
    async with connected(str(tmp_path), dimensions=256) as qdrant:
        with pytest.raises(Permanent, match="vectors of 256 numbers, got .*size=2"):
            await QdrantEntries(qdrant).prepare()


@pytest.fixture(params=["dict", "mongo"])
async def bases(request: pytest.FixtureRequest, mongo_url: str, mongo_prefix: str) -> AsyncIterator[KnowledgeBases]:
    if request.param == "dict":
        yield InMemoryKnowledgeBases()
        return
    mongo = Mongo(mongo_url, f"{mongo_prefix}_memory")
    yield MongoKnowledgeBases(mongo.database)
    await mongo.close()


async def test_a_knowledge_base_is_made_once(bases: KnowledgeBases) -> None:  # LE-04
    assert await bases.find(ROBOT) is None
    await bases.open(ROBOT, rev=1, at=NOON)
    await bases.open(ROBOT, rev=3, at=NOON + timedelta(hours=1))
    await bases.open(ROBOT, rev=2, at=NOON + timedelta(hours=2))
    found = await bases.find(ROBOT)
    assert found is not None
    assert (found.owner, found.created_at, found.rev, found.deleted) == (ROBOT, NOON, 3, False)
    assert await bases.find(OTHER) is None


async def test_a_knowledge_base_ends_with_its_robot_and_begins_anew(bases: KnowledgeBases) -> None:  # LE-07
    await bases.open(ROBOT, rev=1, at=NOON)
    await bases.close(ROBOT, rev=2, at=NOON)
    await bases.close(ROBOT, rev=2, at=NOON + timedelta(hours=1))
    ended = await bases.find(ROBOT)
    assert ended is not None
    assert (ended.deleted, ended.deleted_at) == (True, NOON)
    await bases.open(ROBOT, rev=3, at=NOON)
    await bases.close(ROBOT, rev=2, at=NOON + timedelta(hours=2))
    again = await bases.find(ROBOT)
    assert again is not None
    assert (again.deleted, again.rev, again.deleted_at) == (False, 3, NOON)


async def test_a_deletion_before_the_first_change_counts(bases: KnowledgeBases) -> None:
    await bases.close(ROBOT, rev=2, at=NOON)
    await bases.open(ROBOT, rev=1, at=NOON)
    found = await bases.find(ROBOT)
    assert found is not None
    assert found.deleted


@pytest.fixture(params=[HashingEmbedder, WordllamaEmbedder])
async def embedder(request: pytest.FixtureRequest) -> Embedder:
    made: Embedder = request.param()
    if isinstance(made, WordllamaEmbedder):
        await made.load()
    return made


async def test_vectors_have_the_promised_length(embedder: Embedder) -> None:
    vectors = await embedder.embed(["a report", "x" * 20_000, "Ünïcödé 漢字 🎉"])
    assert [len(vector) for vector in vectors] == [embedder.dimensions] * 3
    assert [round(sum(number**2 for number in vector), 3) for vector in vectors] == [1.0] * 3


async def test_a_text_without_a_word_is_all_zeros(embedder: Embedder) -> None:
    assert await embedder.embed([""]) == [[0.0] * embedder.dimensions]


async def test_texts_on_the_same_thing_are_closer(embedder: Embedder) -> None:
    one, two, other = await embedder.embed(
        ["the invoice of the customer", "the invoice the customer paid", "rain falls in spain"]
    )
    assert sum(a * b for a, b in zip(one, two, strict=True)) > sum(a * b for a, b in zip(one, other, strict=True))


async def test_the_same_text_has_the_same_vector(embedder: Embedder) -> None:
    (alone,) = await embedder.embed(["a short text"])
    assert (await embedder.embed(["a short text", "beside a much longer one " * 50]))[0] == alone


async def test_the_mapped_weights_give_the_vectors_of_wordllama() -> None:
    texts = ["hello world", "The quarterly report is late again.", "Ünïcödé 漢字 🎉"]
    folder = Path(wordllama.__file__).parent
    expected = WordLlama.load(cache_dir=folder, disable_download=True).embed(texts, norm=True)
    ours = WordllamaEmbedder()
    await ours.load()
    for mine, its in zip(await ours.embed(texts), expected.tolist(), strict=True):
        assert mine == pytest.approx(its, abs=1e-4)
