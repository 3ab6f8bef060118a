"""The buckets that copies were made in last, in MongoDB."""

from rota_common.stores.mongo import Database


class MongoFilledBuckets:
    def __init__(self, database: Database) -> None:
        self._buckets = database["buckets"]

    async def find(self, name: str) -> str | None:
        found = await self._buckets.find_one({"_id": name})
        return None if found is None else str(found["made"])

    async def note(self, name: str, made: str) -> None:
        await self._buckets.replace_one({"_id": name}, {"made": made}, upsert=True)
