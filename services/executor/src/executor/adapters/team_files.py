"""The attachments of teams, to read, and to keep what runs make: counted in the team's share before it is stored."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from rota_common.bus.rpc import Ask
from rota_common.clock import Clock
from rota_common.errors import Permanent
from rota_common.stores.attachments import Attachments
from rota_contracts.catalog import RESERVE_ATTACHMENT
from rota_contracts.messages.attachment import ReserveAttachment, StoredAttachment


@dataclass(frozen=True, kw_only=True)
class TeamFiles:
    attachments: Attachments
    ask: Ask
    clock: Clock

    async def find(self, team: str, file_id: str) -> StoredAttachment | None:
        return await self.attachments.find(team, file_id)

    async def content(self, stored: StoredAttachment) -> bytes:
        return await self.attachments.content(stored)

    async def keep(self, team: str, file_id: str, name: str, content_type: str, content: bytes) -> StoredAttachment:
        if (there := await self.find(team, file_id)) is not None:
            return there
        wanted = ReserveAttachment(team_id=team, file_id=file_id, size=len(content))
        if refused := (await self.ask(RESERVE_ATTACHMENT, wanted)).refused:
            raise Permanent(refused)
        chunks = _in_one(content)
        return await self.attachments.put(team, name, content_type, chunks, at=self.clock(), file_id=file_id)


async def _in_one(content: bytes) -> AsyncIterator[bytes]:
    yield content
