"""The mails of each team and day in MongoDB: `{_id: <team>:<day>, count, expires_at}`."""

from datetime import UTC, date, datetime, time, timedelta

from pymongo.errors import DuplicateKeyError

from rota_common.errors import Transient
from rota_common.stores.mongo import OUTAGES, Database

KEPT_FOR = timedelta(days=2)


class MongoMailCounts:
    """`of` names what is counted: each has a collection of its own."""

    def __init__(self, database: Database, of: str = "mail_counts") -> None:
        self._counts = database[of]

    async def prepare(self) -> None:
        await self._counts.create_index("expires_at", name="kept", expireAfterSeconds=0)

    async def take(self, team: str, day: date, most: int) -> bool:
        below = {"_id": _key(team, day), "count": {"$lt": most}}
        one_more = {"$inc": {"count": 1}, "$setOnInsert": {"expires_at": _midnight(day) + KEPT_FOR}}
        try:
            try:
                await self._counts.update_one(below, one_more, upsert=True)
            except DuplicateKeyError:  # it has the most, or two were the first
                return (await self._counts.update_one(below, one_more)).matched_count == 1
        except OUTAGES as error:
            raise Transient(f"can't count the mails of a day: {error!r}") from error
        return True

    async def give_back(self, team: str, day: date) -> None:
        try:
            await self._counts.update_one({"_id": _key(team, day), "count": {"$gt": 0}}, {"$inc": {"count": -1}})
        except OUTAGES:  # one mail less today
            return


def _key(team: str, day: date) -> str:
    return f"{team}:{day.isoformat()}"


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=UTC)
