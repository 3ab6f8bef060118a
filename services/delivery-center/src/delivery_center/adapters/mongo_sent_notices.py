"""The notices that are sent, in MongoDB: `{_id: <notice_id>, expires_at}`."""

from datetime import datetime, timedelta

from rota_common.errors import Transient
from rota_common.stores.mongo import OUTAGES, Database

KEPT_FOR = timedelta(days=30)
"""Longer than a dead letter of a notice is kept, which may be sent back."""


class MongoSentNotices:
    def __init__(self, database: Database) -> None:
        self._sent = database["sent_notices"]

    async def prepare(self) -> None:
        await self._sent.create_index("expires_at", name="kept", expireAfterSeconds=0)

    async def has(self, notice_id: str) -> bool:
        try:
            return await self._sent.find_one({"_id": notice_id}) is not None
        except OUTAGES as error:
            raise Transient(f"can't read which notices are sent: {error!r}") from error

    async def add(self, notice_id: str, at: datetime) -> None:
        kept = {"$setOnInsert": {"expires_at": at + KEPT_FOR}}
        try:
            await self._sent.update_one({"_id": notice_id}, kept, upsert=True)
        except OUTAGES as error:
            raise Transient(f"can't note that a notice is sent: {error!r}") from error
