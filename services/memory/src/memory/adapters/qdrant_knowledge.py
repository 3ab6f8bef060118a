"""What robots know, in Qdrant: one collection for all robots, each entry with its owner's key."""

from collections.abc import Sequence

from qdrant_client.models import FieldCondition, Filter, HasIdCondition, PointStruct, Range

from memory.adapters.qdrant import Qdrant, is_tenant
from memory.domain import Owner
from memory.ports import Vector
from rota_contracts.ids import derived_id
from rota_contracts.memory import MemoryEntry, RecalledEntry

COLLECTION, TENANT = "lessons", "tenant"


class QdrantKnowledge:
    """`prepare` it once, before anything else."""

    def __init__(self, qdrant: Qdrant) -> None:
        self._qdrant = qdrant

    async def prepare(self) -> None:
        await self._qdrant.prepare(COLLECTION, tenants=[TENANT])

    async def keep(self, owner: Owner, entries: Sequence[tuple[MemoryEntry, Vector]], *, rev: int) -> None:
        points = [
            PointStruct(
                id=_point(owner, entry.id),
                vector=vector,
                payload={TENANT: owner.tenant, "rev": rev, **entry.model_dump(mode="json")},
            )
            for entry, vector in entries
        ]
        await self._qdrant.put(COLLECTION, points)

    async def nearest(self, owner: Owner, vector: Vector, limit: int) -> list[RecalledEntry]:
        found = await self._qdrant.nearest(COLLECTION, vector, limit, [_of(owner)])
        return [RecalledEntry(entry=MemoryEntry.model_validate(point.payload), score=point.score) for point in found]

    async def remove(self, owner: Owner, ids: Sequence[str]) -> int:
        those = HasIdCondition(has_id=[_point(owner, one) for one in ids])
        return await self._qdrant.delete(COLLECTION, Filter(must=[_of(owner), those]))

    async def clear(self, owner: Owner, *, up_to_rev: int | None = None) -> int:
        if up_to_rev is None:
            return await self._qdrant.delete(COLLECTION, Filter(must=[_of(owner)]))
        before = FieldCondition(key="rev", range=Range(lte=up_to_rev))
        return await self._qdrant.delete(COLLECTION, Filter(must=[_of(owner), before]))


def _of(owner: Owner) -> FieldCondition:
    return is_tenant(TENANT, owner.tenant)


def _point(owner: Owner, entry_id: str) -> str:
    return derived_id("entry", owner.team, owner.member, entry_id)
