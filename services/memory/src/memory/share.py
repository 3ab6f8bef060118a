"""Keeps entries in a team's shared collections (EX-27)."""

from memory.domain import newest
from memory.ports import Embedder, SharedKnowledge
from rota_contracts.messages.memory import Share, ShareReply


class ShareEntries:
    def __init__(self, shared: SharedKnowledge, embedder: Embedder) -> None:
        self._shared, self._embedder = shared, embedder

    async def __call__(self, asked: Share) -> ShareReply:
        entries = newest(asked.entries)
        vectors = await self._embedder.embed([f"{entry.title}\n{entry.content}".strip() for entry in entries])
        await self._shared.keep(asked.team_id, list(zip(entries, vectors, strict=True)))
        return ShareReply(count=len(entries))
