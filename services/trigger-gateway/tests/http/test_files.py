"""A robot's files over HTTP: written, read, listed, deleted."""

from hashlib import sha256
from typing import Any

import pytest

from rota_common.testing.samples import NOON
from rota_contracts.catalog import DELETE_FILE, LIST_FILES, READ_FILE, WRITE_FILE
from rota_contracts.messages.workspace import (
    FILE_LIMIT,
    DeleteFile,
    FileInfo,
    FileList,
    FileRefusal,
    FileReply,
    ListFiles,
    ReadFile,
    WriteFile,
)

from .harness import TEAM, Gateway, error_of, fields_of

FILES = f"{TEAM}/robots/leader/files"


class Memory:
    """Files by robot and path; `refuses` is the reply to everything, once it is set."""

    def __init__(self) -> None:
        self.contents: dict[tuple[str, str], str] = {}
        self.asked: list[Any] = []
        self.refuses: FileReply | None = None

    async def write(self, request: WriteFile) -> FileReply:
        self.asked.append(request)
        self.contents[request.member_id, request.path] = request.content
        return self.refuses or FileReply(file=self._info(request))

    async def read(self, request: ReadFile) -> FileReply:
        found = self.contents.get((request.member_id, request.path))
        if found is None:
            return FileReply(refused=FileRefusal.NOT_FOUND, reason=f"there is no file {request.path}")
        return FileReply(file=self._info(request), content=found)

    async def list(self, request: ListFiles) -> FileList:
        self.asked.append(request)
        return FileList(files=[])

    async def delete(self, request: DeleteFile) -> FileReply:
        self.asked.append(request)
        return self.refuses or await self.read(ReadFile.model_validate(request.model_dump()))

    def _info(self, request: WriteFile | ReadFile) -> FileInfo:
        content = self.contents[request.member_id, request.path].encode()
        etag = sha256(content).hexdigest()
        return FileInfo(path=request.path, size=len(content), etag=etag, revision=1, updated_at=NOON)


@pytest.fixture
def memory(acme: Gateway) -> Memory:
    made = Memory()
    acme.bus.answer(WRITE_FILE, made.write)
    acme.bus.answer(READ_FILE, made.read)
    acme.bus.answer(LIST_FILES, made.list)
    acme.bus.answer(DELETE_FILE, made.delete)
    return made


async def test_a_file_is_written_and_read_as_text(acme: Gateway, memory: Memory) -> None:  # EX-99
    made = await acme.call("PUT", f"{FILES}/memory/2026-11-23.md", content="grüezi\n")
    assert (made.status_code, made.json()["path"], made.json()["size"]) == (200, "memory/2026-11-23.md", 8)
    read = await acme.call("GET", f"{FILES}/memory/2026-11-23.md")
    assert (read.text, read.headers["etag"]) == ("grüezi\n", f'"{made.json()["etag"]}"')
    assert read.headers["content-type"] == "text/plain; charset=utf-8"
    assert (await acme.call("GET", FILES, params={"folder": "memory"})).json() == {"files": []}
    assert memory.asked[-1].folder == "memory"
    assert (await acme.call("DELETE", f"{FILES}/memory/2026-11-23.md")).status_code == 204


async def test_a_condition_goes_with_the_write(acme: Gateway, memory: Memory) -> None:
    for headers, etag in (({}, None), ({"if-none-match": "*"}, ""), ({"if-match": '"abc"'}, "abc")):
        await acme.call("PUT", f"{FILES}/a", content="x", headers=headers)
        assert memory.asked[-1].etag == etag
    await acme.call("DELETE", f"{FILES}/a", headers={"if-match": '"abc"'})
    assert memory.asked[-1].etag == "abc"


async def test_a_refusal_has_its_status_and_its_reason(acme: Gateway, memory: Memory) -> None:
    for why, expected in (
        (FileRefusal.CHANGED, (409, "file_changed")),
        (FileRefusal.FULL, (409, "workspace_full")),
        (FileRefusal.TOO_LARGE, (413, "file_too_large")),
        (FileRefusal.NOT_TEXT, (422, "not_text")),
        (FileRefusal.NO_ROBOT, (404, "robot_not_found")),
    ):
        memory.refuses = FileReply(refused=why, reason="because")
        answer = await acme.call("PUT", f"{FILES}/a", content="x")
        assert (error_of(answer), answer.json()["error"]["message"]) == (expected, "because")
    assert error_of(await acme.call("GET", f"{FILES}/b")) == (404, "file_not_found")
    assert error_of(await acme.call("GET", f"{TEAM}/robots/missing/files")) == (404, "robot_not_found")


async def test_what_is_no_path_and_what_is_no_text_does_not_reach_the_memory(acme: Gateway, memory: Memory) -> None:
    for path in ("%2E%2E/x", "a//b", "a/%2E%2E/b", "x" * 201):
        answer = await acme.call("PUT", f"{FILES}/{path}", content="x")
        assert (answer.status_code, list(fields_of(answer))) == (422, ["path"]), path
    assert list(fields_of(await acme.call("PUT", f"{FILES}/a", content=b"\xff"))) == ["body"]
    assert error_of(await acme.call("PUT", f"{FILES}/a", content=b"x" * (FILE_LIMIT + 1))) == (413, "file_too_large")
    assert memory.asked == []


async def test_viewers_read_and_members_write(acme: Gateway, memory: Memory) -> None:
    viewer, member = await acme.make_key("viewer"), await acme.make_key("member")
    assert (await acme.call("GET", FILES, key=viewer)).status_code == 200
    assert error_of(await acme.call("PUT", f"{FILES}/a", key=viewer, content="x")) == (403, "role_too_low")
    assert (await acme.call("PUT", f"{FILES}/a", key=member, content="x")).status_code == 200


async def test_a_built_in_tool_that_is_not_there_is_refused_with_those_that_are(acme: Gateway) -> None:  # EX-99
    resources = {"tools": ["read_file", "shell"]}
    robot = {"robot_config": {"identity": {"role": "x"}, "resources": resources}}
    answer = await acme.call("PUT", f"{TEAM}/robots/leader", json=robot)
    assert answer.status_code == 422
    assert "'read_file', 'write_file'" in fields_of(answer)["robot_config.resources.tools.1"]
