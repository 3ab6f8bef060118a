"""What does this robot know of that, and what the team's collections that it may look into?"""

from memory.domain import Owner, fitting, searchable
from memory.ports import Embedder, Knowledge, SharedKnowledge
from rota_contracts.memory import Recall, Recalled


class RecallEntries:
    def __init__(self, knowledge: Knowledge, shared: SharedKnowledge, embedder: Embedder) -> None:
        self._knowledge, self._shared, self._embedder = knowledge, shared, embedder

    async def __call__(self, asked: Recall) -> Recalled:
        collections = searchable(asked.collections)
        if not asked.query.strip():
            return Recalled()
        (vector,) = await self._embedder.embed([asked.query])
        owner = Owner(asked.team_id, asked.member_id)
        entries = await self._knowledge.nearest(owner, vector, asked.limit)
        shared = await self._shared.nearest(owner.team, vector, asked.shared_limit, collections=collections)
        return Recalled(entries=fitting(entries), shared=fitting(shared))
