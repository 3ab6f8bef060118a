"""Agents: called in the executor over the bus."""

from dataclasses import dataclass

from rota_common.bus.rpc import Ask, call_long
from rota_common.errors import Transient
from rota_contracts.catalog import CALL_AGENT
from rota_contracts.messages.agent import AgentReply, CallAgent

MARGIN_S = 5
"""Waited on top of a call's own limit, so that the executor can report that the limit was reached."""


async def call_agent(ask: Ask, call: CallAgent) -> AgentReply:
    """An agent's answer, from any replica of the executor."""
    return await call_long(ask, CALL_AGENT, call, timeout=call.timeout + MARGIN_S)


@dataclass(frozen=True)
class NatsAgents:
    """The port `Agents` of the services. `unavailable` replaces the reason of a Transient where users read it."""

    ask: Ask
    unavailable: str = ""

    async def answer(self, call: CallAgent) -> AgentReply:
        """Raises Transient when the executor can't be reached, Permanent when it refuses the call."""
        try:
            return await call_agent(self.ask, call)
        except Transient as error:
            if self.unavailable:
                raise Transient(self.unavailable) from error
            raise
