"""Removes entries of a robot, or all, or those of them that are older than an instant."""

from memory.domain import Owner
from memory.ports import Knowledge
from rota_contracts.memory import Forget, Forgotten


class ForgetEntries:
    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge

    async def __call__(self, asked: Forget) -> Forgotten:
        owner = Owner(asked.team_id, asked.member_id)
        if asked.ids is None:
            return Forgotten(count=await self._knowledge.clear(owner, before=asked.before))
        return Forgotten(count=await self._knowledge.remove(owner, asked.ids, before=asked.before))
