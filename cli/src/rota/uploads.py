"""Uploads: files that are stored as attachments of the team, and those that go with a person's message."""

import mimetypes
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from rota.client import Api, Json
from rota.errors import CliError
from rota_contracts.messages.media import MAX_MEDIA, MEDIA_BYTES, MEDIUM_BYTES, MIB, READABLE, TEXT_LIMIT

CHUNK = 64 * 1024
UNKNOWN_TYPE = "application/octet-stream"
TEXT = "text/plain"
SHOWABLE = (
    *("image/png", "image/jpeg", "image/gif", "image/webp"),
    *("audio/mpeg", "audio/wav", "audio/x-wav", "application/pdf"),
)
"""Content types beside texts that models take."""

EXPECTED = "expected a text, a picture (png, jpeg, gif, webp), sound (mp3, wav) or a PDF"


@dataclass(frozen=True)
class Sendable:
    """A file that a model can be shown. `cut`: it is a text, and longer than what a model is shown."""

    path: Path
    content_type: str
    cut: bool = False


def sendable(paths: Sequence[Path]) -> list[Sendable]:
    """The files, looked at before anything is uploaded. CliError if a model can't be shown them."""
    if len(paths) > MAX_MEDIA:
        raise CliError(f"expected at most {MAX_MEDIA} files with a message, not {len(paths)}")
    sizes = {path: _size(path) for path in paths}
    for path, size in sizes.items():
        if not 0 < size <= MEDIUM_BYTES:
            raise CliError(f"expected files of 1 byte to {MEDIUM_BYTES // MIB} MiB: {path} has {size:,} bytes")
    if (together := sum(sizes.values())) > MEDIA_BYTES:
        raise CliError(f"expected at most {MEDIA_BYTES // MIB} MiB of files with a message, not {together:,} bytes")
    return [_looked_at(path) for path in sizes]


async def upload(api: Api, path: Path, *, name: str = "", content_type: str = "") -> Json:
    """Store a file; the answer names it: `file_id`, `file`. Name and type default to those of its path."""
    with opened(path, "rb") as source:
        size = source.seek(0, 2)
        source.seek(0)

        async def chunks() -> AsyncIterator[bytes]:
            while chunk := source.read(CHUNK):
                yield chunk

        named = name or path.name
        headers = {"content-type": content_type or _type_of(named), "content-length": str(size)}
        return await api.of_team("POST", "/attachments", params={"name": named}, content=chunks(), headers=headers)


async def parts(api: Api, files: Sequence[Sendable]) -> list[Json]:
    """The files as parts of a person's message, once they are stored."""
    stored = [await upload(api, each.path, content_type=each.content_type) for each in files]
    return [{"type": "file", "file": {"file_id": each["file_id"], "filename": each["name"]}} for each in stored]


def opened(path: Path, mode: Literal["rb", "xb"]) -> BinaryIO:
    try:
        return path.open(mode)
    except FileExistsError as error:
        raise CliError(f"{path} exists", hint="choose another file with --output") from error
    except OSError as error:
        raise CliError(f"can't open {path}: {error.strerror}") from error


def _type_of(name: str) -> str:
    return mimetypes.guess_type(name)[0] or UNKNOWN_TYPE


def _size(path: Path) -> int:
    with opened(path, "rb") as source:
        return source.seek(0, 2)


def _looked_at(path: Path) -> Sendable:
    """A name like script.ts or notes says little, so what reads as text is text."""
    named = _type_of(path.name)
    if named in SHOWABLE:
        return Sendable(path, named)
    with opened(path, "rb") as source:
        content = source.read()
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise CliError(f"{EXPECTED}: {path} is {named}") from error
    return Sendable(path, named if named.startswith(READABLE) else TEXT, cut=len(text) > TEXT_LIMIT)
