"""Removes entries of a team's shared collection, or the whole collection."""

from memory.domain import Shelf
from memory.ports import SharedKnowledge
from rota_contracts.memory import Forgotten, Unshare


class UnshareEntries:
    def __init__(self, shared: SharedKnowledge) -> None:
        self._shared = shared

    async def __call__(self, asked: Unshare) -> Forgotten:
        shelf = Shelf(asked.team_id, asked.collection)
        if asked.ids is None:
            return Forgotten(count=await self._shared.clear(shelf))
        return Forgotten(count=await self._shared.remove(shelf, asked.ids))
