"""Teams, their API keys and their sources in MongoDB."""

from collections.abc import Sequence

from pymongo.errors import DuplicateKeyError

from rota_common.mongo import Database, Document
from trigger_gateway.api_keys import ApiKey
from trigger_gateway.domain import Source


class MongoTeams:
    """`paused`, where there is one, holds the robots that the team's pause has paused."""

    def __init__(self, database: Database) -> None:
        self._teams = database["teams"]

    async def add(self, team: str, name: str) -> bool:
        try:
            await self._teams.insert_one({"_id": team, "name": name})
        except DuplicateKeyError:
            return False
        return True

    async def exists(self, team: str) -> bool:
        return await self._teams.find_one({"_id": team}) is not None

    async def paused(self, team: str) -> list[str]:
        found = await self._teams.find_one({"_id": team})
        return sorted(found.get("paused", [])) if found else []

    async def note_paused(self, team: str, members: Sequence[str]) -> None:
        await self._teams.update_one({"_id": team}, {"$addToSet": {"paused": {"$each": list(members)}}})

    async def forget_paused(self, team: str, members: Sequence[str]) -> None:
        await self._teams.update_one({"_id": team}, {"$pullAll": {"paused": list(members)}})


class MongoKeys:
    """`_id` is the key's id; of its secret only the SHA-256 is here."""

    def __init__(self, database: Database) -> None:
        self._keys = database["keys"]

    async def prepare(self) -> None:
        await self._keys.create_index([("team", 1), ("created_at", 1)])

    async def add(self, key: ApiKey) -> None:
        await self._keys.insert_one(
            {"_id": key.key_id, "team": key.team, "sha256": key.digest, "created_at": key.created_at}
        )

    async def find(self, key_id: str) -> ApiKey | None:
        found = await self._keys.find_one({"_id": key_id})
        return _key(found) if found else None

    async def of_team(self, team: str) -> list[ApiKey]:
        cursor = self._keys.find({"team": team}).sort([("created_at", 1), ("_id", 1)])
        return [_key(document) async for document in cursor]

    async def remove(self, team: str, key_id: str) -> bool:
        return (await self._keys.delete_one({"_id": key_id, "team": team})).deleted_count == 1


class MongoSources:
    """`_id` is `<team>/<name>`; neither can hold a slash."""

    def __init__(self, database: Database) -> None:
        self._sources = database["sources"]

    async def prepare(self) -> None:
        await self._sources.create_index([("team", 1), ("name", 1)])

    async def add(self, source: Source) -> bool:
        document = {
            "_id": f"{source.team}/{source.name}",
            "team": source.team,
            "name": source.name,
            "secret": source.secret,
            "event_type_field": source.event_type_field,
            "created_at": source.created_at,
        }
        try:
            await self._sources.insert_one(document)
        except DuplicateKeyError:
            return False
        return True

    async def find(self, team: str, name: str) -> Source | None:
        found = await self._sources.find_one({"_id": f"{team}/{name}"})
        return _source(found) if found else None

    async def of_team(self, team: str) -> list[Source]:
        return [_source(document) async for document in self._sources.find({"team": team}).sort("name", 1)]

    async def remove(self, team: str, name: str) -> bool:
        return (await self._sources.delete_one({"_id": f"{team}/{name}"})).deleted_count == 1


def _key(document: Document) -> ApiKey:
    return ApiKey(document["_id"], document["team"], document["sha256"], document["created_at"])


def _source(document: Document) -> Source:
    return Source(
        team=document["team"],
        name=document["name"],
        secret=document["secret"],
        created_at=document["created_at"],
        event_type_field=document["event_type_field"],
    )
