"""What does this robot know of that?"""

from memory.domain import Owner
from memory.ports import Embedder, Knowledge
from rota_contracts.memory import Recall, Recalled


class RecallEntries:
    def __init__(self, knowledge: Knowledge, embedder: Embedder) -> None:
        self._knowledge, self._embedder = knowledge, embedder

    async def __call__(self, asked: Recall) -> Recalled:
        if not asked.query.strip():
            return Recalled()
        (vector,) = await self._embedder.embed([asked.query])
        owner = Owner(asked.team_id, asked.member_id)
        return Recalled(entries=await self._knowledge.nearest(owner, vector, asked.limit))
