"""Answers of agent calls in MongoDB, for a week."""

from datetime import datetime

from pymongo import ReturnDocument

from rota_common.mongo import Database
from rota_contracts.agent import AgentAnswered

KEEP_S = 7 * 86400


class MongoCalls:
    def __init__(self, database: Database) -> None:
        self._calls = database["calls"]

    async def prepare(self) -> None:
        await self._calls.create_index("at", expireAfterSeconds=KEEP_S)

    async def find(self, call_id: str) -> AgentAnswered | None:
        document = await self._calls.find_one({"_id": call_id})
        return None if document is None else AgentAnswered.model_validate(document["answer"])

    async def remember(self, call_id: str, answer: AgentAnswered, *, at: datetime) -> AgentAnswered:
        document = await self._calls.find_one_and_update(
            {"_id": call_id},
            {"$setOnInsert": {"answer": answer.model_dump(mode="json"), "at": at}},
            upsert=True,
            return_document=ReturnDocument.AFTER,
        )
        return AgentAnswered.model_validate(document["answer"])
