"""Workspaces: files that a robot keeps from run to run."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import ValidationError
from services.memory.tests.harness import ROBOT, Memory

from memory import workspace
from rota_contracts.catalog import DELETE_FILE, LIST_FILES, READ_FILE, WRITE_FILE
from rota_contracts.messages.workspace import (
    FILE_LIMIT,
    DeleteFile,
    FileRefusal,
    FileReply,
    ListFiles,
    ReadFile,
    WriteFile,
)

ITS: Any = {"team_id": ROBOT.team, "member_id": ROBOT.member}


@pytest.fixture
async def memory() -> AsyncIterator[Memory]:
    async with Memory().running() as running:
        running.robot(1)
        yield running


async def write(memory: Memory, path: str, content: str, **given: Any) -> FileReply:
    return await memory.bus.ask(WRITE_FILE, WriteFile(**ITS, path=path, content=content, **given))


async def read(memory: Memory, path: str) -> FileReply:
    return await memory.bus.ask(READ_FILE, ReadFile(**ITS, path=path))


async def paths(memory: Memory, folder: str = "") -> list[str]:
    return [one.path for one in (await memory.bus.ask(LIST_FILES, ListFiles(**ITS, folder=folder))).files]


async def test_a_file_is_written_read_appended_to_listed_and_deleted(memory: Memory) -> None:  # EX-99
    first = await write(memory, "memory/2026-03-02.md", "met Ann")
    assert first.file is not None
    more = await write(memory, "memory/2026-03-02.md", "met Ben", mode="append")
    found = await read(memory, "memory/2026-03-02.md")
    assert (found.content, found.file) == ("met Ann\nmet Ben", more.file)
    await write(memory, "notes.md", "")
    assert await paths(memory) == ["memory/2026-03-02.md", "notes.md"]
    assert await paths(memory, "memory/") == ["memory/2026-03-02.md"]
    gone = await memory.bus.ask(DELETE_FILE, DeleteFile(**ITS, path="notes.md"))
    assert gone.file is not None
    again = await memory.bus.ask(DELETE_FILE, DeleteFile(**ITS, path="notes.md"))
    assert (again.refused, await paths(memory)) == (FileRefusal.NOT_FOUND, ["memory/2026-03-02.md"])


async def test_a_repeated_write_is_done_once_even_after_a_later_one(memory: Memory) -> None:  # EX-99
    await write(memory, "log", "a", mode="append", write_id="1")
    await write(memory, "log", "b", mode="append", write_id="2")
    repeated = await write(memory, "log", "a", mode="append", write_id="1")
    assert repeated.file is not None
    assert ((await read(memory, "log")).content, repeated.file.revision) == ("a\nb", 2)


async def test_a_write_with_an_etag_never_overwrites_another_ones_change(memory: Memory) -> None:
    made = await write(memory, "plan", "one", etag="")
    assert made.file is not None
    assert (await write(memory, "plan", "two", etag="")).refused is FileRefusal.CHANGED
    assert (await write(memory, "plan", "two", etag=made.file.etag)).refused is None
    stale = await write(memory, "plan", "three", etag=made.file.etag)
    assert stale.refused is FileRefusal.CHANGED
    assert "read it again" in stale.reason
    gone = await memory.bus.ask(DELETE_FILE, DeleteFile(**ITS, path="plan", etag=made.file.etag))
    assert (gone.refused, (await read(memory, "plan")).content) == (FileRefusal.CHANGED, "two")


OUTSIDE = (
    "",
    "/etc/passwd",
    "../other/file",
    "a/../../b",
    "a//b",
    "./a",
    "a/",
    "c:\\x",
    "C:/x",
    "a\x00b",
    "a\nb",
    " a",
)


def test_a_path_outside_of_the_workspace_is_no_path(subtests: pytest.Subtests) -> None:
    for path in (*OUTSIDE, "x" * 201, "a/b/c/d/e/f/g/h/i"):
        with subtests.test(path), pytest.raises(ValidationError, match="expected a path inside the workspace"):
            ReadFile(**ITS, path=path)


async def test_what_is_no_text_and_what_is_too_much_is_refused(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (await write(memory, "a", "\x00")).refused is FileRefusal.NOT_TEXT
    assert (await write(memory, "a", "ä" * (FILE_LIMIT // 2))).refused is None
    assert (await write(memory, "a", "x", mode="append")).refused is FileRefusal.TOO_LARGE
    monkeypatch.setattr(workspace, "FILES", 1)
    assert (await write(memory, "b", "")).refused is FileRefusal.FULL
    monkeypatch.setattr(workspace, "FILES", 2)
    monkeypatch.setattr(workspace, "BYTES", FILE_LIMIT)
    assert (await write(memory, "b", "x")).refused is FileRefusal.FULL
    monkeypatch.undo()
    monkeypatch.setattr(workspace, "TEAM_BYTES", FILE_LIMIT - 10)
    full = await write(memory, "b", "x")
    assert (full.refused, "the team's robots" in full.reason) == (FileRefusal.FULL, True)
    assert (await write(memory, "a", "shorter")).refused is None, "a full workspace can be tidied"


async def test_the_files_end_with_their_robot(memory: Memory) -> None:
    await write(memory, "a", "of the first")
    memory.robot(2, deleted=True)
    assert (await write(memory, "b", "late")).refused is FileRefusal.NO_ROBOT
    memory.robot(1)  # a write that has read the robot before it was deleted
    await memory.deleted(2)
    assert (await write(memory, "b", "late")).refused is FileRefusal.NO_ROBOT
    assert await paths(memory) == []
    memory.robot(3)
    assert (await write(memory, "a", "of the second")).refused is None
    await memory.deleted(2, again="twice")
    assert await paths(memory) == ["a"]
