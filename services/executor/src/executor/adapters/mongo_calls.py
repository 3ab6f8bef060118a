"""Agent calls in MongoDB, for a week: `{_id: <call id>, team, owner, claim, until, at}`, and `answer` once there is.

Until then `turn` is its agent's turn as JSON, if that uses tools, and a call that its team sees has `shown`:
`{team, chat_id, agent_id, member_id, began_at}`. What came in its course is `{_id: <call id>/<name>, team, kept, at}`.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from pymongo import ReturnDocument
from pymongo.errors import DuplicateKeyError

from executor.domain.calls_under_way import aborted, call_under_way
from rota_common.stores.mongo import NOW, Database, Document, after
from rota_contracts.messages.agent import CALLS_LISTED, AgentReply, CallAgent, CallUnderWay
from rota_contracts.messages.conversation import Turn

KEEP_S = 7 * 86400
SHOWN = ("chat_id", "agent_id", "member_id", "began_at")


class MongoCalls:
    def __init__(self, database: Database) -> None:
        self._calls = database["calls"]

    async def prepare(self) -> None:
        await self._calls.create_index("at", expireAfterSeconds=KEEP_S)
        await self._calls.create_index("team", sparse=True)
        await self._calls.create_index([("shown.team", 1), ("shown.began_at", -1), ("_id", -1)], sparse=True)

    async def claim(
        self, call_id: str, *, team: str, owner: str, lease: timedelta, shown: CallAgent | None = None
    ) -> AgentReply | bool:
        attempt = uuid4().hex
        no_answer = {"$eq": [{"$ifNull": ["$answer", None]}, None]}
        free = {"$and": [no_answer, {"$lte": [{"$ifNull": ["$until", NOW]}, NOW]}]}
        taken: Document = {"team": team, "owner": owner, "claim": attempt, "until": after(lease), "at": NOW}
        if shown is not None:
            taken["shown"] = {"$ifNull": ["$shown", _shown(shown)]}
        update = {name: {"$cond": [free, value, f"${name}"]} for name, value in taken.items()}
        try:
            document = await self._calls.find_one_and_update(
                {"_id": call_id}, [{"$set": update}], upsert=True, return_document=ReturnDocument.AFTER
            )
        except DuplicateKeyError:  # another replica has just made it
            return False
        if document.get("answer"):
            return AgentReply.model_validate(document["answer"])
        return bool(document["claim"] == attempt)

    async def renew(self, call_id: str, *, owner: str, lease: timedelta) -> bool:
        mine = {"_id": call_id, "owner": owner, "answer": None}
        renewed = await self._calls.update_one(mine, [{"$set": {"until": after(lease)}}])
        return renewed.matched_count == 1

    async def release(self, call_id: str, *, owner: str) -> None:
        mine = {"_id": call_id, "owner": owner, "answer": None}
        deleted = await self._calls.delete_one({**mine, "turn": None})
        if not deleted.deleted_count:
            await self._calls.update_one(mine, [{"$set": {"until": NOW}}])

    async def turn(self, call_id: str) -> Turn | None:
        found = await self._calls.find_one({"_id": call_id, "answer": None}, {"turn": 1})
        return Turn.model_validate_json(found["turn"]) if found and found.get("turn") else None

    async def save_turn(self, call_id: str, turn: Turn, *, owner: str) -> bool:
        mine = {"_id": call_id, "owner": owner, "answer": None}
        saved = await self._calls.update_one(mine, {"$set": {"turn": turn.model_dump_json()}})
        return saved.matched_count == 1

    async def remember(self, call_id: str, answer: AgentReply) -> AgentReply:
        # $literal: an answer may contain what MongoDB would take for fields.
        first = {"$ifNull": ["$answer", {"$literal": answer.model_dump(mode="json")}]}
        document = await self._calls.find_one_and_update(
            {"_id": call_id},
            [{"$set": {"answer": first, "at": NOW}}, {"$unset": ["shown", "turn"]}],
            upsert=True,
            return_document=ReturnDocument.AFTER,
        )
        return AgentReply.model_validate(document["answer"])

    async def keep(self, call_id: str, name: str, text: str, *, team: str) -> str:
        first: Document = {"team": team, "kept": {"$literal": text}, "at": NOW}
        absent = {"$eq": [{"$type": "$kept"}, "missing"]}
        document = await self._calls.find_one_and_update(
            {"_id": f"{call_id}/{name}"},
            [{"$set": {field: {"$cond": [absent, value, f"${field}"]} for field, value in first.items()}}],
            upsert=True,
            return_document=ReturnDocument.AFTER,
        )
        return str(document["kept"])

    async def kept(self, call_id: str, name: str) -> str | None:
        document = await self._calls.find_one({"_id": f"{call_id}/{name}"}, {"kept": 1})
        return None if document is None else str(document["kept"])

    async def under_way(self, team: str, *, chat_id: str | None = None) -> Sequence[CallUnderWay]:
        wanted = {**_alive(team), **({} if chat_id is None else {"shown.chat_id": chat_id})}
        found = self._calls.find(wanted, {"shown": 1}).sort([("shown.began_at", -1), ("_id", -1)]).limit(CALLS_LISTED)
        return [
            CallUnderWay.model_validate({"id": each["_id"], **{name: each["shown"][name] for name in SHOWN}})
            async for each in found
        ]

    async def abort(self, call: CallUnderWay, *, team: str) -> bool:
        answer = {"answer": {"$literal": aborted(call).model_dump(mode="json")}, "at": NOW}
        wanted = {"_id": call.id, "answer": None, **_alive(team)}
        done = await self._calls.update_one(wanted, [{"$set": answer}, {"$unset": ["shown", "turn"]}])
        return done.modified_count == 1


def _alive(team: str) -> Document:
    return {"shown.team": team, "$expr": {"$gt": ["$until", NOW]}}


def _shown(call: CallAgent) -> Document:
    seen = call_under_way(call, datetime.min.replace(tzinfo=UTC))  # the database's own instant stands for this one
    named = {"team": call.team_id, "chat_id": seen.chat_id, "agent_id": seen.agent_id, "member_id": seen.member_id}
    return {**{name: {"$literal": value} for name, value in named.items()}, "began_at": NOW}
