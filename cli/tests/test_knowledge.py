"""`rota kb`: files as entries, and the requests to the gateway."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from cli.tests.harness import TEAM, Command

from rota.errors import CliError
from rota.text_splitter import PART_LIMIT, read_text, split
from rota_contracts.messages.memory import MAX_PARTS

KB = f"{TEAM}/kb"


class Gateway:
    """Keeps entries by collection and id, as the real one does; `asked` is each request's method and path."""

    def __init__(self) -> None:
        self.has: dict[tuple[str, str], dict[str, str]] = {}
        self.asked: list[tuple[str, str]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix(KB).removeprefix("/")
        collection, _, entry_id = path.partition("/")
        self.asked.append((request.method, path))
        match request.method:
            case "POST":
                self.has |= {(collection, each["id"]): each for each in json.loads(request.content)["entries"]}
                return httpx.Response(200, json={"count": 1})
            case "GET":
                found = [{"entry": {**each, "collection": name}, "score": 0.5} for (name, _), each in self.has.items()]
                return httpx.Response(200, json={"entries": found})
            case _:
                return self._remove(collection, entry_id, request.url.params.get("parts_from"))

    def _remove(self, collection: str, entry_id: str, parts_from: str | None) -> httpx.Response:
        assert parts_from is None or 1 <= int(parts_from) <= MAX_PARTS
        ids = [entry_id] if parts_from is None else [f"{entry_id}#{n}" for n in range(int(parts_from), MAX_PARTS + 1)]
        gone = [key for key in self.has if key[0] == collection and (not entry_id or key[1] in ids)]
        for key in gone:
            del self.has[key]
        if not gone:
            return httpx.Response(404, json={"error": {"code": "entry_not_found", "message": "nothing there"}})
        return httpx.Response(200, json={"count": len(gone)})

    def ids(self) -> list[str]:
        return [name for _, name in self.has]


@pytest.fixture
def gateway(connect: Callable[[Gateway], None]) -> Gateway:
    made = Gateway()
    connect(made)
    return made


def paragraphs(count: int, *, size: int = 1_500) -> str:
    return "\n\n".join(f"{number} " + "x" * size for number in range(count))


def test_a_short_file_is_one_entry_under_its_name_and_heading(gateway: Gateway, command: Command) -> None:  # EX-27
    Path("discounts.md").write_text("\n# Discounts #\n\nUp to 10 %.\n")
    assert command("kb", "put", "policies", "discounts.md") == (0, "discounts.md: stored in policies\n", "")
    entry = {"id": "discounts.md", "title": "Discounts", "content": "# Discounts #\n\nUp to 10 %."}
    assert gateway.has == {("policies", "discounts.md"): entry}


def test_a_long_file_is_stored_in_parts_that_end_with_paragraphs(gateway: Gateway, command: Command) -> None:
    Path("plan b.txt").write_text(paragraphs(5))
    code, out, _ = command("kb", "put", "products", "plan b.txt", "--json")
    assert (code, json.loads(out)) == (0, {"collection": "products", "id": "plan b.txt", "parts": 3})
    assert gateway.ids() == ["plan b.txt#1", "plan b.txt#2", "plan b.txt#3"]
    entries = list(gateway.has.values())
    assert [entry["title"] for entry in entries] == [f"plan b ({number} of 3)" for number in (1, 2, 3)]
    assert "\n\n".join(entry["content"] for entry in entries) == paragraphs(5)


@pytest.mark.parametrize(("before", "after"), [(5, 1), (1, 5), (5, 3), (9, 3), (1, 1)])
def test_a_replaced_file_leaves_no_old_parts(gateway: Gateway, command: Command, before: int, after: int) -> None:
    Path("a.md").write_text("other")
    command("kb", "put", "products", "a.md", "--id", "b")
    for count in (before, after):
        Path("a.md").write_text(paragraphs(count))
        assert command("kb", "put", "products", "a.md")[0] == 0
    parts = [part for entry in gateway.has.values() if (part := entry["content"]) != "other"]
    assert "\n\n".join(parts) == paragraphs(after)
    assert "b" in gateway.ids()


def test_a_very_long_file_is_sent_in_several_requests(gateway: Gateway, command: Command) -> None:
    Path("book.txt").write_text(paragraphs(60, size=PART_LIMIT - 100))
    assert command("kb", "put", "books", "book.txt")[:2] == (0, "book.txt: stored in books, in 60 parts\n")
    assert [method for method, _ in gateway.asked] == ["POST", "POST", "POST", "DELETE", "DELETE"]
    assert len(gateway.has) == 60


def test_the_longest_accepted_file_has_a_thousand_parts(gateway: Gateway, command: Command) -> None:
    Path("book.txt").write_text(paragraphs(MAX_PARTS, size=PART_LIMIT - 100))
    assert command("kb", "put", "books", "book.txt")[0] == 0
    assert len(gateway.has) == MAX_PARTS
    Path("book.txt").write_text(paragraphs(MAX_PARTS + 1, size=PART_LIMIT - 100))
    assert "expected at most 1000 parts" in command("kb", "put", "books", "book.txt")[2]


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "can't read"), (b" \n", "it is empty"), (b"\xff\xfe", "expected a text in UTF-8")],
)
def test_a_file_that_is_no_text_is_rejected_before_anything_is_sent(
    gateway: Gateway, command: Command, content: bytes | None, words: str
) -> None:
    Path("good.md").write_text("good")
    if content is not None:
        Path("bad.md").write_bytes(content)
    code, out, err = command("kb", "put", "policies", "good.md", "bad.md")
    assert (code, out, gateway.asked) == (1, "", [])
    assert words in err


def test_two_files_with_one_name_are_rejected(gateway: Gateway, command: Command) -> None:
    for folder in ("x", "y"):
        Path(folder).mkdir()
        Path(folder, "a.md").write_text(folder)
    code, _, err = command("kb", "put", "policies", "x/a.md", "y/a.md")
    assert (code, gateway.asked) == (1, [])
    assert "got a.md more than once" in err


def test_an_id_too_long_for_its_parts_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("text")
    assert read_text(path, "x" * 195).id == "x" * 195
    with pytest.raises(CliError, match="at most 195 characters"):
        read_text(path, "x" * 196)


def test_results_are_listed(gateway: Gateway, command: Command) -> None:
    assert "rota kb put" in command("kb", "search", "discount")[1]
    Path("a.md").write_text("# Discounts\nUp to\n10 %.")
    command("kb", "put", "policies", "a.md")
    code, out, _ = command("kb", "search", "discount", "--collection", "policies")
    assert code == 0
    assert " ".join(out.splitlines()[1].split()) == "0.50 policies a.md Discounts # Discounts Up to 10 %."
    (found,) = json.loads(command("kb", "search", "discount", "--json")[1])
    assert found["entry"]["id"] == "a.md"


def test_an_entry_is_removed_with_its_parts_and_a_collection_as_a_whole(gateway: Gateway, command: Command) -> None:
    Path("long #1.md").write_text(paragraphs(5))
    Path("short.md").write_text("short")
    command("kb", "put", "policies", "long #1.md", "short.md")
    assert command("kb", "remove", "policies", "long #1.md")[:2] == (0, "policies: 3 entries removed\n")
    assert gateway.ids() == ["short.md"]
    code, _, err = command("kb", "remove", "policies", "long #1.md")
    assert code == 1
    assert "collection policies has no long #1.md" in err
    printed: dict[str, Any] = json.loads(command("kb", "remove", "policies", "--json")[1])
    assert printed == {"collection": "policies", "id": None, "count": 1}
    assert command("kb", "remove", "policies")[0] == 1


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("one two\n\nthree", ["one two", "three"]),
        ("aaaa\n \t\n\nbb\ncc", ["aaaa", "bb\ncc"]),
        ("one\ntwo\nthree four", ["one\ntwo", "three four"]),
        ("one. Two. three four", ["one. Two.", "three four"]),
        ("一二三四。五六七八九十。", ["一二三四。", "五六七八九十。"]),
        ("three four five", ["three four", "five"]),
        ("abcdefghijklmnop", ["abcdefghij", "klmnop"]),
        ("1234567890\n\n1234567890", ["1234567890", "1234567890"]),
        (" \n\n ", []),
    ],
)
def test_a_text_is_split_at_the_best_border(text: str, parts: list[str]) -> None:
    assert list(split(text, limit=10)) == parts
