"""Agents, called in the executor over the bus."""

from rota_common.asking import Ask
from rota_contracts.agent import AgentAnswered, CallAgent
from rota_contracts.catalog import CALL_AGENT

MARGIN_S = 5
"""Waited on top of the call's own limit, so that the executor can say that the limit was reached."""


class BusAgents:
    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def answer(self, call: CallAgent) -> AgentAnswered:
        return await self._ask(CALL_AGENT, call, timeout=call.timeout + MARGIN_S)
