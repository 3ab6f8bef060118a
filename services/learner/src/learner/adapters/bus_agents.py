"""Agents, called in the executor over the bus."""

from rota_common.bus.agents import call_agent
from rota_common.bus.rpc import Ask
from rota_contracts.messages.agent import AgentReply, CallAgent


class BusAgents:
    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def answer(self, call: CallAgent) -> AgentReply:
        return await call_agent(self._ask, call)
