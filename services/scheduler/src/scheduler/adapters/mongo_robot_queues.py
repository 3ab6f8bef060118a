"""What robots do, as the queue in MongoDB tells it; and what waits there for its first slot."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence

from pymongo import ASCENDING, DESCENDING

from rota_common.stores.mongo import Database, Document
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.goal_merge import ListWaiting, MergeInto, Waiting
from rota_contracts.messages.trigger import ExecutorMode, TriggerReceivedV1, TriggerType
from scheduler.domain import EntryState
from scheduler.ports import RobotActivity
from scheduler.robot_summary import Key

HOLDS_SLOT = (EntryState.ADMITTED, EntryState.RUNNING)
FIRST = {"live": True, "state": EntryState.QUEUED, "parks": {"$in": [None, 0]}}
"""Waits, and has not begun."""

REAL = {"trigger.executor_mode": {"$in": [None, ExecutorMode.STANDARD]}}
"""No trial: what is merged into one of those is lost."""


class MongoRobotQueues:
    def __init__(self, database: Database) -> None:
        self._queue = database["queue"]

    async def prepare(self) -> None:
        whose = [("team", ASCENDING), ("member", ASCENDING)]
        done = {"state": EntryState.DONE}
        await self._queue.create_index([*whose, ("ended_at", DESCENDING)], name="done", partialFilterExpression=done)

    async def read(self, keys: Sequence[Key]) -> dict[Key, RobotActivity]:
        live = await self._live(keys) if keys else {}
        last = await asyncio.gather(*(self._last(key) for key in keys))
        return {key: _activity(live.get(key, []), done) for key, done in zip(keys, last, strict=True)}

    async def waiting(self, question: ListWaiting) -> list[Waiting]:
        whose = {"team": question.team_id, "member": question.member_id}
        found = self._queue.find(FIRST | whose | REAL).sort("queued_at", ASCENDING).limit(question.limit)
        return [_waiting(document) async for document in found]

    async def merge(self, question: MergeInto) -> bool:
        """Into the words that the execution will begin with, once."""
        waits: Document = {
            "_id": question.execution_id,
            "team": question.team_id,
            "member": question.member_id,
            **FIRST,
        }
        words = {"role": "user", "content": question.goals}
        merged = await self._queue.update_one(
            waits | {"merged": {"$ne": question.merge_id}},
            {"$push": {"trigger.input.messages": words}, "$addToSet": {"merged": question.merge_id}},
        )
        named = {"_id": question.execution_id, "merged": question.merge_id}
        return merged.matched_count == 1 or await self._queue.find_one(named, {"_id": 1}) is not None

    async def _live(self, keys: Sequence[Key]) -> dict[Key, list[Document]]:
        whose = [{"team": team, "member": member} for team, member in keys]
        found = defaultdict[Key, list[Document]](list)
        wanted = {"team": 1, "member": 1, "state": 1}
        async for document in self._queue.find({"live": True, "$or": whose}, wanted).sort("queued_at", ASCENDING):
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


def _waiting(document: Document) -> Waiting:
    trigger = TriggerReceivedV1.model_validate(document["trigger"])
    return Waiting(
        execution_id=document["_id"],
        type=TriggerType(document["type"]),
        about=_about(trigger),
        queued_at=document["queued_at"],
    )


def _about(trigger: TriggerReceivedV1) -> str:
    given = trigger.input
    match trigger.type:
        case TriggerType.CLOCK:
            return f"the clock, due at {trigger.scheduled_at.isoformat()}" if trigger.scheduled_at else "the clock"
        case TriggerType.HUMAN:
            words = " ".join(" ".join(message.text().split()) for message in given.messages)
            return f"a person: {words[:200]}"
        case _:
            return ": ".join(filter(None, [given.source, given.event_type])) or "an event"
