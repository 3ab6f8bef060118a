"""Other services in place of the bus: they answer as the test says."""

import contextlib
from collections.abc import AsyncIterator

from rota_contracts.messages.agent import AgentReply, CallAgent
from rota_contracts.messages.execution import TriggerReply
from rota_contracts.messages.provider import AgentCard
from trigger_gateway.runs.ports import Outcome, OutcomeListener


class ScriptedOutcomes:
    """Decides `says` on every trigger, and replies `knows`."""

    def __init__(self, says: Outcome | None = None, knows: TriggerReply | None = None) -> None:
        self.says, self.knows = says, knows

    @contextlib.asynccontextmanager
    async def listen(self, team: str, member: str) -> AsyncIterator[OutcomeListener]:
        yield self

    async def outcome(self, trigger_id: str, *, within: float) -> Outcome | None:
        return self.says

    async def read(self, team: str, trigger_id: str) -> TriggerReply | None:
        return self.knows


class ScriptedAgents:
    """Answers `says` to every message; `calls` are the calls so far."""

    def __init__(self) -> None:
        self.says = AgentReply(agent_id="rota.message", content="Hello.", model="rehearsal")
        self.fails: Exception | None = None
        self.calls: list[CallAgent] = []
        self.has: list[AgentCard] = []

    async def answer(self, call: CallAgent) -> AgentReply:
        self.calls.append(call)
        if self.fails is not None:
            raise self.fails
        return self.says

    async def cards(self, team: str) -> list[AgentCard]:
        return self.has
