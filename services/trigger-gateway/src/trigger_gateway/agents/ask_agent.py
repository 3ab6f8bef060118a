"""Asks an agent in its team's share of calls, for a whole answer."""

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
        question, reply = await self.reply(team, call)
        if reply.error:
            raise Failed("no_answer", f"agent {call.agent} has no answer: {reply.error}")
        return question, reply

    async def reply(self, team: str, call: AgentCall) -> tuple[CallAgent, AgentReply]:
        """As `__call__`; what the agent or its model got wrong is in the reply, as `error`."""
        question = await self.call_agent.prepare(team, call)
        with self.share.held(team):
            return question, await self.call_agent.answer(question)
