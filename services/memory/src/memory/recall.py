"""What does this robot know of that, and what the team's collections that it may look into?"""

from datetime import datetime

from memory.domain import Owner, fitting, searchable
from memory.ports import Embedder, Knowledge, Robots, SharedKnowledge
from rota_common.clock import Clock
from rota_contracts.messages.memory import Recall, RecallReply


class RecallEntries:
    def __init__(
        self, knowledge: Knowledge, shared: SharedKnowledge, robots: Robots, embedder: Embedder, clock: Clock
    ) -> None:
        self._knowledge, self._shared, self._robots = knowledge, shared, robots
        self._embedder, self._clock = embedder, clock

    async def __call__(self, asked: Recall) -> RecallReply:
        collections = searchable(asked.collections)
        if not asked.query.strip():
            return RecallReply()
        (vector,) = await self._embedder.embed([asked.query])
        owner = Owner(asked.team_id, asked.member_id)
        entries = await self._knowledge.nearest(owner, vector, asked.limit, since=await self._kept_since(owner))
        shared = await self._shared.nearest(owner.team, vector, asked.shared_limit, collections=collections)
        return RecallReply(entries=fitting(entries), shared=fitting(shared))

    async def _kept_since(self, owner: Owner) -> datetime | None:
        """What is older is kept no longer (LE-06), also before anybody removes it."""
        robot = await self._robots.find(owner.team, owner.member)
        return robot.robot_config.learn.kept_since(self._clock()) if robot else None
