"""A workspace, a robot's or a person's: decisions on writes and deletions of its files. No I/O."""

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from rota_contracts.messages.workspace import (
    FILE_LIMIT,
    PERSONAL_FILES,
    PERSONAL_LIMIT,
    FileInfo,
    FileRefusal,
    WriteFile,
    WriteMode,
)

FILES, BYTES, TEAM_BYTES = 500, 16 * 1024 * 1024, 256 * 1024 * 1024
"""Files of a robot or a person, bytes of all of them, and bytes of all robots and people of a team."""

WRITES = 20
"""Ids of a file's latest writes that are known: a repeat of one of them changes nothing."""

PRINTABLE = "\t\n\r\f"


class Refused(Exception):
    """A file isn't read, written or deleted; the text is for people."""

    def __init__(self, why: FileRefusal, reason: str) -> None:
        super().__init__(reason)
        self.why = why


@dataclass(frozen=True, kw_only=True)
class File:
    """`rev` is the revision of the robot that wrote it last; `writes` are the ids of its latest writes."""

    path: str
    content: str
    revision: int
    rev: int
    writes: tuple[str, ...]
    updated_at: datetime

    @property
    def size(self) -> int:
        return len(self.content.encode())

    @property
    def etag(self) -> str:
        return hashlib.sha256(self.content.encode()).hexdigest()

    def info(self) -> FileInfo:
        return FileInfo(
            path=self.path, size=self.size, etag=self.etag, revision=self.revision, updated_at=self.updated_at
        )


@dataclass(frozen=True, kw_only=True)
class Usage:
    """The files and bytes of a robot, or of a person for all agents; and the bytes of all robots and people of the
    team."""

    files: int = 0
    bytes: int = 0
    team_bytes: int = 0


Decide = Callable[[File | None, Usage], File]
"""The file that is to be there, of the one that is there now. The same one: nothing is written. Raises Refused."""

Seed = Callable[[Collection[str], Usage], Sequence[File]]
"""The files to write, of the paths that are there. Raises Refused."""


def writing(request: WriteFile, *, rev: int, now: datetime) -> Decide:
    """The decision on a write, in the name of the robot at this revision."""

    def decide(there: File | None, usage: Usage) -> File:
        if there is not None and request.write_id and request.write_id in there.writes:
            return there
        require(there, request.path, request.etag)
        content = _content(request, there)
        _check(content, request.path)
        if request.agent_id:
            _check_personal(content, request.path)
        wanted = len(content.encode()) - (there.size if there else 0)
        _check_room(usage, wanted, new=int(there is None))
        writes = (*(there.writes if there else ()), *([request.write_id] if request.write_id else ()))
        return File(
            path=request.path,
            content=content,
            revision=there.revision + 1 if there else 1,
            rev=rev,
            writes=writes[-WRITES:],
            updated_at=now,
        )

    return decide


def seeding(files: Mapping[str, str], *, now: datetime) -> Seed:
    """The decision on a person's first files."""

    def decide(there: Collection[str], usage: Usage) -> Sequence[File]:
        new = {path: content for path, content in files.items() if path not in there}
        for path, content in new.items():
            _check(content, path)
            _check_personal(content, path)
        made = [
            File(path=path, content=content, revision=1, rev=0, writes=(), updated_at=now)
            for path, content in new.items()
        ]
        _check_room(usage, sum(file.size for file in made), new=len(made))
        return made

    return decide


def require(there: File | None, path: str, etag: str | None) -> None:
    """Raise Refused unless the file has this etag; an empty one means that there is no file."""
    if etag is None or (there.etag if there else "") == etag:
        return
    if there is None:
        raise Refused(FileRefusal.CHANGED, f"{path} isn't there any more: write it without an etag to make it anew")
    if not etag:
        raise Refused(FileRefusal.CHANGED, f"{path} is there already: write it with its etag {there.etag}")
    raise Refused(FileRefusal.CHANGED, f"{path} has changed since: read it again, its etag is now {there.etag}")


def missing(path: str) -> Refused:
    return Refused(FileRefusal.NOT_FOUND, f"there is no file {path}: list_files shows what is there")


def _content(request: WriteFile, there: File | None) -> str:
    if request.mode is WriteMode.REPLACE or there is None or not there.content:
        return request.content
    return f"{there.content}{'' if there.content.endswith(chr(10)) else chr(10)}{request.content}"


def _check(content: str, path: str) -> None:
    strange = next((one for one in content if (one < " " and one not in PRINTABLE) or one == "\x7f"), None)
    if strange is not None:
        raise Refused(FileRefusal.NOT_TEXT, f"expected text in {path}, got a control character, {ord(strange):#04x}")
    if any("\ud800" <= one <= "\udfff" for one in content):
        raise Refused(FileRefusal.NOT_TEXT, f"expected text in {path}, got half of a character")
    if (size := len(content.encode())) > FILE_LIMIT:
        split = "write the rest to another file"
        raise Refused(FileRefusal.TOO_LARGE, f"expected at most {FILE_LIMIT} bytes in {path}, got {size}: {split}")


def _check_personal(content: str, path: str) -> None:
    if path not in PERSONAL_FILES:
        raise Refused(FileRefusal.NOT_FOUND, f"expected one of {', '.join(PERSONAL_FILES)}, got {path}")
    if len(content) > PERSONAL_LIMIT:
        reason = f"expected at most {PERSONAL_LIMIT} characters in {path}, as many as a prompt has, got {len(content)}"
        raise Refused(FileRefusal.TOO_LARGE, reason)


def _check_room(usage: Usage, wanted: int, *, new: int) -> None:
    """What doesn't grow is always possible, so that a full workspace can be tidied."""
    clear = "delete files that are no longer needed"
    if new and usage.files + new > FILES:
        raise Refused(FileRefusal.FULL, f"there are {usage.files} files, and may be {FILES}: {clear}")
    if wanted > 0 and usage.bytes + wanted > BYTES:
        raise Refused(FileRefusal.FULL, f"the files have {usage.bytes} bytes of {BYTES}: {clear}")
    if wanted > 0 and usage.team_bytes + wanted > TEAM_BYTES:
        text = f"the files of the team's robots and people have {usage.team_bytes} bytes of {TEAM_BYTES}: {clear}"
        raise Refused(FileRefusal.FULL, text)
