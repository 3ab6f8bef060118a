"""Keeps entries, unless their robot is gone."""

from memory.domain import Owner, acceptable, outlived, revision
from memory.ports import Embedder, Knowledge, KnowledgeBases, Robots
from rota_contracts.messages.memory import Remember, RememberReply


class RememberEntries:
    def __init__(self, knowledge: Knowledge, bases: KnowledgeBases, robots: Robots, embedder: Embedder) -> None:
        self._knowledge, self._bases, self._robots, self._embedder = knowledge, bases, robots, embedder

    async def __call__(self, asked: Remember) -> RememberReply:
        owner = Owner(asked.team_id, asked.member_id)
        rev = revision(await self._robots.find(owner.team, owner.member))
        entries = acceptable(asked.entries, rev, await self._bases.find(owner))
        if not entries or rev is None:
            return RememberReply(count=0)
        vectors = await self._embedder.embed([entry.content for entry in entries])
        await self._knowledge.keep(owner, list(zip(entries, vectors, strict=True)), rev=rev)
        # The robot may have been deleted since we looked. Its end is noted before its entries are removed: either the
        # note is there now and we remove ours, or the removal is still to come and finds them.
        if outlived(await self._bases.find(owner), rev):
            await self._knowledge.remove(owner, [entry.id for entry in entries])
            return RememberReply(count=0)
        return RememberReply(count=len(entries))
