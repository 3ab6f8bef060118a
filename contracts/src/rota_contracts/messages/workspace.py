"""Workspaces: the text files of a robot, by path, which it keeps from run to run and people may read and change; and
those that a person has with an agent, which stand in that person's calls of it."""

import unicodedata
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from rota_contracts.model import Instant, Name, Part

PATH_LIMIT, LEVELS = 200, 8
"""Characters of a path, and its parts between slashes."""

FILE_LIMIT = 256 * 1024
"""Bytes of one file."""

USER_FILE = "USER.md"
PERSONAL_FILES = ("AGENTS.md", "SOUL.md", "IDENTITY.md", "TOOLS.md", USER_FILE, "BOOTSTRAP.md")
"""Files that a person may have with an agent, in the order in which they stand in a prompt."""

PERSONAL_LIMIT = 20_000
"""Characters of a person's file: as many as a prompt has of it, and all of them fit into one message."""


def valid_path(path: str) -> str:
    """The path, if it is one inside a workspace. Raises ValueError."""
    expected = "expected a path inside the workspace, like memory/2026-11-23.md"
    if not path or len(path) > PATH_LIMIT:
        raise ValueError(f"{expected}, of 1 to {PATH_LIMIT} characters, got {len(path)}")
    parts = path.split("/")
    if path.startswith("/") or (len(path) > 1 and path[1] == ":"):
        raise ValueError(f"{expected}: it doesn't begin with a slash or a drive")
    if any(part in ("", ".", "..") or part != part.strip() for part in parts):
        raise ValueError(f"{expected}: no part may be empty, . or .., or begin or end with a space")
    if len(parts) > LEVELS:
        raise ValueError(f"{expected}, of at most {LEVELS} levels, got {len(parts)}")
    if "\\" in path or any(unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") for character in path):
        raise ValueError(f"{expected}: no backslash and no control character")
    return unicodedata.normalize("NFC", path)


WorkspacePath = Annotated[str, AfterValidator(valid_path)]
"""A path inside a workspace: relative, of at most 200 characters and 8 levels, in Unicode's form NFC."""


WithAgent = Annotated[str, StringConstraints(pattern=r"^[^/\s]*$", max_length=200)]
"""The agent that a person (`member_id`) has a file with; empty: it is a robot's file."""


class FileRefusal(StrEnum):
    """Reasons for which a file isn't read, written or deleted."""

    NO_ROBOT = "no_robot"
    NOT_FOUND = "not_found"
    CHANGED = "changed"
    NOT_TEXT = "not_text"
    TOO_LARGE = "too_large"
    FULL = "full"


class WriteMode(StrEnum):
    """`append`: the content goes to the end of the file, on a line of its own."""

    REPLACE = "replace"
    APPEND = "append"


class FileInfo(Part):
    """A file without its content. `size` in bytes; `etag` is the SHA-256 of its content in hexadecimal."""

    path: str
    size: int = Field(ge=0)
    etag: str
    revision: int = Field(ge=1, description="grows with every change of the file")
    updated_at: Instant


class WriteFile(Part):
    """Request to the memory: write a file of a robot. Repeated with one `write_id` it is written once."""

    team_id: Name
    member_id: Name
    path: WorkspacePath
    agent_id: WithAgent = ""
    content: str
    mode: WriteMode = WriteMode.REPLACE
    write_id: str = Field(default="", max_length=200, description="empty: each request is a write of its own")
    etag: str | None = Field(
        default=None, description="only if the file has this etag; empty: only if there is no file; null: either way"
    )


class ReadFile(Part):
    """Request to the memory: read a file of a robot."""

    team_id: Name
    member_id: Name
    path: WorkspacePath
    agent_id: WithAgent = ""


class DeleteFile(Part):
    """Request to the memory: delete a file of a robot, with `etag` only if the file has it."""

    team_id: Name
    member_id: Name
    path: WorkspacePath
    agent_id: WithAgent = ""
    etag: str | None = None


class ListFiles(Part):
    """Request to the memory: list the files of a robot, with `folder` only those below it."""

    team_id: Name
    member_id: Name
    folder: str = Field(default="", max_length=PATH_LIMIT)
    agent_id: WithAgent = ""


class FileReply(Part):
    """The file, or the reason why not. `content` is there where the file was read."""

    file: FileInfo | None = None
    content: str | None = None
    refused: FileRefusal | None = None
    reason: str = ""


class FileList(Part):
    """The files by path: all of them, because a workspace has few."""

    files: list[FileInfo] = []


class SeedFiles(Part):
    """Request to the memory: read what a person has with an agent. At the first request `files`, by path, are written
    before, but for those that are there already; a file that was deleted since isn't written again."""

    team_id: Name
    member_id: Name
    agent_id: WithAgent = Field(min_length=1)
    files: dict[str, str] = {}


class SeededFiles(Part):
    """The contents by path; or the reason why nothing could be written."""

    files: dict[str, str] = {}
    refused: FileRefusal | None = None
    reason: str = ""


class ForgetFiles(Part):
    """Request to the memory: remove the files of people that belong to this person, or to these agents."""

    team_id: Name
    member_id: Name | None = None
    agent_ids: list[WithAgent] = Field(default=[], max_length=500)


class ForgottenFiles(Part):
    """The number of files that were removed."""

    count: int = Field(ge=0)
