"""`rota agents files`: the requests and the output."""

import io
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from cli.tests.harness import TEAM, Command

FILES = f"{TEAM}/agents/yao.keeper/files"
INFO = {"path": "USER.md", "size": 9, "etag": "e", "revision": 2, "updated_at": "2026-03-02T12:00:00Z"}


class Gateway:
    """Has one file of Ann's; `asked` is each request's method, and its address below the agent's files."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.files: list[Any] = [INFO]
        self.written = b""

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append((request.method, request.url.raw_path.decode().removeprefix(FILES)))
        if request.method == "PUT":
            self.written = request.content
            return httpx.Response(200, json=INFO | {"member_id": "ann"})
        if request.method == "DELETE":
            return httpx.Response(204)
        if request.url.path.endswith("USER.md"):
            return httpx.Response(200, content=b"I am Ann.")
        return httpx.Response(200, json={"member_id": "ann", "files": self.files})


@pytest.fixture
def gateway(connect: Callable[[Gateway], None]) -> Gateway:
    made = Gateway()
    connect(made)
    return made


def test_a_persons_files_are_listed_shown_written_and_removed(
    gateway: Gateway, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:  # EX-82
    code, out, _ = command("agents", "files", "ls", "yao.keeper")
    assert (code, out.splitlines()[1].split()) == (0, ["USER.md", "9", "2", "2026-03-02", "12:00:00"])
    assert command("agents", "files", "cat", "yao.keeper", "USER.md", "--member", "ann")[:2] == (0, "I am Ann.")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"I am Ann.")))
    assert command("agents", "files", "put", "yao.keeper", "USER.md")[1] == "USER.md: written, 9 bytes, revision 2\n"
    assert gateway.written == b"I am Ann."
    assert command("agents", "files", "rm", "yao.keeper", "USER.md")[0] == 1
    assert command("agents", "files", "rm", "yao.keeper", "USER.md", "--yes")[:2] == (0, "USER.md: deleted\n")
    assert gateway.asked == [
        ("GET", ""),
        ("GET", "/USER.md?member=ann"),
        ("PUT", "/USER.md"),
        ("DELETE", "/USER.md"),
    ]


def test_a_person_without_files_is_shown_how_to_write_one(gateway: Gateway, command: Command) -> None:
    gateway.files = []
    assert (
        "ann has no files with yao.keeper: rota agents files put" in command("agents", "files", "ls", "yao.keeper")[1]
    )
    listed = json.loads(command("agents", "files", "ls", "yao.keeper", "--json")[1])
    assert listed == {"member_id": "ann", "files": []}
