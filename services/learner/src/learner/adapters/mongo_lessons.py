"""Lessons in MongoDB: one document per run, `{_id: <execution id>, team, member, rev, lessons: […], error}` (LE-08)."""

from pymongo.errors import DuplicateKeyError

from learner.domain import Learnt
from rota_common.mongo import Database, Document
from rota_contracts.learning import Lesson


class MongoLessons:
    def __init__(self, database: Database) -> None:
        self._lessons = database["lessons"]

    async def prepare(self) -> None:
        """A robot's documents are found by its names when it is deleted."""
        await self._lessons.create_index([("team", 1), ("member", 1)])

    async def find(self, execution_id: str) -> Learnt | None:
        document = await self._lessons.find_one({"_id": execution_id})
        return None if document is None else _learnt(document)

    async def save(self, learnt: Learnt) -> Learnt:
        try:
            await self._lessons.insert_one(_document(learnt))
        except DuplicateKeyError:
            return await self.find(learnt.execution_id) or learnt  # gone again: its robot was deleted, as we'll see
        return learnt

    async def remove(self, execution_id: str) -> None:
        await self._lessons.delete_one({"_id": execution_id})

    async def remove_robot(self, team: str, member: str, *, up_to_rev: int) -> None:
        await self._lessons.delete_many({"team": team, "member": member, "rev": {"$lte": up_to_rev}})


def _document(learnt: Learnt) -> Document:
    return {
        "_id": learnt.execution_id,
        "team": learnt.team,
        "member": learnt.member,
        "rev": learnt.rev,
        "lessons": [lesson.model_dump() | {"type": str(lesson.type)} for lesson in learnt.lessons],
        "error": learnt.error,
    }


def _learnt(document: Document) -> Learnt:
    lessons = tuple(Lesson.model_validate(lesson) for lesson in document["lessons"])
    return Learnt(document["_id"], document["team"], document["member"], document["rev"], lessons, document["error"])
