"""Definitions of teams in MongoDB: the head of each team, all revisions, and the sets that have copies.

Texts are the JSON that other services read: names in free fields may be ones that MongoDB doesn't accept.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from motor.motor_asyncio import AsyncIOMotorClientSession

from rota_common.stores.mongo import Database, Document
from rota_contracts.definitions.definition import Definition, DefinitionKind, DefinitionSet
from trigger_gateway.adapters.mongo_team_lock import MongoTeamLock
from trigger_gateway.definitions.ports import Batch
from trigger_gateway.definitions.record import Head, Next, empty_head
from trigger_gateway.teams.shares import Allow, Usage, allow_all

READ = 1_000
"""Revisions of one definition that are read at most."""


class MongoDefinitions:
    """`_id` of a revision is `<team>/<kind>/<id>/<rev>`, of a set `<team>/<rev>`; no part can hold a slash.

    `replaced_at`: when it was taken out of the sets that new runs begin with. `copied`: null until other services can
    read it, then true; false once they can't any more.
    """

    def __init__(self, database: Database) -> None:
        self._heads = database["definition_heads"]
        self._ones, self._sets = database["definitions"], database["definition_sets"]
        self._lock = MongoTeamLock(database, "definitions")

    async def prepare(self) -> None:
        await self._heads.create_index("synced", partialFilterExpression={"synced": False}, name="unsynced")
        for collection in (self._ones, self._sets):
            await collection.create_index([("team", 1), ("copied", 1)])
            dated = {"replaced_at": {"$type": "date"}, "copied": True}
            await collection.create_index("replaced_at", partialFilterExpression=dated, name="replaced")
        await self._ones.create_index([("team", 1), ("name", 1), ("rev", -1)])

    async def head(self, team: str) -> Head:
        found = await self._heads.find_one({"_id": team})
        return empty_head(team) if found is None else _head(found)

    async def write(self, made: Next, *, expected: Head, at: datetime, allow: Allow = allow_all) -> bool:
        team, head = expected.team, made.head

        async def work(session: AsyncIOMotorClientSession) -> bool:
            there = await self._heads.find_one({"_id": team}, session=session)
            if (there["version"] if there else 0) != expected.version:
                return False
            await self._heads.replace_one({"_id": team}, _of_head(head), upsert=True, session=session)
            if made.definitions:
                await self._ones.insert_many([_of_one(one, at) for one in made.definitions], session=session)
                await self._sets.insert_one(_of_set(made.new_set), session=session)
            await self._mark_replaced(head, at, session)
            allow(await self._usage(head, session))
            return True

        return await self._lock.transaction(team, work)

    async def _mark_replaced(self, head: Head, at: datetime, session: AsyncIOMotorClientSession) -> None:
        """Everything that is in none of the head's sets."""
        alive = [f"{head.team}/{name}/{rev}" for each in head.sets for name, rev in each.entries.items()]
        sets = [f"{head.team}/{each.rev}" for each in head.sets]
        for collection, those in ((self._ones, alive), (self._sets, sets)):
            gone = {"team": head.team, "replaced_at": None, "_id": {"$nin": those}}
            await collection.update_many(gone, {"$set": {"replaced_at": at}}, session=session)

    async def _usage(self, head: Head, session: AsyncIOMotorClientSession) -> Usage:
        kept = {"$match": {"team": head.team, "copied": {"$ne": False}}}
        grouped: Document = {"_id": None, "bytes": {"$sum": {"$strLenBytes": "$text"}}}
        count = max(len(each.entries) for each in head.sets)
        async for found in self._ones.aggregate([kept, {"$group": grouped}], session=session):
            return Usage(count, found["bytes"])
        return Usage(count)

    async def find(self, team: str, kind: DefinitionKind, definition_id: str, rev: int) -> Definition | None:
        found = await self._ones.find_one({"_id": f"{team}/{kind.value}/{definition_id}/{rev}"})
        return None if found is None else _one(found)

    async def read(self, team: str, entries: Mapping[str, int]) -> Mapping[str, Definition]:
        wanted = [f"{team}/{name}/{rev}" for name, rev in entries.items()]
        return {each["name"]: _one(each) async for each in self._ones.find({"_id": {"$in": wanted}})}

    async def revisions(self, team: str, kind: DefinitionKind, definition_id: str) -> Sequence[Definition]:
        of = {"team": team, "name": f"{kind.value}/{definition_id}"}
        return [_one(each) async for each in self._ones.find(of).sort("rev", -1).limit(READ)]

    async def uncopied(self, team: str) -> Batch:
        new = {"team": team, "copied": None}
        ones = [_one(each) async for each in self._ones.find(new)]
        return Batch(ones, [_set(each) async for each in self._sets.find(new)])

    async def mark_copied(self, team: str, which: Batch) -> None:
        now_true = {"$set": {"copied": True}}
        await self._ones.update_many({"_id": {"$in": _ids(which.definitions)}, "copied": None}, now_true)
        await self._sets.update_many({"_id": {"$in": _set_ids(which.sets)}, "copied": None}, now_true)

    async def mark_synced(self, head: Head) -> None:
        await self._heads.update_one({"_id": head.team, "version": head.version}, {"$set": {"synced": True}})

    async def unsynced(self, limit: int, *, apart_from: Collection[str] = ()) -> Sequence[str]:
        wanted = {"synced": False, "_id": {"$nin": [*apart_from]}}
        return [each["_id"] async for each in self._heads.find(wanted, {"_id": 1}).limit(limit)]

    async def forget_copied(self) -> None:
        """The heads last: until then a sweep leaves them alone."""
        for collection in (self._ones, self._sets):
            await collection.update_many({"copied": True}, {"$set": {"copied": None}})
        await self._heads.update_many({"synced": True}, {"$set": {"synced": False}})

    async def outdated(self, before: datetime, *, limit: int) -> Batch:
        old = {"replaced_at": {"$lt": before}, "copied": True}
        ones = [_one(each) async for each in self._ones.find(old).limit(limit)]
        return Batch(ones, [_set(each) async for each in self._sets.find(old).limit(limit)])

    async def forget(self, which: Batch, *, keep: int) -> None:
        await self._sets.delete_many({"_id": {"$in": _set_ids(which.sets)}})
        await self._ones.update_many({"_id": {"$in": _ids(which.definitions)}}, {"$set": {"copied": False}})
        for team, name in {(one.team_id, f"{one.kind.value}/{one.id}") for one in which.definitions}:
            await self._trim(team, name, keep)

    async def _trim(self, team: str, name: str, keep: int) -> None:
        """Only what has no copies any more; all of it, if that is all there is of one that was deleted."""
        of = {"team": team, "name": name}
        newest = await self._ones.find(of, {"deleted": 1, "copied": 1}).sort("rev", -1).limit(keep).to_list(keep)
        over = newest[0]["deleted"] and not any(each["copied"] is not False for each in newest)
        stay = [] if over else [each["_id"] for each in newest]
        await self._ones.delete_many({**of, "copied": False, "_id": {"$nin": stay}})


def _head(document: Document) -> Head:
    candidate = document["candidate"]
    return Head(
        team=document["_id"],
        current=DefinitionSet.model_validate_json(document["current"]),
        candidate=None if candidate is None else DefinitionSet.model_validate_json(candidate),
        version=document["version"],
        last=document["last"],
        synced=document["synced"],
    )


def _of_head(head: Head) -> Document:
    return {
        "_id": head.team,
        "current": head.current.model_dump_json(),
        "candidate": None if head.candidate is None else head.candidate.model_dump_json(),
        "version": head.version,
        "last": head.last,
        "synced": head.synced,
    }


def _of_one(one: Definition, at: datetime) -> Document:
    """The mark of a deletion belongs to no set."""
    return {
        "_id": f"{one.team_id}/{one.kind.value}/{one.id}/{one.rev}",
        "team": one.team_id,
        "name": f"{one.kind.value}/{one.id}",
        "rev": one.rev,
        "deleted": one.deleted,
        "text": one.model_dump_json(),
        "replaced_at": at if one.deleted else None,
        "copied": None,
    }


def _one(document: Document) -> Definition:
    return Definition.model_validate_json(document["text"])


def _of_set(one: DefinitionSet) -> Document:
    rest: dict[str, Any] = {"replaced_at": None, "copied": None}
    return {"_id": f"{one.team_id}/{one.rev}", "team": one.team_id, "text": one.model_dump_json(), **rest}


def _set(document: Document) -> DefinitionSet:
    return DefinitionSet.model_validate_json(document["text"])


def _ids(ones: Iterable[Definition]) -> list[str]:
    return [f"{one.team_id}/{one.kind.value}/{one.id}/{one.rev}" for one in ones]


def _set_ids(sets: Iterable[DefinitionSet]) -> list[str]:
    return [f"{one.team_id}/{one.rev}" for one in sets]
