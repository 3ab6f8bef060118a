"""Lessons in MongoDB, one document per run: `{_id: <execution id>, team, member, rev, at, lessons, error, calls}`."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from pymongo.errors import DuplicateKeyError

from learner.adapters.mongo_retention import INDEX, remove_before, robots_with_old
from learner.domain import AgedRobot, RunLessons, without
from rota_common.page_cursor import PageCursor
from rota_common.stores.mongo import Database, Document, behind
from rota_contracts.messages.learning import Lesson
from rota_contracts.messages.usage import ModelCall

NEWEST = [("at", -1), ("_id", -1)]


class MongoLessons:
    def __init__(self, database: Database) -> None:
        self._lessons = database["lessons"]

    async def prepare(self) -> None:
        """A robot's documents are found by its names and their age."""
        await self._lessons.create_index(INDEX)

    async def find(self, execution_id: str) -> RunLessons | None:
        document = await self._lessons.find_one({"_id": execution_id})
        return None if document is None else _run_lessons(document)

    async def save(self, lessons: RunLessons) -> RunLessons:
        try:
            await self._lessons.insert_one(_document(lessons))
        except DuplicateKeyError:
            return await self.find(lessons.execution_id) or lessons  # removed again: its robot was deleted
        return lessons

    async def remove(self, execution_id: str) -> None:
        await self._lessons.delete_one({"_id": execution_id})

    async def page(
        self, team: str, member: str, *, scope: str | None = None, limit: int, after: PageCursor | None = None
    ) -> Sequence[RunLessons]:
        later = [] if after is None else [behind("at", after.at, after.item_id)]
        query = {"$and": [_with_lessons(team, member, scope=scope), *later]}
        return [_run_lessons(found) async for found in self._lessons.find(query).sort(NEWEST).limit(limit)]

    async def forget(
        self, team: str, member: str, *, ids: Sequence[str] | None = None, scope: str | None = None
    ) -> int:
        """Run by run: what a run loses is counted as it is taken out."""
        those = _with_lessons(team, member, ids=ids, scope=scope)
        runs = [document["_id"] async for document in self._lessons.find(those, {"_id": 1})]
        return sum([await self._forget_of(run, ids) for run in runs])

    async def _forget_of(self, execution_id: str, ids: Sequence[str] | None) -> int:
        """The lessons of a run are of one scope."""
        gone: Document = {"$set": {"lessons": [], "error": None}}
        if ids is not None:
            gone = {"$pull": {"lessons": {"id": {"$in": [*ids]}}}}
        found = await self._lessons.find_one_and_update({"_id": execution_id}, gone)
        if found is None:
            return 0
        before = _run_lessons(found)
        return len(before.lessons) - len(without(before, ids).lessons)

    async def remove_robot(self, team: str, member: str, *, up_to_rev: int) -> None:
        await self._lessons.delete_many({"team": team, "member": member, "rev": {"$lte": up_to_rev}})

    def aged(self, before: datetime) -> AsyncIterator[AgedRobot]:
        return robots_with_old(self._lessons, before)

    async def remove_before(self, team: str, member: str, before: datetime) -> int:
        return await remove_before(self._lessons, team, member, before)


def _with_lessons(team: str, member: str, *, ids: Sequence[str] | None = None, scope: str | None = None) -> Document:
    query: Document = {"team": team, "member": member, "lessons.0": {"$exists": True}}
    if ids is not None:
        query["lessons.id"] = {"$in": [*ids]}
    if scope is not None:
        query["lessons.scope"] = scope
    return query


def _document(lessons: RunLessons) -> Document:
    return {
        "_id": lessons.execution_id,
        "team": lessons.team,
        "member": lessons.member,
        "rev": lessons.rev,
        "at": lessons.at,
        "lessons": [lesson.model_dump() | {"type": str(lesson.type)} for lesson in lessons.lessons],
        "error": lessons.error,
        "calls": [call.model_dump() for call in lessons.calls],
    }


def _run_lessons(document: Document) -> RunLessons:
    lessons = tuple(Lesson.model_validate(lesson) for lesson in document["lessons"])
    names = (document["team"], document["member"])
    calls = tuple(ModelCall.model_validate(call) for call in document.get("calls", ()))
    return RunLessons(document["_id"], *names, document["rev"], document["at"], lessons, document["error"], calls)
