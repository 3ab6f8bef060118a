"""Minutes' limits, shared by all replicas: one counter for each key and minute, which is gone soon after it."""

import asyncio
from datetime import UTC, datetime

from pymongo import ReturnDocument

from rota_common.errors import Transient
from rota_common.stores.mongo import Database

PATIENCE_S = 3
KEPT_MINUTES = 2


class MongoRateStore:
    """What is counted beyond a limit was asked for, but given to nobody."""

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
            raise Transient("the counts of requests can't be read now") from error
        return max(0, min(wanted, limit - (int(counted["asked"]) - wanted)))
