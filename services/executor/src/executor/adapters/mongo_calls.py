"""Agent calls in MongoDB, for a week: `{_id: <call id>, team, owner, claim, until, at}`, and `answer` once there is."""

from datetime import timedelta
from uuid import uuid4

from pymongo import ReturnDocument
from pymongo.errors import DuplicateKeyError

from rota_common.stores.mongo import NOW, Database, Document, after
from rota_contracts.messages.agent import AgentReply

KEEP_S = 7 * 86400


class MongoCalls:
    def __init__(self, database: Database) -> None:
        self._calls = database["calls"]

    async def prepare(self) -> None:
        await self._calls.create_index("at", expireAfterSeconds=KEEP_S)
        await self._calls.create_index("team", sparse=True)

    async def claim(self, call_id: str, *, team: str, owner: str, lease: timedelta) -> AgentReply | bool:
        attempt = uuid4().hex
        no_answer = {"$eq": [{"$ifNull": ["$answer", None]}, None]}
        free = {"$and": [no_answer, {"$lte": [{"$ifNull": ["$until", NOW]}, NOW]}]}
        taken: Document = {"team": team, "owner": owner, "claim": attempt, "until": after(lease), "at": NOW}
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

    async def renew(self, call_id: str, *, owner: str, lease: timedelta) -> None:
        await self._calls.update_one({"_id": call_id, "owner": owner}, [{"$set": {"until": after(lease)}}])

    async def release(self, call_id: str, *, owner: str) -> None:
        await self._calls.delete_one({"_id": call_id, "owner": owner, "answer": None})

    async def remember(self, call_id: str, answer: AgentReply) -> AgentReply:
        # $literal: an answer may contain what MongoDB would take for fields.
        first = {"$ifNull": ["$answer", {"$literal": answer.model_dump(mode="json")}]}
        document = await self._calls.find_one_and_update(
            {"_id": call_id},
            [{"$set": {"answer": first, "at": NOW}}],
            upsert=True,
            return_document=ReturnDocument.AFTER,
        )
        return AgentReply.model_validate(document["answer"])
