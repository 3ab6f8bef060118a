"""Removes entries of a robot, or all, or those of them that are older than an instant."""

from memory.domain import Owner
from memory.ports import Knowledge
from rota_contracts.messages.memory import Forget, ForgetReply


class ForgetEntries:
    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge

    async def __call__(self, asked: Forget) -> ForgetReply:
        owner = Owner(asked.team_id, asked.member_id)
        if asked.ids is None:
            return ForgetReply(count=await self._knowledge.clear(owner, before=asked.before))
        return ForgetReply(count=await self._knowledge.remove(owner, asked.ids, before=asked.before))
