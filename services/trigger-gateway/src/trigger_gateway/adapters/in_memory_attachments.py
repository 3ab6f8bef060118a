"""Attachments and their records in memory, held to the same conformance cases as NATS and MongoDB."""

from collections.abc import AsyncIterator
from datetime import datetime
from hashlib import sha256
from uuid import uuid4

from rota_common.errors import Transient
from rota_contracts.messages.attachment import StoredAttachment
from trigger_gateway.teams.shares import Allow, Usage

CHUNK = 128 * 1024


class InMemoryAttachments:
    """Files with their contents, by team and id."""

    def __init__(self) -> None:
        self.away = False
        self._files: dict[tuple[str, str], tuple[StoredAttachment, bytes]] = {}

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
        self._check()
        content = b"".join([chunk async for chunk in chunks])
        stored = StoredAttachment(
            file_id=file_id or uuid4().hex,
            team_id=team,
            name=name,
            content_type=content_type,
            size=len(content),
            sha256=sha256(content).hexdigest(),
            created_at=at,
        )
        self._files[team, stored.file_id] = stored, content
        return stored

    async def find(self, team: str, file_id: str) -> StoredAttachment | None:
        self._check()
        stored, _ = self._files.get((team, file_id), (None, b""))
        return stored

    async def read(self, stored: StoredAttachment) -> AsyncIterator[bytes]:
        self._check()
        _, content = self._files[stored.team_id, stored.file_id]
        for start in range(0, len(content), CHUNK):
            yield content[start : start + CHUNK]

    async def delete(self, team: str, file_id: str) -> None:
        self._check()
        self._files.pop((team, file_id), None)

    def _check(self) -> None:
        if self.away:
            raise Transient("NATS: not connected")


class InMemoryAttachmentRecords:
    def __init__(self) -> None:
        self._files: dict[str, tuple[str, int, datetime]] = {}

    async def reserve(
        self, team: str, file_id: str, size: int, *, now: datetime, until: datetime, allow: Allow
    ) -> None:
        mine = [kept for whose, kept, end in self._files.values() if whose == team and end > now]
        allow(Usage(len(mine) + 1, sum(mine) + size))
        self._files[file_id] = team, size, until

    async def settle(self, file_id: str, size: int, *, until: datetime) -> None:
        if file_id in self._files:
            self._files[file_id] = self._files[file_id][0], size, until

    async def release(self, file_id: str) -> None:
        self._files.pop(file_id, None)
