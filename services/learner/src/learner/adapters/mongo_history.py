"""Runs and decisions in MongoDB, for KEEP_DAYS: `history` and `decisions`, by the id of the execution."""

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
        return [_past_run(document) async for document in self._runs.find(wanted).sort("at", -1).limit(limit)]

    async def decision(self, execution_id: str) -> GoalsDecision | None:
        document = await self._decisions.find_one({"_id": execution_id})
        return None if document is None else _decision(document)

    async def save_decision(self, decision: GoalsDecision) -> GoalsDecision:
        reply = decision.reply.model_dump(mode="json")
        names = {"team": decision.team, "member": decision.member, "rev": decision.rev}
        try:
            await self._decisions.insert_one(
                {"_id": decision.execution_id, **names, "checked": reply, "at": decision.at, "sure": decision.sure}
            )
        except DuplicateKeyError:
            return await self.decision(decision.execution_id) or decision  # removed again: its robot was deleted
        return decision

    async def confirm(self, decision: GoalsDecision) -> GoalsDecision:
        change = {"$set": {"checked": decision.reply.model_dump(mode="json"), "sure": decision.sure}}
        await self._decisions.update_one({"_id": decision.execution_id, "sure": False}, change)
        return await self.decision(decision.execution_id) or decision

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


def _past_run(document: Document) -> PastRun:
    return PastRun(execution_id=document.pop("_id"), **document)


def _decision(document: Document) -> GoalsDecision:
    reply = GoalsReply.model_validate(document["checked"])
    names = (document["_id"], document["team"], document["member"])
    return GoalsDecision(*names, document["rev"], reply, document["at"], document.get("sure", True))
