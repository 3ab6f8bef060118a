"""Ports of notices: where they go, and which were sent."""

from datetime import datetime
from typing import Protocol

from rota_contracts.messages.notice import ReadRecipient, RecipientReply


class SentNotices(Protocol):
    """The notices that were sent, for a month. Each method raises Transient if the store is unavailable."""

    async def has(self, notice_id: str) -> bool: ...

    async def add(self, notice_id: str, at: datetime) -> None: ...


class Recipients(Protocol):
    async def read(self, asked: ReadRecipient) -> RecipientReply:
        """Where a notice goes. Raise Transient if the gateway does not answer."""
        ...
