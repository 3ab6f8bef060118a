"""The sizes of attachments in MongoDB, for the teams' shares."""

from datetime import datetime

from motor.motor_asyncio import AsyncIOMotorClientSession

from rota_common.page_cursor import PageCursor
from rota_common.stores.mongo import Database, Document, behind
from trigger_gateway.adapters.mongo_team_lock import MongoTeamLock
from trigger_gateway.teams.shares import Allow, Usage


class MongoAttachmentRecords:
    """`_id` is the file's id; a record goes when the file expires. Files from before there were records aren't counted:
    the last of them expires 90 days after the upgrade."""

    def __init__(self, database: Database) -> None:
        self._files = database["attachments"]
        self._lock = MongoTeamLock(database, "attachments")

    async def prepare(self) -> None:
        await self._files.create_index("until", expireAfterSeconds=0)
        await self._files.create_index([("team", 1), ("until", 1), ("size", 1)])

    async def reserve(
        self, team: str, file_id: str, size: int, *, now: datetime, until: datetime, allow: Allow
    ) -> None:
        async def work(session: AsyncIOMotorClientSession) -> None:
            new = {"team": team, "size": size, "until": until}
            await self._files.replace_one({"_id": file_id, "team": team}, new, upsert=True, session=session)
            allow(await self._usage(team, now, session))

        await self._lock.transaction(team, work)

    async def settle(self, file_id: str, size: int, *, until: datetime) -> None:
        await self._files.update_one({"_id": file_id}, {"$set": {"size": size, "until": until}})

    async def release(self, file_id: str) -> None:
        await self._files.delete_one({"_id": file_id})

    async def page(self, team: str, *, now: datetime, after: PageCursor | None, limit: int) -> list[PageCursor]:
        later = [] if after is None else [behind("until", after.at, after.item_id)]
        wanted = {"$and": [{"team": team, "until": {"$gt": now}}, *later]}
        found = self._files.find(wanted, {"until": 1}).sort([("until", -1), ("_id", -1)]).limit(limit)
        return [PageCursor(each["until"], each["_id"]) async for each in found]

    async def of_team(self, team: str, *, limit: int) -> list[str]:
        return [each["_id"] async for each in self._files.find({"team": team}, {"_id": 1}).limit(limit)]

    async def _usage(self, team: str, now: datetime, session: AsyncIOMotorClientSession) -> Usage:
        mine: Document = {"$match": {"team": team, "until": {"$gt": now}}}
        summed: Document = {"$group": {"_id": None, "count": {"$sum": 1}, "bytes": {"$sum": "$size"}}}
        async for found in self._files.aggregate([mine, summed], session=session):
            return Usage(found["count"], found["bytes"])
        return Usage()
