"""The queue in MongoDB, by robot."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence

from pymongo import ASCENDING, DESCENDING

from rota_common.stores.mongo import Database, Document
from rota_common.stores.trigger_documents import stored_input, stored_trigger
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.goal_merge import ListWaiting, MergeInto, Waiting
from rota_contracts.messages.trigger import ExecutorMode, Message
from rota_contracts.roles import least
from scheduler.domain.batch import waiting_of
from scheduler.domain.queue import EntryState
from scheduler.domain.robot_summary import Key
from scheduler.ports import RobotActivity

HOLDS_SLOT = (EntryState.ADMITTED, EntryState.RUNNING)
FIRST = {"live": True, "state": EntryState.QUEUED, "parks": {"$in": [None, 0]}}
"""Waits for its first slot."""

REAL = {"trigger.executor_mode": {"$in": [None, ExecutorMode.STANDARD]}}
"""No trial: goals merged into one of those are lost."""


class MongoRobotQueues:
    def __init__(self, database: Database) -> None:
        self._queue = database["queue"]

    async def prepare(self) -> None:
        owner = [("team", ASCENDING), ("member", ASCENDING)]
        done = {"state": EntryState.DONE}
        await self._queue.create_index([*owner, ("ended_at", DESCENDING)], name="done", partialFilterExpression=done)

    async def read(self, keys: Sequence[Key]) -> dict[Key, RobotActivity]:
        live = await self._live(keys) if keys else {}
        last = await asyncio.gather(*(self._last(key) for key in keys))
        return {key: _activity(live.get(key, []), done) for key, done in zip(keys, last, strict=True)}

    async def waiting(self, question: ListWaiting) -> list[Waiting]:
        owner = {"team": question.team_id, "member": question.member_id}
        found = self._queue.find(FIRST | owner | REAL).sort("queued_at", ASCENDING).limit(question.limit)
        return [waiting_of(each["_id"], stored_trigger(each["trigger"]), each["queued_at"]) async for each in found]

    async def merge(self, question: MergeInto) -> bool:
        """Into the first messages of the execution, once."""
        waits: Document = {
            "_id": question.execution_id,
            "team": question.team_id,
            "member": question.member_id,
            **FIRST,
        }
        goals = Message(role="user", content=question.goals)
        while document := await self._queue.find_one(waits | {"merged": {"$ne": question.merge_id}}, {"trigger": 1}):
            trigger = stored_trigger(document["trigger"])
            more = trigger.input.model_copy(update={"messages": [*trigger.input.messages, goals]})
            changed = {"trigger.input": stored_input(more), "trigger.role": least(trigger.highest_role, question.role)}
            merged = await self._queue.update_one(
                waits | {"merged": {"$ne": question.merge_id}, "trigger.input": document["trigger"]["input"]},
                {"$set": changed, "$addToSet": {"merged": question.merge_id}},
            )
            if merged.matched_count:
                return True
        named = {"_id": question.execution_id, "merged": question.merge_id}
        return await self._queue.find_one(named, {"_id": 1}) is not None

    async def _live(self, keys: Sequence[Key]) -> dict[Key, list[Document]]:
        owner = [{"team": team, "member": member} for team, member in keys]
        found = defaultdict[Key, list[Document]](list)
        wanted = {"team": 1, "member": 1, "state": 1}
        async for document in self._queue.find({"live": True, "$or": owner}, wanted).sort("queued_at", ASCENDING):
            found[document["team"], document["member"]].append(document)
        return found

    async def _last(self, key: Key) -> Document | None:
        done = {"team": key[0], "member": key[1], "state": EntryState.DONE}
        return await self._queue.find_one(
            done, {"admitted_at": 1, "queued_at": 1, "status": 1}, sort=[("ended_at", DESCENDING)]
        )


def _activity(live: Sequence[Document], last: Document | None) -> RobotActivity:
    states = [document["state"] for document in live]
    return RobotActivity(
        running=[document["_id"] for document in live if document["state"] in HOLDS_SLOT],
        queued=states.count(EntryState.QUEUED),
        parked=states.count(EntryState.PARKED),
        last_run=(last["admitted_at"] or last["queued_at"]) if last else None,
        last_status=ExecStatus(last["status"]) if last else None,
    )
