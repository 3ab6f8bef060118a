"""The files that people have with agents: bounded, begun once, and apart from those of everybody else."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from services.memory.tests.harness import Memory

from memory import workspace
from rota_contracts.catalog import FORGET_FILES, LIST_FILES, READ_FILE, SEED_FILES, WRITE_FILE
from rota_contracts.messages.workspace import (
    PERSONAL_LIMIT,
    FileRefusal,
    FileReply,
    ForgetFiles,
    ListFiles,
    ReadFile,
    SeededFiles,
    SeedFiles,
    WriteFile,
)

HERS: Any = {"team_id": "acme", "member_id": "ann", "agent_id": "experts.writer"}
OTHERS = ({"team_id": "globex"}, {"member_id": "ben"}, {"agent_id": "experts.reader"}, {"agent_id": ""})


@pytest.fixture
async def memory() -> AsyncIterator[Memory]:
    async with Memory().running() as running:
        yield running


async def write(memory: Memory, path: str, content: str, **of: Any) -> FileReply:
    return await memory.bus.ask(WRITE_FILE, WriteFile(**HERS | of, path=path, content=content))


async def seed(memory: Memory, **files: str) -> SeededFiles:
    return await memory.bus.ask(
        SEED_FILES, SeedFiles(**HERS, files={f"{name}.md": text for name, text in files.items()})
    )


async def test_a_persons_file_is_read_by_that_person_for_that_agent_alone(memory: Memory) -> None:  # EX-82
    assert (await write(memory, "USER.md", "I am Ann.")).refused is None
    assert (await memory.bus.ask(READ_FILE, ReadFile(**HERS, path="USER.md"))).content == "I am Ann."
    for other in OTHERS:
        read = await memory.bus.ask(READ_FILE, ReadFile(**HERS | other, path="USER.md"))
        assert (read.refused, other) == (FileRefusal.NOT_FOUND, other)
        assert (await memory.bus.ask(LIST_FILES, ListFiles(**HERS | other))).files == []


async def test_what_no_prompt_would_have_is_refused(memory: Memory) -> None:
    assert (await write(memory, "USER.md", "ä" * PERSONAL_LIMIT)).refused is None
    assert (await write(memory, "USER.md", "a" * (PERSONAL_LIMIT + 1))).refused is FileRefusal.TOO_LARGE
    other = await write(memory, "notes.md", "a")
    assert other.refused is FileRefusal.NOT_FOUND
    assert "USER.md" in other.reason


async def test_a_first_call_writes_what_isnt_there_and_later_ones_read(memory: Memory) -> None:  # EX-83
    await write(memory, "USER.md", "I am Ann.")
    begun = {"SOUL.md": "Be brief.", "USER.md": "I am Ann."}
    assert (await seed(memory, SOUL="Be brief.", USER="Who?")).files == begun
    assert (await seed(memory, SOUL="Be long.", TOOLS="None.")).files == begun
    assert (await memory.bus.ask(FORGET_FILES, ForgetFiles(team_id="acme", member_id="ann"))).count == 2
    assert (await seed(memory, SOUL="Be long.")).files == {"SOUL.md": "Be long."}


async def test_a_full_share_refuses_the_beginning_and_says_why(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "FILES", 2)
    await write(memory, "USER.md", "I am Ann.", agent_id="experts.reader")
    refused = await seed(memory, SOUL="Be brief.", USER="Who?")
    assert (refused.refused, refused.files) == (FileRefusal.FULL, {})
    assert "there are 1 files, and may be 2" in refused.reason
    assert (await seed(memory, SOUL="Be brief.")).files == {"SOUL.md": "Be brief."}
