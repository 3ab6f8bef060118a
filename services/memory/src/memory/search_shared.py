"""What does this team know of that?"""

from memory.domain import fitting, searchable
from memory.ports import Embedder, SharedKnowledge
from rota_contracts.memory import SearchShared, SharedSearched


class SearchSharedEntries:
    def __init__(self, shared: SharedKnowledge, embedder: Embedder) -> None:
        self._shared, self._embedder = shared, embedder

    async def __call__(self, asked: SearchShared) -> SharedSearched:
        collections = searchable(asked.collections) or None
        if not asked.query.strip():
            return SharedSearched()
        (vector,) = await self._embedder.embed([asked.query])
        found = await self._shared.nearest(asked.team_id, vector, asked.limit, collections=collections)
        return SharedSearched(entries=fitting(found))
