"""What does this team know of that?"""

from memory.domain import fitting, searchable
from memory.ports import Embedder, SharedKnowledge
from rota_contracts.messages.memory import SearchShared, SearchSharedReply


class SearchSharedEntries:
    def __init__(self, shared: SharedKnowledge, embedder: Embedder) -> None:
        self._shared, self._embedder = shared, embedder

    async def __call__(self, asked: SearchShared) -> SearchSharedReply:
        collections = searchable(asked.collections) or None
        if not asked.query.strip():
            return SearchSharedReply()
        (vector,) = await self._embedder.embed([asked.query])
        found = await self._shared.nearest(asked.team_id, vector, asked.limit, collections=collections)
        return SearchSharedReply(entries=fitting(found))
