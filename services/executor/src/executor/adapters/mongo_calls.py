"""Agent calls in MongoDB, for a week: `{_id: <call id>, owner, until, at}`, and `answer` once there is one."""

from datetime import datetime

from pymongo import ReturnDocument
from pymongo.errors import DuplicateKeyError

from rota_common.stores.mongo import Database
from rota_contracts.messages.agent import AgentReply

KEEP_S = 7 * 86400


class MongoCalls:
    def __init__(self, database: Database) -> None:
        self._calls = database["calls"]

    async def prepare(self) -> None:
        await self._calls.create_index("at", expireAfterSeconds=KEEP_S)

    async def claim(self, call_id: str, *, owner: str, until: datetime, now: datetime) -> AgentReply | bool:
        free = {"_id": call_id, "answer": None, "until": {"$lte": now}}
        try:
            await self._calls.update_one(free, {"$set": {"owner": owner, "until": until, "at": now}}, upsert=True)
        except DuplicateKeyError:  # it is there, and isn't free
            document = await self._calls.find_one({"_id": call_id}, {"answer": 1})
            answer = document and document.get("answer")
            return AgentReply.model_validate(answer) if answer else False
        return True

    async def renew(self, call_id: str, *, owner: str, until: datetime) -> None:
        await self._calls.update_one({"_id": call_id, "owner": owner}, {"$set": {"until": until}})

    async def release(self, call_id: str, *, owner: str) -> None:
        await self._calls.delete_one({"_id": call_id, "owner": owner, "answer": None})

    async def remember(self, call_id: str, answer: AgentReply, *, at: datetime) -> AgentReply:
        # $literal: an answer may contain what MongoDB would take for fields.
        first = {"$ifNull": ["$answer", {"$literal": answer.model_dump(mode="json")}]}
        document = await self._calls.find_one_and_update(
            {"_id": call_id},
            [{"$set": {"answer": first, "at": at}}],
            upsert=True,
            return_document=ReturnDocument.AFTER,
        )
        return AgentReply.model_validate(document["answer"])
