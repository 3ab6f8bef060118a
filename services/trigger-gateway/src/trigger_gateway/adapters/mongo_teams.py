"""Teams and their API keys in MongoDB."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime

from motor.motor_asyncio import AsyncIOMotorClientSession
from pymongo import ASCENDING, ReturnDocument
from pymongo.errors import DuplicateKeyError

from rota_common.stores.mongo import Database, Document
from rota_contracts.roles import Role
from trigger_gateway.teams.api_keys import ApiKey, Holder
from trigger_gateway.teams.ports import Removal, RemovedTeam, Team

THERE, REMOVED = {"removed_at": None}, {"removed_at": {"$ne": None}}


class MongoTeams:
    """`paused`, where there is one, holds the robots that the team's pause has paused. A tombstone has `removed_at`;
    MongoDB removes it at `name_free_at`."""

    def __init__(self, database: Database) -> None:
        self._teams = database["teams"]

    async def prepare(self) -> None:
        await self._teams.create_index("name_free_at", expireAfterSeconds=0)
        await self._teams.create_index("next_at", sparse=True)

    async def add(self, team: str, name: str) -> bool:
        try:
            await self._teams.insert_one({"_id": team, "name": name})
        except DuplicateKeyError:
            return False
        return True

    async def exists(self, team: str) -> bool:
        return await self._teams.find_one({"_id": team, **THERE}) is not None

    async def remove(self, removed: RemovedTeam) -> RemovedTeam | None:
        stands = await self._teams.find_one_and_replace(
            {"_id": removed.id, **THERE}, _tombstone(removed), return_document=ReturnDocument.AFTER
        )
        return _removed(stands) if stands else await self.removed(removed.id)

    async def removed(self, team: str) -> RemovedTeam | None:
        found = await self._teams.find_one({"_id": team, **REMOVED})
        return _removed(found) if found else None

    async def removals_due(self, now: datetime, *, limit: int) -> list[RemovedTeam]:
        due = self._teams.find({"next_at": {"$lte": now}}).sort("next_at", ASCENDING).limit(limit)
        return [_removed(document) async for document in due]

    async def note_round(self, before: RemovedTeam, after: RemovedTeam) -> None:
        await self._teams.replace_one({"_id": before.id, **REMOVED, "rounds": before.rounds}, _tombstone(after))

    async def page(self, *, after: str, limit: int) -> list[Team]:
        those = {"_id": {"$gt": after}, **THERE}
        found = self._teams.find(those, {"name": 1}).sort("_id", ASCENDING).limit(limit)
        return [Team(document["_id"], document.get("name", "")) async for document in found]

    async def paused(self, team: str) -> list[str]:
        found = await self._teams.find_one({"_id": team})
        return sorted(found.get("paused", [])) if found else []

    async def note_paused(self, team: str, members: Sequence[str]) -> None:
        await self._teams.update_one({"_id": team, **THERE}, {"$addToSet": {"paused": {"$each": list(members)}}})

    async def forget_paused(self, team: str, members: Sequence[str]) -> None:
        await self._teams.update_one({"_id": team}, {"$pullAll": {"paused": list(members)}})


class MongoKeys:
    """`_id` is the key's id; of its secret only the SHA-256 is stored. A key from before roles has the role owner."""

    def __init__(self, database: Database) -> None:
        self._keys = database["keys"]

    async def prepare(self) -> None:
        await self._keys.create_index([("team", 1), ("created_at", 1)])

    async def add(self, key: ApiKey) -> None:
        await self._keys.insert_one(
            {
                "_id": key.key_id,
                "team": key.team,
                "sha256": key.digest,
                "created_at": key.created_at,
                "role": key.role.value,
                "name": key.name,
                **({} if key.holder is None else {"holder": asdict(key.holder)}),
            }
        )

    async def find(self, key_id: str) -> ApiKey | None:
        found = await self._keys.find_one({"_id": key_id})
        return _key(found) if found else None

    async def of_team(self, team: str) -> list[ApiKey]:
        cursor = self._keys.find({"team": team}).sort([("created_at", 1), ("_id", 1)])
        return [_key(document) async for document in cursor]

    async def remove(self, team: str, key_id: str) -> Removal:
        async def attempt(session: AsyncIOMotorClientSession) -> Removal:
            return await self._remove(team, key_id, session)

        async with await self._keys.database.client.start_session() as session:
            done: Removal = await session.with_transaction(attempt)
        return done

    async def _remove(self, team: str, key_id: str, session: AsyncIOMotorClientSession) -> Removal:
        found = await self._keys.find_one({"_id": key_id, "team": team}, session=session)
        if found is None:
            return Removal.UNKNOWN
        if _key(found).role is Role.OWNER:
            # Each removal writes to all of them, so that of two at the same moment one sees what the other has done.
            owners = {"team": team, "role": {"$in": [Role.OWNER.value, None]}}
            touched = await self._keys.update_many(owners, {"$inc": {"removals": 1}}, session=session)
            if touched.matched_count == 1:
                return Removal.LAST_OWNER
        await self._keys.delete_one({"_id": key_id}, session=session)
        return Removal.DONE

    async def remove_all(self, team: str) -> None:
        await self._keys.delete_many({"team": team})


def _tombstone(removed: RemovedTeam) -> Document:
    next_at = {"next_at": removed.next_at} if removed.next_at else {}
    free_at = removed.name_free_at
    return {"removed_at": removed.removed_at, "name_free_at": free_at, "rounds": removed.rounds, **next_at}


def _removed(document: Document) -> RemovedTeam:
    instants = (document["removed_at"], document["name_free_at"], document.get("next_at"))
    return RemovedTeam(document["_id"], *instants, rounds=document["rounds"])


def _key(document: Document) -> ApiKey:
    return ApiKey(
        document["_id"],
        document["team"],
        document["sha256"],
        document["created_at"],
        Role(document.get("role") or Role.OWNER),
        document.get("name", ""),
        Holder(**document["holder"]) if "holder" in document else None,
    )
