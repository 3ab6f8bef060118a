"""Knowledge bases in MongoDB: `{_id: "<team>.<member>", label, created_at, rev, deleted_rev, deleted_at, …}`."""

from datetime import datetime

from memory.domain import KnowledgeBase, Owner
from rota_common.stores.mongo import Database


class MongoKnowledgeBases:
    """The highest revision wins, so the robots' events may come in any order and twice."""

    def __init__(self, database: Database) -> None:
        self._bases = database["knowledge_bases"]

    async def open(self, owner: Owner, *, rev: int, at: datetime) -> None:
        first = {**_identity(owner, at), "deleted_rev": 0, "deleted_at": None}
        await self._bases.update_one({"_id": owner.tenant}, {"$max": {"rev": rev}, "$setOnInsert": first}, upsert=True)

    async def close(self, owner: Owner, *, rev: int, at: datetime) -> None:
        await self.open(owner, rev=0, at=at)
        newer = {"_id": owner.tenant, "deleted_rev": {"$lt": rev}}
        await self._bases.update_one(newer, {"$set": {"deleted_rev": rev, "deleted_at": at}})

    async def find(self, owner: Owner) -> KnowledgeBase | None:
        document = await self._bases.find_one({"_id": owner.tenant})
        if document is None:
            return None
        return KnowledgeBase(
            owner, document["created_at"], document["rev"], document["deleted_rev"], document["deleted_at"]
        )


def _identity(owner: Owner, at: datetime) -> dict[str, object]:
    return {"team": owner.team, "member": owner.member, "label": owner.label, "created_at": at}
