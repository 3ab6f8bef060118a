"""Removes entries of a team's shared collection, or the whole collection."""

from memory.domain import Shelf
from memory.ports import SharedKnowledge
from rota_contracts.messages.memory import ForgetReply, Unshare


class UnshareEntries:
    def __init__(self, shared: SharedKnowledge) -> None:
        self._shared = shared

    async def __call__(self, asked: Unshare) -> ForgetReply:
        shelf = Shelf(asked.team_id, asked.collection)
        if asked.ids is None:
            return ForgetReply(count=await self._shared.clear(shelf))
        return ForgetReply(count=await self._shared.remove(shelf, asked.ids))
