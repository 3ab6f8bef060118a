"""The entries of robots in Qdrant: one collection for all robots, each entry with its owner's key."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from qdrant_client.models import (
    Condition,
    DatetimeRange,
    FieldCondition,
    Filter,
    HasIdCondition,
    IsEmptyCondition,
    MatchValue,
    PayloadField,
    PointStruct,
    Range,
)

from memory.adapters.qdrant.connection import Qdrant, is_tenant
from memory.domain import Owner
from memory.ports import Vector
from rota_contracts.ids import derived_id
from rota_contracts.messages.memory import MemoryEntry, RecalledEntry

COLLECTION, TENANT, TEAM, AGE = "lessons", "tenant", "team", "created_at"
SCOPE, REHEARSED = "scope", "rehearsed"


class QdrantEntries:
    """`prepare` it once, before anything else."""

    def __init__(self, qdrant: Qdrant) -> None:
        self._qdrant = qdrant

    async def prepare(self) -> None:
        await self._qdrant.prepare(COLLECTION, tenants=[TENANT], instants=[AGE], words=[TEAM, SCOPE])

    async def keep(self, owner: Owner, entries: Sequence[tuple[MemoryEntry, Vector]], *, rev: int) -> None:
        points = [
            PointStruct(
                id=_point(owner, entry.id),
                vector=vector,
                payload={TENANT: owner.tenant, TEAM: owner.team, "rev": rev, **_payload(entry)},
            )
            for entry, vector in entries
        ]
        await self._qdrant.put(COLLECTION, points)

    async def nearest(
        self,
        owner: Owner,
        vector: Vector,
        limit: int,
        *,
        since: datetime | None = None,
        scope: str = "",
        rehearsed: bool = False,
    ) -> list[RecalledEntry]:
        young = [FieldCondition(key=AGE, range=DatetimeRange(gte=since))] if since else []
        learnt = [] if rehearsed else [_without(REHEARSED)]
        found = await self._qdrant.nearest(COLLECTION, vector, limit, [_of(owner)], also=[*young, _in(scope), *learnt])
        return [RecalledEntry(entry=MemoryEntry.model_validate(point.payload), score=point.score) for point in found]

    async def remove(self, owner: Owner, ids: Sequence[str], *, before: datetime | None = None) -> int:
        those = HasIdCondition(has_id=[_point(owner, one) for one in ids])
        return await self._delete(owner, those, *_older(before))

    async def clear(
        self,
        owner: Owner,
        *,
        up_to_rev: int | None = None,
        before: datetime | None = None,
        scope: str | None = None,
    ) -> int:
        learnt = [] if up_to_rev is None else [FieldCondition(key="rev", range=Range(lte=up_to_rev))]
        scoped = [] if scope is None else [_in(scope)]
        return await self._delete(owner, *learnt, *scoped, *_older(before))

    async def clear_team(self, team: str) -> None:
        await self._qdrant.delete(COLLECTION, Filter(must=[is_tenant(TEAM, team)]))

    async def _delete(self, owner: Owner, *those: Condition) -> int:
        return await self._qdrant.delete(COLLECTION, Filter(must=[_of(owner), *those]))


def _payload(entry: MemoryEntry) -> dict[str, Any]:
    """Without what is empty: entries of before there were scopes and rehearsals are found like those with neither."""
    return {name: value for name, value in entry.model_dump(mode="json").items() if value not in ("", False)}


def _in(scope: str) -> Condition:
    return FieldCondition(key=SCOPE, match=MatchValue(value=scope)) if scope else _without(SCOPE)


def _without(field: str) -> Condition:
    return IsEmptyCondition(is_empty=PayloadField(key=field))


def _older(before: datetime | None) -> list[FieldCondition]:
    return [] if before is None else [FieldCondition(key=AGE, range=DatetimeRange(lt=before))]


def _of(owner: Owner) -> FieldCondition:
    return is_tenant(TENANT, owner.tenant)


def _point(owner: Owner, entry_id: str) -> str:
    return derived_id("entry", owner.team, owner.member, entry_id)
