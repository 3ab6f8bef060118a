"""Ports: the stores of long texts and of attachments, and pictures and pages of the web."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from rota_common.stores.blobs import Owner
from rota_contracts.messages.attachment import StoredAttachment
from rota_contracts.messages.text import INLINE_LIMIT, Text


class Blobs(Protocol):
    """Long texts, stored by reference."""

    async def keep(self, text: str, *, owner: Owner, inline_limit: int = INLINE_LIMIT) -> Text:
        """Beyond `inline_limit` bytes it is stored, and the result refers to it. Raise Transient while the store takes
        nothing."""
        ...

    async def read(self, text: Text) -> str: ...

    async def empty(self) -> bool: ...

    async def free(self, owner: Owner) -> None:
        """Remove all that this run has kept."""
        ...

    async def free_team(self, team: str) -> None:
        """Remove all that the team's runs have kept."""
        ...

    async def free_strays(self, *, before: datetime, is_kept: Callable[[Owner], Awaitable[bool]]) -> int:
        """Remove texts stored before then that belong to no run that is kept; returns how many."""
        ...


class Files(Protocol):
    """The attachments of teams. Every method raises Transient when the store is away."""

    async def find(self, team: str, file_id: str) -> StoredAttachment | None: ...

    async def content(self, stored: StoredAttachment) -> bytes:
        """Raises Permanent if it isn't what was stored."""
        ...

    async def keep(self, team: str, file_id: str, name: str, content_type: str, content: bytes) -> StoredAttachment:
        """Store a file, once: one that is there already stays. Raises Permanent if the team has no room for it."""
        ...


@dataclass(frozen=True)
class Picture:
    content_type: str
    content: bytes


class WebPictures(Protocol):
    async def fetch(self, url: str, *, limit: int) -> Picture:
        """The picture at an address, of at most `limit` bytes. Raises Permanent for what is no picture, is too large,
        or may not be reached; Transient while its server doesn't answer."""
        ...


@dataclass(frozen=True)
class Page:
    """`url`: where it was in the end. `cut`: the text is its beginning alone."""

    url: str
    content_type: str
    text: str
    cut: bool = False


class WebPages(Protocol):
    async def read(self, url: str, *, limit: int) -> Page:
        """The readable text of HTML, a PDF or a text, at most `limit` characters. Raises Permanent for anything else
        and for what may not be reached; Transient while its server doesn't answer."""
        ...
