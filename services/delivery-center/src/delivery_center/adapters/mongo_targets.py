"""Failing and disabled targets in MongoDB, a document each under its target id; healthy ones have none."""

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

from pymongo import ReturnDocument
from pymongo.errors import DuplicateKeyError

from delivery_center.domain.target_health import FailingTarget, TargetRef
from rota_common.errors import Transient
from rota_common.stores.mongo import OUTAGES, Database, Document

NO_FAILURES: Document = {"failures": 0, "failing_since": None, "last_error": "", "last_at": None}


class MongoTargets:
    def __init__(self, database: Database) -> None:
        self._targets = database["targets"]
        self._deliveries = database["deliveries"]

    async def prepare(self) -> None:
        await self._targets.create_index([("team_id", 1), ("label", 1)], name="of_team")

    async def all(self) -> list[FailingTarget]:
        async with _unavailable():
            return [_target(document) async for document in self._targets.find()]

    async def of(self, team: str) -> list[FailingTarget]:
        async with _unavailable():
            found = self._targets.find({"team_id": team}).sort([("label", 1), ("_id", 1)])
            return [_target(document) async for document in found]

    async def record_failure(self, target: TargetRef, error: str, at: datetime) -> FailingTarget:
        """One pipeline, so that the instant of the first of several concurrent failures stays."""
        count = {"$add": [{"$ifNull": ["$failures", 0]}, 1]}
        since = {"$ifNull": ["$failing_since", at]}
        change = {**_literally(target), "failures": count, "failing_since": since, "last_at": at}
        change["last_error"] = {"$literal": error}
        async with _unavailable():
            try:
                document = await self._change({"_id": target.target_id}, [{"$set": change}], upsert=True)
            except DuplicateKeyError:  # two were the first; by now it is stored
                document = await self._change({"_id": target.target_id}, [{"$set": change}], upsert=True)
        return _target(document)

    async def record_success(self, target_id: str, at: datetime) -> None:
        healthy = {"_id": target_id, "disabled_at": None, "unpublished": {"$ne": True}, "last_at": {"$lte": at}}
        async with _unavailable():
            await self._targets.delete_one(healthy)

    async def disable(self, target: TargetRef, reason: str, at: datetime) -> FailingTarget | None:
        change = target.identity() | {"disabled_at": at, "reason": reason, "enabled_at": None, "unpublished": True}
        enabled = {"_id": target.target_id, "disabled_at": None}
        async with _unavailable():
            try:
                return _target(await self._change(enabled, {"$set": change}, upsert=True))
            except DuplicateKeyError:  # it is disabled, or two were the first
                pass
            document = await self._change(enabled, {"$set": change}, upsert=False)
        return None if document is None else _target(document)

    async def enable(self, team: str, target_id: str, at: datetime) -> FailingTarget | None:
        disabled = {"_id": target_id, "team_id": team, "disabled_at": {"$ne": None}}
        change = {**NO_FAILURES, "disabled_at": None, "reason": "", "enabled_at": at, "unpublished": True}
        async with _unavailable():
            document = await self._change(disabled, {"$set": change}, upsert=False)
        return None if document is None else _target(document)

    async def mark_published(self, target: FailingTarget) -> None:
        same = {"_id": target.target_id, "disabled_at": target.disabled_at, "enabled_at": target.enabled_at}
        async with _unavailable():
            await self._targets.update_one(same, {"$set": {"unpublished": False, "enabled_at": None}})
            await self._targets.delete_one(
                {"_id": target.target_id, "disabled_at": None, "unpublished": False, "failures": 0}
            )

    async def request_retry(self, team: str, target_ids: Collection[str], at: datetime) -> None:
        theirs = {"_id": {"$in": list(target_ids)}, "team_id": team}
        async with _unavailable():
            await self._targets.update_many(theirs, {"$set": {"retry_at": at}})

    async def find_delivered(self, team: str, target_id: str) -> TargetRef | None:
        async with _unavailable():
            document = await self._deliveries.find_one(
                {"context.team_id": team, "targets.target_id": target_id},
                {"context": 1, "targets.target_id": 1, "targets.type": 1, "targets.label": 1},
                sort=[("created_at", -1)],
            )
        if document is None:
            return None
        target = next(each for each in document["targets"] if each["target_id"] == target_id)
        return TargetRef.model_validate(document["context"] | target)

    async def _change(self, condition: Document, change: Any, *, upsert: bool) -> Any:
        return await self._targets.find_one_and_update(
            condition, change, upsert=upsert, return_document=ReturnDocument.AFTER
        )


def _literally(target: TargetRef) -> Document:
    """In a pipeline a text that begins with a dollar sign would be a field's name."""
    return {name: {"$literal": value} for name, value in target.identity().items()}


def _target(document: Document) -> FailingTarget:
    return FailingTarget.model_validate(document)


@asynccontextmanager
async def _unavailable() -> AsyncIterator[None]:
    try:
        yield
    except OUTAGES as error:
        raise Transient(f"can't read the targets: {error!r}") from error
