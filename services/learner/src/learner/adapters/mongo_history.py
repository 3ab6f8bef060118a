"""Runs and decisions in MongoDB, for KEEP_DAYS: `history` and `decisions`, by the id of the execution (SC-13)."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict
from datetime import datetime

from pymongo.errors import DuplicateKeyError

from learner.adapters.mongo_retention import INDEX, remove_before, robots_with_old
from learner.domain import AgedRobot
from learner.history import KEEP_DAYS, GoalsDecision, PastRun
from rota_common.stores.mongo import Database, Document
from rota_contracts.messages.learning import GoalsReply

KEEP_S = KEEP_DAYS * 86400


class MongoHistory:
    def __init__(self, database: Database) -> None:
        self._runs, self._decisions = database["history"], database["decisions"]

    async def prepare(self) -> None:
        """A robot's documents are found by its names and their age, its completed runs newest first."""
        await self._runs.create_index([("team", 1), ("member", 1), ("status", 1), ("at", -1)])
        await self._runs.create_index(INDEX)
        await self._decisions.create_index(INDEX)
        await self._runs.create_index("at", expireAfterSeconds=KEEP_S)
        await self._decisions.create_index("at", expireAfterSeconds=KEEP_S)

    async def add(self, run: PastRun) -> None:
        document = asdict(run)
        execution_id = document.pop("execution_id")
        await self._runs.update_one({"_id": execution_id}, {"$setOnInsert": document}, upsert=True)

    async def completed(
        self, team: str, member: str, *, since: datetime, limit: int, without: str = ""
    ) -> Sequence[PastRun]:
        wanted = {
            "team": team,
            "member": member,
            "status": "completed",
            "at": {"$gte": since},
            "_id": {"$ne": without},
        }
        return [_past(document) async for document in self._runs.find(wanted).sort("at", -1).limit(limit)]

    async def decided(self, execution_id: str) -> GoalsDecision | None:
        document = await self._decisions.find_one({"_id": execution_id})
        return None if document is None else _decided(document)

    async def decide(self, decided: GoalsDecision) -> GoalsDecision:
        checked = decided.checked.model_dump(mode="json")
        names = {"team": decided.team, "member": decided.member, "rev": decided.rev}
        try:
            await self._decisions.insert_one(
                {"_id": decided.execution_id, **names, "checked": checked, "at": decided.at, "sure": decided.sure}
            )
        except DuplicateKeyError:
            return await self.decided(decided.execution_id) or decided  # gone again: its robot was deleted
        return decided

    async def settle(self, decided: GoalsDecision) -> GoalsDecision:
        change = {"$set": {"checked": decided.checked.model_dump(mode="json"), "sure": decided.sure}}
        await self._decisions.update_one({"_id": decided.execution_id, "sure": False}, change)
        return await self.decided(decided.execution_id) or decided

    async def remove(self, execution_id: str) -> None:
        await self._runs.delete_one({"_id": execution_id})
        await self._decisions.delete_one({"_id": execution_id})

    async def remove_robot(self, team: str, member: str, *, up_to_rev: int) -> None:
        theirs = {"team": team, "member": member, "rev": {"$lte": up_to_rev}}
        await self._runs.delete_many(theirs)
        await self._decisions.delete_many(theirs)

    async def aged(self, before: datetime) -> AsyncIterator[AgedRobot]:
        for collection in (self._runs, self._decisions):
            async for found in robots_with_old(collection, before):
                yield found

    async def remove_before(self, team: str, member: str, before: datetime) -> int:
        runs = await remove_before(self._runs, team, member, before)
        return runs + await remove_before(self._decisions, team, member, before)


def _past(document: Document) -> PastRun:
    return PastRun(execution_id=document.pop("_id"), **document)


def _decided(document: Document) -> GoalsDecision:
    checked = GoalsReply.model_validate(document["checked"])
    names = (document["_id"], document["team"], document["member"])
    return GoalsDecision(*names, document["rev"], checked, document["at"], document.get("sure", True))
