"""The audit trail in MongoDB."""

from datetime import datetime
from typing import Any

from rota_common.stores.mongo import Database, Document, behind
from trigger_gateway.audit.entry import AuditEntry, AuditMark

FIELDS = ("team", "at", "by", "by_name", "role", "action", "status", "request_id", "address")


class MongoAuditLog:
    """`_id` is the entry's id. `state` is begun, finished or published."""

    def __init__(self, database: Database) -> None:
        self._audit = database["audit"]

    async def prepare(self) -> None:
        await self._audit.create_index("until", expireAfterSeconds=0)
        await self._audit.create_index([("team", 1), ("at", -1), ("_id", -1)])
        await self._audit.create_index([("at", -1), ("_id", -1)])
        waiting = {"state": {"$in": ["begun", "finished"]}}
        await self._audit.create_index([("state", 1), ("at", 1)], partialFilterExpression=waiting)

    async def begin(self, entry: AuditEntry, *, until: datetime) -> None:
        await self._audit.insert_one({"_id": entry.audit_id, **_document(entry), "state": "begun", "until": until})

    async def finish(self, entry: AuditEntry) -> None:
        await self._audit.update_one({"_id": entry.audit_id}, {"$set": {**_document(entry), "state": "finished"}})

    async def drop(self, audit_id: str) -> None:
        await self._audit.delete_one({"_id": audit_id})

    async def unpublished(self, *, begun_before: datetime, limit: int) -> list[AuditEntry]:
        states = [{"state": "finished"}, {"state": "begun", "at": {"$lt": begun_before}}]
        return [_entry(each) async for each in self._audit.find({"$or": states}).sort("at", 1).limit(limit)]

    async def mark_published(self, audit_id: str) -> None:
        await self._audit.update_one({"_id": audit_id}, {"$set": {"state": "published"}})

    async def page(self, team: str | None, *, after: AuditMark | None, limit: int) -> list[AuditEntry]:
        wanted: Document = {} if team is None else {"team": team}
        if after is not None:
            wanted |= behind("at", after.at, after.audit_id)
        cursor = self._audit.find(wanted).sort([("at", -1), ("_id", -1)]).limit(limit)
        return [_entry(each) async for each in cursor]

    async def prune(self, *, kept: int) -> None:
        for team in await self._audit.distinct("team"):
            oldest = self._audit.find({"team": team}, {"at": 1}).sort([("at", -1), ("_id", -1)]).skip(kept).limit(1)
            async for each in oldest:
                await self._audit.delete_many({"team": team, "at": {"$lte": each["at"]}})


def _document(entry: AuditEntry) -> Document:
    """Names in `on` come from requests: as pairs, because a name may hold what MongoDB's keys may not."""
    return {name: getattr(entry, name) for name in FIELDS} | {"on": [[*pair] for pair in entry.on.items()]}


def _entry(found: Document) -> AuditEntry:
    given: dict[str, Any] = {name: found[name] for name in FIELDS}
    return AuditEntry(audit_id=found["_id"], on=dict(found["on"]), **given)
