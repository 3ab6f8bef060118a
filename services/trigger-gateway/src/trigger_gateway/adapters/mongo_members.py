"""Members who are people, in MongoDB."""

from typing import Any

from motor.motor_asyncio import AsyncIOMotorClientSession
from pymongo.errors import DuplicateKeyError

from rota_common.stores.mongo import Database, Document
from rota_contracts.members import MemberDefinition
from trigger_gateway.adapters.mongo_team_lock import MongoTeamLock
from trigger_gateway.members.member import Member
from trigger_gateway.teams.shares import Allow, Usage, allow_all


class MongoMembers:
    """`_id` is `<team>/<member_id>`; neither can hold a slash."""

    def __init__(self, database: Database) -> None:
        self._members = database["members"]
        self._lock = MongoTeamLock(database, "members")

    async def prepare(self) -> None:
        await self._members.create_index([("team", 1), ("member_id", 1)])

    async def add(self, member: Member, *, allow: Allow = allow_all) -> bool:
        async def work(session: AsyncIOMotorClientSession) -> None:
            await self._members.insert_one(_document(member), session=session)
            allow(Usage(await self._members.count_documents({"team": member.team}, session=session)))

        try:
            await self._lock.transaction(member.team, work)
        except DuplicateKeyError:
            return False
        return True

    async def find(self, team: str, member_id: str) -> Member | None:
        found = await self._members.find_one({"_id": f"{team}/{member_id}"})
        return _member(found) if found else None

    async def page(self, team: str, *, after: str, limit: int) -> list[Member]:
        behind = self._members.find({"team": team, "member_id": {"$gt": after}}).sort("member_id", 1).limit(limit)
        return [_member(document) async for document in behind]

    async def replace(self, member: Member, *, expected: Member) -> bool:
        return (await self._members.replace_one(_as_read(expected), _document(member))).matched_count == 1

    async def remove(self, member: Member) -> bool:
        return (await self._members.delete_one(_as_read(member))).deleted_count == 1


def _as_read(member: Member) -> dict[str, Any]:
    return {"_id": _id(member), "rev": member.rev, "created_at": member.created_at}


def _id(member: Member) -> str:
    return f"{member.team}/{member.definition.member_id}"


def _document(member: Member) -> Document:
    return {
        "_id": _id(member),
        "team": member.team,
        "member_id": member.definition.member_id,
        "rev": member.rev,
        "definition": member.definition.model_dump(mode="json"),
        "created_at": member.created_at,
    }


def _member(document: Document) -> Member:
    definition = MemberDefinition.model_validate(document["definition"])
    return Member(document["team"], definition, document["created_at"], document["rev"])
