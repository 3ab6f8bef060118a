"""A team's shared knowledge over HTTP: kept, searched, removed."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest

from rota_common.errors import Permanent
from rota_contracts.catalog import SEARCH_SHARED, SHARE, UNSHARE
from rota_contracts.messages.memory import (
    ForgetReply,
    SearchShared,
    SearchSharedReply,
    Share,
    SharedEntry,
    SharedMatch,
    ShareReply,
    Unshare,
)

from .harness import ADMIN, Gateway, error_of, fields_of

KB = "/v1/teams/acme/kb"
TEXT = {"title": "Discounts", "content": "Up to 10 % without asking."}


@dataclass
class Memory:
    """Finds the entries that hold the query's words, in the order in which they came."""

    refuses: str = ""
    has: dict[tuple[str, str, str], SharedEntry] = field(default_factory=dict)
    searches: list[SearchShared] = field(default_factory=list)

    def ids(self, team: str = "acme") -> list[tuple[str, str]]:
        return [(collection, name) for whose, collection, name in self.has if whose == team]

    async def share(self, question: Share) -> ShareReply:
        if self.refuses:
            raise Permanent(self.refuses)
        self.has |= {(question.team_id, entry.collection, entry.id): entry for entry in question.entries}
        return ShareReply(count=len(question.entries))

    async def unshare(self, question: Unshare) -> ForgetReply:
        shelf = (question.team_id, question.collection)
        gone = [key for key in self.has if key[:2] == shelf and (question.ids is None or key[2] in question.ids)]
        for key in gone:
            del self.has[key]
        return ForgetReply(count=len(gone))

    async def search(self, question: SearchShared) -> SearchSharedReply:
        self.searches.append(question)
        found = [entry for key, entry in self.has.items() if key[0] == question.team_id]
        return SearchSharedReply(
            entries=[SharedMatch(entry=each, score=0.5) for each in found if question.query in each.content]
        )


@pytest.fixture
def memory(empty: Gateway) -> Memory:
    made = Memory()
    empty.bus.answer(SHARE, made.share)
    empty.bus.answer(UNSHARE, made.unshare)
    empty.bus.answer(SEARCH_SHARED, made.search)
    return made


def entries(*ids: str) -> dict[str, Any]:
    return {"entries": [TEXT | {"id": each} for each in ids]}


async def test_an_entry_is_kept_and_replaced_under_its_id(empty: Gateway, memory: Memory) -> None:  # EX-27
    for content in ("old", "new"):
        answer = await empty.call("PUT", f"{KB}/policies/discounts.md", json=TEXT | {"content": content})
        assert (answer.status_code, answer.json()) == (200, {"count": 1})
    [entry] = memory.has.values()
    assert (entry.collection, entry.id, entry.title, entry.content) == (
        "policies",
        "discounts.md",
        "Discounts",
        "new",
    )
    assert abs(entry.updated_at - datetime.now(UTC)) < timedelta(minutes=1)


async def test_an_id_may_be_any_text(empty: Gateway, memory: Memory) -> None:
    for name in ("name#2", "a/b.md", "price list ü.md", "50%", "?x=1", ".."):
        path = f"{KB}/policies/{quote(name, safe='').replace('..', '%2E%2E')}"
        assert (await empty.call("PUT", path, json=TEXT)).status_code == 200, name
        assert memory.ids() == [("policies", name)]
        assert (await empty.call("DELETE", path)).json() == {"count": 1}, name
        assert memory.ids() == []


async def test_many_entries_are_kept_at_once(empty: Gateway, memory: Memory) -> None:
    names = [str(number) for number in range(100)]
    answer = await empty.call("POST", f"{KB}/policies", json=entries(*names))
    assert (answer.status_code, answer.json()) == (200, {"count": 100})
    assert memory.ids() == [("policies", name) for name in names]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"entries": []}, "entries"),
    (entries(*map(str, range(101))), "entries"),
    ({"entries": [TEXT]}, "entries.0.id"),
    ({"entries": [TEXT | {"id": ""}]}, "entries.0.id"),
    ({"entries": [TEXT | {"id": "x" * 201}]}, "entries.0.id"),
    ({"entries": [{"id": "a", "content": ""}]}, "entries.0.content"),
    ({"entries": [{"id": "a", "content": "x" * 20_001}]}, "entries.0.content"),
    ({"entries": [TEXT | {"id": "a", "title": "x" * 501}]}, "entries.0.title"),
    ({"entries": [TEXT | {"id": "a", "tilte": "x"}]}, "entries.0.tilte"),
    (entries("a", "b", "a"), "entries.2.id"),
]


async def test_a_wrong_entry_is_refused_with_its_field(empty: Gateway, memory: Memory) -> None:
    for body, where in WRONG:
        assert where in fields_of(await empty.call("POST", f"{KB}/policies", json=body)), where
    assert memory.has == {}


async def test_a_wrong_name_of_a_collection_is_refused(empty: Gateway, memory: Memory) -> None:
    for path in (f"{KB}/sales.policies", f"{KB}/a%20b"):
        assert error_of(await empty.call("POST", path, json=entries("a"))) == (422, "invalid_request")
        assert error_of(await empty.call("PUT", f"{path}/a", json=TEXT)) == (422, "invalid_request")
        assert error_of(await empty.call("DELETE", path)) == (422, "invalid_request")
    assert memory.has == {}


async def test_entries_and_collections_are_removed(empty: Gateway, memory: Memory) -> None:
    await empty.call("POST", f"{KB}/policies", json=entries("a", "b", "c"))
    await empty.call("PUT", f"{KB}/products/a", json=TEXT)
    assert (await empty.call("DELETE", f"{KB}/policies/a")).json() == {"count": 1}
    assert error_of(await empty.call("DELETE", f"{KB}/policies/a")) == (404, "entry_not_found")
    assert error_of(await empty.call("DELETE", f"{KB}/policies/")) == (422, "invalid_request")
    assert (await empty.call("DELETE", f"{KB}/policies")).json() == {"count": 2}
    assert error_of(await empty.call("DELETE", f"{KB}/policies")) == (404, "collection_not_found")
    assert memory.ids() == [("products", "a")]


async def test_the_parts_of_a_text_are_removed_from_one_on(empty: Gateway, memory: Memory) -> None:
    await empty.call("POST", f"{KB}/policies", json=entries("a", "a#1", "a#2", "a#3", "a#1000", "ab#2"))
    answer = await empty.call("DELETE", f"{KB}/policies/a", params={"parts_from": 2})
    assert answer.json() == {"count": 3}
    assert [name for _, name in memory.ids()] == ["a", "a#1", "ab#2"]
    again = await empty.call("DELETE", f"{KB}/policies/a", params={"parts_from": 2})
    assert error_of(again) == (404, "entry_not_found")
    assert "has no part of a from 2 on" in again.text
    assert error_of(await empty.call("DELETE", f"{KB}/policies/a", params={"parts_from": 0}))[0] == 422


async def test_knowledge_is_searched(empty: Gateway, memory: Memory) -> None:
    await empty.call("POST", f"{KB}/policies", json=entries("a"))
    answer = await empty.call("GET", KB, params={"query": "without asking", "collection": "policies", "limit": 7})
    assert answer.status_code == 200
    [found] = answer.json()["entries"]
    assert (found["entry"]["id"], found["entry"]["title"], found["score"]) == ("a", "Discounts", 0.5)
    assert (await empty.call("GET", KB, params={"query": "unheard of"})).json() == {"entries": []}
    narrow, wide = memory.searches
    assert (narrow.team_id, narrow.query, narrow.collections, narrow.limit) == (
        "acme",
        "without asking",
        ["policies"],
        7,
    )
    assert (wide.collections, wide.limit) == ([], 5)


async def test_a_wrong_search_is_refused(empty: Gateway, memory: Memory) -> None:
    for params in (
        {},
        {"query": ""},
        {"query": "x" * 2_001},
        {"query": "x", "limit": 101},
        {"query": "x", "collection": "."},
    ):
        assert error_of(await empty.call("GET", KB, params=params)) == (422, "invalid_request"), params
    assert memory.searches == []


async def test_knowledge_of_another_team_is_out_of_reach(empty: Gateway, memory: Memory) -> None:  # TG-23
    other = await empty.make_team("other")
    await empty.call("PUT", f"{KB}/policies/a", json=TEXT)
    requests = [
        ("PUT", f"{KB}/policies/a", {"json": TEXT}),
        ("POST", f"{KB}/policies", {"json": entries("a")}),
        ("DELETE", f"{KB}/policies/a", {}),
        ("DELETE", f"{KB}/policies", {}),
        ("GET", KB, {"params": {"query": "asking"}}),
    ]
    for method, path, given in requests:
        assert error_of(await empty.call(method, path, key=other, **given)) == (403, "foreign_team")
        assert error_of(await empty.call(method, path, key="missing", **given)) == (401, "unauthenticated")
    of_other = await empty.call("GET", "/v1/teams/other/kb", key=other, params={"query": "asking"})
    assert of_other.json() == {"entries": []}
    missing = await empty.call("PUT", "/v1/teams/nowhere/kb/policies/a", key=ADMIN, json=TEXT)
    assert error_of(missing) == (404, "team_not_found")
    assert memory.ids() == [("policies", "a")]


async def test_without_a_memory_it_is_a_503(empty: Gateway) -> None:
    answer = await empty.call("PUT", f"{KB}/policies/a", json=TEXT)
    assert error_of(answer) == (503, "unavailable")
    assert "the memory doesn't answer now" in answer.text
    assert answer.headers["retry-after"]


async def test_a_refusal_of_the_memory_is_a_422(empty: Gateway, memory: Memory) -> None:
    memory.refuses = "expected something else"
    assert error_of(await empty.call("PUT", f"{KB}/policies/a", json=TEXT)) == (422, "refused")
