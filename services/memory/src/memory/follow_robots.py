"""A robot's knowledge base comes with the robot and goes with it (LE-04, LE-07)."""

from datetime import datetime

from memory.domain import Owner
from memory.ports import Knowledge, KnowledgeBases


class FollowRobots:
    def __init__(self, knowledge: Knowledge, bases: KnowledgeBases) -> None:
        self._knowledge, self._bases = knowledge, bases

    async def changed(self, owner: Owner, *, rev: int, at: datetime) -> None:
        await self._bases.opened(owner, rev=rev, at=at)

    async def deleted(self, owner: Owner, *, rev: int, at: datetime) -> None:
        """Noted first, then removed: `remember` relies on the order. A robot made anew since keeps what it learnt."""
        await self._bases.closed(owner, rev=rev, at=at)
        await self._knowledge.clear(owner, up_to_rev=rev)
