"""Rate limits in MongoDB, shared by all replicas: one counter per key and minute, dropped soon after it."""

import asyncio
from datetime import UTC, datetime

from pymongo import ReturnDocument

from rota_common.errors import Transient
from rota_common.stores.mongo import Database

PATIENCE_S = 3
KEPT_MINUTES = 2


class MongoRateStore:
    """A counter may exceed its limit: the excess was requested and not granted."""

    def __init__(self, database: Database) -> None:
        self._rates = database["rates"]

    async def prepare(self) -> None:
        await self._rates.create_index("until", expireAfterSeconds=0)

    async def reserve(self, key: str, window: int, wanted: int, limit: int) -> int:
        change = {
            "$inc": {"asked": wanted},
            "$setOnInsert": {"until": datetime.fromtimestamp((window + KEPT_MINUTES) * 60, UTC)},
        }
        counter = {"_id": f"{key} {window}"}
        try:
            async with asyncio.timeout(PATIENCE_S):
                counted = await self._rates.find_one_and_update(
                    counter, change, upsert=True, return_document=ReturnDocument.AFTER
                )
        except TimeoutError as error:
            raise Transient("the rate limits can't be read now") from error
        return max(0, min(wanted, limit - (int(counted["asked"]) - wanted)))
