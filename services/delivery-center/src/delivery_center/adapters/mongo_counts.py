"""The counts of the feed in MongoDB: `{_id: <subject>, count}`."""

from collections.abc import Mapping

from pymongo import UpdateOne

from rota_common.stores.mongo import Database


class MongoCounts:
    def __init__(self, database: Database) -> None:
        self._counts = database["feed"]

    async def last(self, subject: str) -> int:
        document = await self._counts.find_one({"_id": subject})
        return 0 if document is None else int(document["count"])

    async def keep(self, counts: Mapping[str, int]) -> None:
        writes = [UpdateOne({"_id": name}, {"$max": {"count": count}}, upsert=True) for name, count in counts.items()]
        await self._counts.bulk_write(writes, ordered=False)
