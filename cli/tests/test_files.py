"""`rota files`: the files of a robot."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from cli.tests.harness import TEAM, Command

FILES = f"{TEAM}/robots/leader/files"


class Gateway:
    """Keeps a robot's files by path; `asked` is each request's method, path as it was sent, and headers."""

    def __init__(self) -> None:
        self.has: dict[str, str] = {}
        self.asked: list[tuple[str, str, httpx.Headers]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        sent = request.url.raw_path.decode().removeprefix(FILES)
        self.asked.append((request.method, sent, request.headers))
        path = request.url.path.removeprefix(FILES).removeprefix("/")
        if not path:
            return httpx.Response(200, json={"files": [self._info(each) for each in self.has]})
        match request.method:
            case "PUT":
                self.has[path] = request.content.decode()
                return httpx.Response(200, json=self._info(path))
            case "GET":
                return httpx.Response(200, content=self.has[path].encode())
            case _:
                del self.has[path]
                return httpx.Response(204)

    def _info(self, path: str) -> dict[str, Any]:
        size = len(self.has[path].encode())
        return {"path": path, "size": size, "etag": "e", "revision": 1, "updated_at": "2026-03-02T12:00:00Z"}


@pytest.fixture
def gateway(connect: Callable[[Gateway], None]) -> Gateway:
    made = Gateway()
    connect(made)
    return made


def test_files_are_written_listed_shown_and_removed(gateway: Gateway, command: Command) -> None:  # EX-99
    assert "leader has no files: rota files put leader PATH FILE" in command("files", "ls", "leader")[1]
    Path("plan.md").write_text("1. ä\n")
    put = command("files", "put", "leader", "notes/plan.md", "plan.md")
    assert put == (0, "notes/plan.md: written, 6 bytes, revision 1\n", "")
    listed = command("files", "ls", "leader", "notes")[1].splitlines()
    assert listed[1].split() == ["notes/plan.md", "6", "1", "2026-03-02", "12:00:00"]
    assert gateway.asked[-1][1] == "?folder=notes"
    assert command("files", "cat", "leader", "notes/plan.md") == (0, "1. ä\n", "")
    shown = command("files", "cat", "leader", "notes/plan.md", "--json")[1]
    assert json.loads(shown) == {"path": "notes/plan.md", "content": "1. ä\n"}
    assert command("files", "rm", "leader", "notes/plan.md", "--yes")[:2] == (0, "notes/plan.md: deleted\n")
    assert gateway.has == {}


def test_a_new_file_comes_from_standard_input(
    gateway: Gateway, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"text")))
    assert command("files", "put", "leader", "a.md", "--new")[0] == 0
    assert (gateway.has, gateway.asked[-1][2]["if-none-match"]) == ({"a.md": "text"}, "*")


def test_a_path_reaches_the_gateway_as_it_was_given(gateway: Gateway, command: Command) -> None:
    gateway.has = {"../b": "", "a b#?.md": ""}
    for path, sent in (("../b", "/%2E%2E/b"), ("a b#?.md", "/a%20b%23%3F.md")):
        command("files", "cat", "leader", path)
        assert gateway.asked[-1][1] == sent


def test_a_file_that_is_not_there_is_said_before_anything_is_sent(gateway: Gateway, command: Command) -> None:
    code, _, error = command("files", "put", "leader", "a.md", "nowhere.md")
    assert (code, "can't read nowhere.md" in error, gateway.asked) == (1, True, [])
