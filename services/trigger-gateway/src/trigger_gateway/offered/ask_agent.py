"""Asks an agent in its team's share of calls, and takes an answer alone for one."""

from dataclasses import dataclass

from rota_contracts.messages.agent import AgentReply, CallAgent
from trigger_gateway.agents.call_team_agent import AgentCall, CallTeamAgent
from trigger_gateway.problems import Failed
from trigger_gateway.teams.shares import OpenRequests


@dataclass(frozen=True, kw_only=True)
class AskAgent:
    call_agent: CallTeamAgent
    share: OpenRequests

    async def __call__(self, team: str, call: AgentCall) -> tuple[CallAgent, AgentReply]:
        """The question with its ids, and the answer. Raise what `CallTeamAgent` does, TooMany if the team has its share
        of calls under way, Failed when the agent or its model has no answer."""
        question = await self.call_agent.prepare(team, call)
        with self.share.held(team):
            reply = await self.call_agent.answer(question)
        if reply.error:
            raise Failed("no_answer", f"agent {call.agent} has no answer: {reply.error}")
        return question, reply
