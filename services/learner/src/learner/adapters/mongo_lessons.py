"""Lessons in MongoDB, one document per run: `{_id: <execution id>, team, member, rev, at, lessons, error, calls}`."""

from collections.abc import AsyncIterator
from datetime import datetime

from pymongo.errors import DuplicateKeyError

from learner.adapters.mongo_retention import INDEX, remove_before, robots_with_old
from learner.domain import AgedRobot, RunLessons
from rota_common.stores.mongo import Database, Document
from rota_contracts.messages.learning import Lesson
from rota_contracts.messages.usage import ModelCall


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

    async def remove_robot(self, team: str, member: str, *, up_to_rev: int) -> None:
        await self._lessons.delete_many({"team": team, "member": member, "rev": {"$lte": up_to_rev}})

    def aged(self, before: datetime) -> AsyncIterator[AgedRobot]:
        return robots_with_old(self._lessons, before)

    async def remove_before(self, team: str, member: str, before: datetime) -> int:
        return await remove_before(self._lessons, team, member, before)


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
