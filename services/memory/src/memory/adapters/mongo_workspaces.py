"""Workspaces in MongoDB: a document per file, `{_id: "<team>.<member>/<path>", team, owner, path, content, …}`, and one
per team with the bytes of all of them, which every change writes: of two at once, one is tried again. A person's files
for an agent are `<team>.<member>.<agent>/<path>`, with a mark of their own once they were seeded."""

import contextlib
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from motor.motor_asyncio import AsyncIOMotorClientSession
from pymongo.errors import DuplicateKeyError

from memory.domain import Owner
from memory.workspace import Decide, File, Seed, Usage
from rota_common.stores.mongo import Document, Mongo
from rota_contracts.messages.workspace import FileInfo

T = TypeVar("T")


class MongoWorkspaces:
    def __init__(self, mongo: Mongo) -> None:
        self._mongo = mongo
        self._files, self._teams = mongo.database["workspace_files"], mongo.database["workspace_teams"]
        self._seeded = mongo.database["workspace_seeded"]

    async def prepare(self) -> None:
        await self._files.create_index([("owner", 1), ("path", 1)])

    async def find(self, owner: Owner, path: str) -> File | None:
        found = await self._files.find_one({"_id": _id(owner, path)})
        return _file(found) if found else None

    async def list(self, owner: Owner) -> list[FileInfo]:
        fields = dict.fromkeys(FileInfo.model_fields, 1)
        return [
            FileInfo.model_validate(found)
            async for found in self._files.find({"owner": owner.tenant}, fields).sort("path", 1)
        ]

    async def write(self, owner: Owner, path: str, decide: Decide) -> File:
        async def work(session: AsyncIOMotorClientSession) -> File:
            found = await self._files.find_one({"_id": _id(owner, path)}, session=session)
            there = _file(found) if found else None
            file = decide(there, await self._usage(owner, session))
            if file is there:
                return file
            await self._files.replace_one(
                {"_id": _id(owner, path)}, _document(owner, file), upsert=True, session=session
            )
            await self._count(owner.team, file.size - (there.size if there else 0), session)
            return file

        return await self._transaction(owner.team, work)

    async def remove(self, owner: Owner, path: str, allow: Callable[[File], None]) -> File | None:
        async def work(session: AsyncIOMotorClientSession) -> File | None:
            found = await self._files.find_one({"_id": _id(owner, path)}, session=session)
            if found is None:
                return None
            allow(there := _file(found))
            await self._files.delete_one({"_id": found["_id"]}, session=session)
            await self._count(owner.team, -there.size, session)
            return there

        return await self._transaction(owner.team, work)

    async def clear(self, owner: Owner, *, up_to_rev: int) -> int:
        async def work(session: AsyncIOMotorClientSession) -> int:
            ended: Document = {"owner": owner.tenant, "rev": {"$lte": up_to_rev}}
            return await self._delete(owner.team, ended, session)

        return await self._transaction(owner.team, work)

    async def seed(self, owner: Owner, decide: Seed) -> Sequence[File]:
        if await self._seeded.find_one({"_id": owner.tenant}) is not None:
            return await self._all(owner)

        async def work(session: AsyncIOMotorClientSession) -> Sequence[File]:
            there = await self._all(owner, session)
            if await self._seeded.find_one({"_id": owner.tenant}, session=session) is not None:
                return there
            new = decide({file.path for file in there}, await self._usage(owner, session))
            await self._seeded.insert_one({"_id": owner.tenant}, session=session)
            if new:
                documents = [{"_id": _id(owner, file.path), **_document(owner, file)} for file in new]
                await self._files.insert_many(documents, session=session)
                await self._count(owner.team, sum(file.size for file in new), session)
            return sorted([*there, *new], key=lambda file: file.path)

        return await self._transaction(owner.team, work)

    async def forget_person(self, team: str, person: str) -> int:
        return await self._forget(team, f"^{re.escape(f'{team}.{person}.')}")

    async def forget_agents(self, team: str, agents: Sequence[str]) -> int:
        named = "|".join(map(re.escape, agents))
        return await self._forget(team, rf"^{re.escape(f'{team}.')}[^.]+\.({named})$")

    async def _forget(self, team: str, owners: str) -> int:
        """Remove the files of the owners that match, and the marks that they were seeded."""

        async def work(session: AsyncIOMotorClientSession) -> int:
            await self._seeded.delete_many({"_id": {"$regex": owners}}, session=session)
            return await self._delete(team, {"owner": {"$regex": owners}}, session)

        return await self._transaction(team, work)

    async def _delete(self, team: str, which: Document, session: AsyncIOMotorClientSession) -> int:
        _, size = await self._bytes(which, session)
        removed = await self._files.delete_many(which, session=session)
        await self._count(team, -size, session)
        return int(removed.deleted_count)

    async def _all(self, owner: Owner, session: AsyncIOMotorClientSession | None = None) -> Sequence[File]:
        found = self._files.find({"owner": owner.tenant}, session=session).sort("path", 1)
        return [_file(each) async for each in found]

    async def _usage(self, owner: Owner, session: AsyncIOMotorClientSession) -> Usage:
        """A person's files for all agents count together."""
        holder = f"^{re.escape(f'{owner.team}.{owner.member}.')}"
        files, size = await self._bytes({"owner": {"$regex": holder} if owner.agent else owner.tenant}, session)
        team = await self._teams.find_one({"_id": owner.team}, session=session)
        return Usage(files=files, bytes=size, team_bytes=team["bytes"] if team else 0)

    async def _bytes(self, of: Document, session: AsyncIOMotorClientSession) -> tuple[int, int]:
        """The number of these files, and their bytes."""
        summed: Document = {"$group": {"_id": None, "files": {"$sum": 1}, "bytes": {"$sum": "$size"}}}
        async for found in self._files.aggregate([{"$match": of}, summed], session=session):
            return found["files"], found["bytes"]
        return 0, 0

    async def _count(self, team: str, more: int, session: AsyncIOMotorClientSession) -> None:
        await self._teams.update_one({"_id": team}, {"$inc": {"bytes": more}}, session=session)

    async def _transaction(self, team: str, work: Callable[[AsyncIOMotorClientSession], Awaitable[T]]) -> T:
        # Outside: two upserts of the same document, by two replicas, can't be tried again inside.
        with contextlib.suppress(DuplicateKeyError):
            await self._teams.update_one({"_id": team}, {"$setOnInsert": {"bytes": 0, "changes": 0}}, upsert=True)

        async def attempt(session: AsyncIOMotorClientSession) -> T:
            await self._teams.update_one({"_id": team}, {"$inc": {"changes": 1}}, session=session)
            return await work(session)

        async def run() -> T:
            async with await self._mongo.client.start_session() as session:
                done: T = await session.with_transaction(attempt)
            return done

        return await self._mongo.shielded(run())


def _id(owner: Owner, path: str) -> str:
    return f"{owner.tenant}/{path}"


def _document(owner: Owner, file: File) -> Document:
    return {
        "team": owner.team,
        "owner": owner.tenant,
        **file.info().model_dump(),
        "content": file.content,
        "rev": file.rev,
        "writes": list(file.writes),
    }


def _file(found: Document) -> File:
    return File(
        path=found["path"],
        content=found["content"],
        revision=found["revision"],
        rev=found["rev"],
        writes=tuple(found["writes"]),
        updated_at=found["updated_at"],
    )
