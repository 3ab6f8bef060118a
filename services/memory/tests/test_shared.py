"""What a team shares: kept, found, recalled by its robots, and removed; all in plain dictionaries."""

from datetime import UTC, datetime
from typing import Any

import pytest

from memory.adapters.in_memory import HashingEmbedder, InMemoryKnowledge, InMemoryRobots, InMemoryShared
from memory.domain import ANSWER_LIMIT, MAX_COLLECTIONS
from memory.recall import RecallEntries
from memory.search_shared import SearchSharedEntries
from memory.share import ShareEntries
from memory.unshare import UnshareEntries
from rota_common.errors import Permanent
from rota_contracts.messages.memory import Recall, RecallReply, SearchShared, Share, SharedEntry, Unshare

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


class Team:
    """The use cases, wired to dictionaries."""

    def __init__(self) -> None:
        shared, embedder = InMemoryShared(), HashingEmbedder()
        self._share, self._unshare = ShareEntries(shared, embedder), UnshareEntries(shared)
        self._search = SearchSharedEntries(shared, embedder)
        self._recall = RecallEntries(InMemoryKnowledge(), shared, InMemoryRobots(), embedder, lambda: NOON)

    async def share(self, collection: str, *contents: str, team: str = "acme", **fields: Any) -> int:
        entries = [
            SharedEntry(**{"collection": collection, "id": text[:50], "content": text, "updated_at": NOON} | fields)
            for text in contents
        ]
        return (await self._share(Share(team_id=team, entries=entries))).count

    async def search(self, query: str, *, team: str = "acme", **given: Any) -> list[str]:
        found = await self._search(SearchShared(team_id=team, query=query, **given))
        return [each.entry.content for each in found.entries]

    async def recall(self, query: str, *, team: str = "acme", **given: Any) -> RecallReply:
        return await self._recall(Recall(team_id=team, member_id="writer", query=query, **given))

    async def unshare(self, collection: str, ids: list[str] | None = None, *, team: str = "acme") -> int:
        return (await self._unshare(Unshare(team_id=team, collection=collection, ids=ids))).count


@pytest.fixture
async def team() -> Team:
    made = Team()
    await made.share("policies", "discounts need the managers word", "refunds take ten days")
    await made.share("products", "the large plan has discounts for schools")
    return made


async def test_what_is_shared_is_found_by_what_it_says(team: Team) -> None:  # EX-27
    assert await team.search("refunds take how many days", limit=1) == ["refunds take ten days"]
    assert len(await team.search("discounts")) == 3
    assert await team.search("discounts", collections=["products"]) == ["the large plan has discounts for schools"]


async def test_a_title_is_found_as_well(team: Team) -> None:
    await team.share("policies", "see the annex", title="Parental leave")
    assert await team.search("parental leave", limit=1) == ["see the annex"]


async def test_sharing_an_id_again_replaces_it_also_within_one_question(team: Team) -> None:
    assert await team.share("prices", "old price", "new price", id="price") == 1
    assert await team.search("price", collections=["prices"]) == ["new price"]
    assert await team.share("prices", "newest price", id="price") == 1
    assert await team.search("price", collections=["prices"]) == ["newest price"]


async def test_a_robot_recalls_of_the_collections_it_names_and_no_other(team: Team) -> None:  # EX-27
    assert (await team.recall("discounts")).shared == []
    recalled = await team.recall("discounts", collections=["policies", "nothing-here"], shared_limit=1)
    assert [each.entry.content for each in recalled.shared] == ["discounts need the managers word"]
    assert recalled.shared[0].score > 0
    assert (await team.recall("discounts", team="other", collections=["policies", "products"])).shared == []


async def test_nothing_is_asked_and_nothing_is_answered(team: Team) -> None:
    assert await team.search(" ") == []
    assert (await team.recall(" ", collections=["policies"])).shared == []


async def test_entries_and_collections_are_removed(team: Team) -> None:
    assert await team.unshare("policies", ["refunds take ten days", "never there"]) == 1
    assert await team.unshare("policies", team="other") == 0
    assert await team.unshare("policies") == 1
    assert await team.search("discounts") == ["the large plan has discounts for schools"]


async def test_an_answer_is_never_longer_than_a_message_may_be(team: Team) -> None:
    await team.share("books", *(f"page {number} " + "x" * 19_000 for number in range(100)))
    recalled = await team.recall("page", collections=["books"], shared_limit=100)
    length = len(recalled.model_dump_json().encode())
    assert ANSWER_LIMIT - 20_000 < length < ANSWER_LIMIT + 1_000
    assert len(await team.search("page", limit=100)) == len(recalled.shared) < 100


async def test_too_many_collections_are_refused_and_repeated_ones_count_once(team: Team) -> None:
    names = [f"c{number}" for number in range(MAX_COLLECTIONS)]
    assert (await team.recall("discounts", collections=[*names, *names])).shared == []
    with pytest.raises(Permanent, match=f"at most {MAX_COLLECTIONS} collections in one question, got 51"):
        await team.recall("discounts", collections=[*names, "policies"])
    with pytest.raises(Permanent, match="name fewer"):
        await team.search("discounts", collections=[*names, "policies"])
