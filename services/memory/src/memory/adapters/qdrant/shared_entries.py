"""The shared entries of teams in Qdrant: one collection for all teams, each entry with the keys of team and shelf."""

from collections.abc import Sequence

from qdrant_client.models import Filter, HasIdCondition, PointStruct

from memory.adapters.qdrant.connection import Qdrant, is_tenant
from memory.domain import Shelf
from memory.ports import Vector
from rota_contracts.ids import derived_id
from rota_contracts.messages.memory import SharedEntry, SharedMatch

COLLECTION, TEAM, SHELF = "shared", "team", "shelf"


class QdrantSharedEntries:
    """`prepare` it once, before anything else."""

    def __init__(self, qdrant: Qdrant) -> None:
        self._qdrant = qdrant

    async def prepare(self) -> None:
        await self._qdrant.prepare(COLLECTION, tenants=[TEAM, SHELF])

    async def keep(self, team: str, entries: Sequence[tuple[SharedEntry, Vector]]) -> None:
        shelved = [(Shelf(team, entry.collection), entry, vector) for entry, vector in entries]
        points = [
            PointStruct(
                id=_point(shelf, entry.id),
                vector=vector,
                payload={TEAM: team, SHELF: shelf.tenant, **entry.model_dump(mode="json")},
            )
            for shelf, entry, vector in shelved
        ]
        await self._qdrant.put(COLLECTION, points)

    async def nearest(
        self, team: str, vector: Vector, limit: int, *, collections: Sequence[str] | None = None
    ) -> list[SharedMatch]:
        if collections is None:
            tenants = [is_tenant(TEAM, team)]
        else:
            tenants = [is_tenant(SHELF, Shelf(team, name).tenant) for name in dict.fromkeys(collections)]
        found = await self._qdrant.nearest(COLLECTION, vector, limit, tenants) if tenants else []
        return [SharedMatch(entry=SharedEntry.model_validate(point.payload), score=point.score) for point in found]

    async def remove(self, shelf: Shelf, ids: Sequence[str]) -> int:
        those = HasIdCondition(has_id=[_point(shelf, one) for one in ids])
        return await self._qdrant.delete(COLLECTION, Filter(must=[is_tenant(SHELF, shelf.tenant), those]))

    async def clear(self, shelf: Shelf) -> int:
        return await self._qdrant.delete(COLLECTION, Filter(must=[is_tenant(SHELF, shelf.tenant)]))

    async def clear_team(self, team: str) -> None:
        await self._qdrant.delete(COLLECTION, Filter(must=[is_tenant(TEAM, team)]))


def _point(shelf: Shelf, entry_id: str) -> str:
    return derived_id("shared", shelf.team, shelf.collection, entry_id)
