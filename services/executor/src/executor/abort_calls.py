"""Calls of agents that a team's members and programs have made: those under way, and their abortion."""

from dataclasses import dataclass

from executor.call_port import Calls
from rota_contracts.messages import agent
from rota_contracts.messages.agent import AbortedCalls, CallList, ListCalls


@dataclass(frozen=True, kw_only=True)
class AbortCalls:
    """The replica that works on an aborted call sees it when it renews its claim, and cancels its model's call."""

    calls: Calls

    async def __call__(self, request: agent.AbortCalls) -> AbortedCalls:
        team, chat_id = request.team_id, request.chat_id
        found = await self.calls.under_way(team, chat_id=chat_id)
        wanted = [call for call in found if request.call_id in (None, call.id)]
        return AbortedCalls(aborted=[call.id for call in wanted if await self.calls.abort(call, team=team)])

    async def under_way(self, request: ListCalls) -> CallList:
        return CallList(calls=[*await self.calls.under_way(request.team_id, chat_id=request.chat_id)])
