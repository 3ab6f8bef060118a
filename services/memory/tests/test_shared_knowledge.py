"""The knowledge that a team shares: kept, found, recalled by its robots, and removed."""

from collections.abc import AsyncIterator

import pytest
from services.memory.tests.harness import Memory

from memory.domain import MAX_COLLECTIONS, REPLY_LIMIT, Owner
from rota_common.errors import Permanent


@pytest.fixture
async def team() -> AsyncIterator[Memory]:
    async with Memory().running() as running:
        await running.share("policies", "discounts need the managers word", "refunds take ten days")
        await running.share("products", "the large plan has discounts for schools")
        yield running


async def test_shared_entries_are_found_by_their_content(team: Memory) -> None:  # EX-27
    assert await team.search("refunds take how many days", limit=1) == ["refunds take ten days"]
    assert len(await team.search("discounts")) == 3
    assert await team.search("discounts", collections=["products"]) == ["the large plan has discounts for schools"]


async def test_a_title_is_found_as_well(team: Memory) -> None:
    await team.share("policies", "see the annex", title="Parental leave")
    assert await team.search("parental leave", limit=1) == ["see the annex"]


async def test_an_id_shared_again_is_replaced_also_within_one_request(team: Memory) -> None:
    assert await team.share("prices", "old price", "new price", id="price") == 1
    assert await team.search("price", collections=["prices"]) == ["new price"]
    assert await team.share("prices", "newest price", id="price") == 1
    assert await team.search("price", collections=["prices"]) == ["newest price"]


async def test_a_robot_recalls_from_the_collections_it_names_alone(team: Memory) -> None:  # EX-27
    assert (await team.reply("discounts")).shared == []
    recalled = await team.reply("discounts", collections=["policies", "nothing-here"], shared_limit=1)
    assert [each.entry.content for each in recalled.shared] == ["discounts need the managers word"]
    assert recalled.shared[0].score > 0
    assert (
        await team.reply("discounts", owner=Owner("other", "writer"), collections=["policies", "products"])
    ).shared == []


async def test_an_empty_query_finds_nothing(team: Memory) -> None:
    assert await team.search(" ") == []
    assert (await team.reply(" ", collections=["policies"])).shared == []


async def test_entries_and_collections_are_removed(team: Memory) -> None:
    assert await team.unshare("policies", ["refunds take ten days", "never there"]) == 1
    assert await team.unshare("policies", team="other") == 0
    assert await team.unshare("policies") == 1
    assert await team.search("discounts") == ["the large plan has discounts for schools"]


async def test_a_reply_is_never_longer_than_a_message_may_be(team: Memory) -> None:
    for start in range(0, 100, 25):  # a request has to fit into a message, too
        await team.share("books", *(f"page {number} " + "x" * 19_000 for number in range(start, start + 25)))
    recalled = await team.reply("page", collections=["books"], shared_limit=100)
    length = len(recalled.model_dump_json().encode())
    assert REPLY_LIMIT - 20_000 < length < REPLY_LIMIT + 1_000
    assert len(await team.search("page", limit=100)) == len(recalled.shared) < 100


async def test_too_many_collections_are_refused_and_repeated_ones_count_once(team: Memory) -> None:
    names = [f"c{number}" for number in range(MAX_COLLECTIONS)]
    assert (await team.reply("discounts", collections=[*names, *names])).shared == []
    with pytest.raises(Permanent, match=f"at most {MAX_COLLECTIONS} collections in one question, got 51"):
        await team.reply("discounts", collections=[*names, "policies"])
    with pytest.raises(Permanent, match="name fewer"):
        await team.search("discounts", collections=[*names, "policies"])
