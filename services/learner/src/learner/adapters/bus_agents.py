"""Agents, called in the executor over the bus."""

from rota_common.asking import Ask
from rota_common.patience import call_agent
from rota_contracts.agent import AgentAnswered, CallAgent


class BusAgents:
    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def answer(self, call: CallAgent) -> AgentAnswered:
        return await call_agent(self._ask, call)
