"""Stores and deletes attachments; a team's share is reserved before the first byte is stored."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import timedelta

from rota_common.clock import Clock
from rota_common.page_cursor import PageCursor
from rota_contracts.messages.attachment import ReserveAttachment, ReserveReply, StoredAttachment
from rota_contracts.streams import ATTACHMENTS_KEPT_S
from trigger_gateway.attachments.ports import AttachmentRecords, Attachments
from trigger_gateway.problems import NotFound, ShareUsed
from trigger_gateway.teams.shares import Share

KEPT = timedelta(seconds=ATTACHMENTS_KEPT_S)
UPLOAD = timedelta(hours=1)
"""A reservation whose upload died with its replica ends after this."""


@dataclass(frozen=True, kw_only=True)
class ManageAttachments:
    """`limit`: bytes of one file, and what is reserved for one that doesn't announce its size."""

    files: Attachments
    records: AttachmentRecords
    share: Share
    limit: int
    clock: Clock
    new_id: Callable[[], str]

    async def put(
        self, team: str, name: str, content_type: str, chunks: AsyncIterator[bytes], *, announced: int | None
    ) -> StoredAttachment:
        """Raise ShareUsed before anything is stored."""
        file_id, now = self.new_id().replace("-", ""), self.clock()
        size = self.limit if announced is None else announced
        await self.records.reserve(team, file_id, size, now=now, until=now + UPLOAD, allow=self.share.allow)
        try:
            stored = await self.files.put(team, name, content_type, chunks, at=now, file_id=file_id)
            await self.records.settle(file_id, stored.size, until=now + KEPT)
        except BaseException:
            with contextlib.suppress(Exception):  # then both expire by themselves
                await self.files.delete(team, file_id)
                await self.records.release(file_id)
            raise
        return stored

    async def reserve(self, request: ReserveAttachment) -> ReserveReply:
        """Count a file that another service is about to store."""
        if request.size > self.limit:
            return ReserveReply(refused=f"expected a file of at most {self.limit} bytes, not {request.size}")
        now = self.clock()
        try:
            await self.records.reserve(
                request.team_id, request.file_id, request.size, now=now, until=now + KEPT, allow=self.share.allow
            )
        except ShareUsed as used:
            return ReserveReply(refused=used.message)
        return ReserveReply()

    async def page(self, team: str, *, after: PageCursor | None, limit: int) -> tuple[list[StoredAttachment], str]:
        """The newest files first, and the cursor of the next page, empty on the last one."""
        found = await self.records.page(team, now=self.clock(), after=after, limit=limit + 1)
        files = await asyncio.gather(*(self.files.find(team, one.item_id) for one in found[:limit]))
        return [one for one in files if one], found[limit - 1].text() if len(found) > limit else ""

    async def find(self, team: str, file_id: str) -> StoredAttachment:
        stored = await self.files.find(team, file_id)
        if stored is None:
            text = f"team {team} has no file {file_id}: it never existed, was deleted, or has expired"
            raise NotFound("attachment_not_found", text)
        return stored

    async def delete(self, team: str, file_id: str) -> None:
        """A result that names it can't be delivered with it any more."""
        await self.find(team, file_id)
        await self.files.delete(team, file_id)
        await self.records.release(file_id)
