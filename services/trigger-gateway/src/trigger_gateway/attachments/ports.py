"""Ports of attachments: the store of their content, and the records by which a team's share is counted."""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Protocol

from rota_common.page_cursor import PageCursor
from rota_contracts.messages.attachment import StoredAttachment
from trigger_gateway.teams.shares import Allow


class Attachments(Protocol):
    """Files that go with results. Every method raises Transient when the store is away."""

    async def put(
        self,
        team: str,
        name: str,
        content_type: str,
        chunks: AsyncIterator[bytes],
        *,
        at: datetime,
        file_id: str | None = None,
    ) -> StoredAttachment:
        """Store a file under its id, or a new one. Nothing is left behind if `chunks` raises."""
        ...

    async def find(self, team: str, file_id: str) -> StoredAttachment | None: ...

    def read(self, stored: StoredAttachment) -> AsyncIterator[bytes]:
        """The content. Raises Permanent before the last chunk if it is damaged."""
        ...

    async def delete(self, team: str, file_id: str) -> None:
        """Also of a file that isn't there."""
        ...


class AttachmentRecords(Protocol):
    """The sizes of a team's files, each until it expires."""

    async def reserve(
        self, team: str, file_id: str, size: int, *, now: datetime, until: datetime, allow: Allow
    ) -> None:
        """Count a file that is about to be stored; once, under one id. `allow` judges what the team then has."""
        ...

    async def settle(self, file_id: str, size: int, *, until: datetime) -> None:
        """The file is stored: this is its size."""
        ...

    async def release(self, file_id: str) -> None:
        """The file is gone, or was never stored."""
        ...

    async def page(self, team: str, *, now: datetime, after: PageCursor | None, limit: int) -> list[PageCursor]:
        """The ids of files that haven't expired, each with the instant at which it does, the latest first."""
        ...

    async def of_team(self, team: str, *, limit: int) -> list[str]:
        """The ids of files of this team."""
        ...
