"""The end of files that people have with agents: with the person, or with the team's own agent."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from rota_common.bus.rpc import Ask
from rota_common.errors import Transient
from rota_contracts.catalog import FORGET_FILES
from rota_contracts.messages.workspace import ForgetFiles
from trigger_gateway import rpc


@dataclass(frozen=True, kw_only=True)
class EndFiles:
    ask: Ask
    log: Any

    @asynccontextmanager
    async def __call__(
        self, team: str, *, person: str | None = None, agents: Sequence[str] = ()
    ) -> AsyncIterator[None]:
        """Remove the files before the end of their owner, which is the body, and what is written meanwhile after it.
        Raise Transient before the body while the memory doesn't answer."""
        if person is None and not agents:
            yield
            return
        wanted = ForgetFiles(team_id=team, member_id=person, agent_ids=[*agents])
        await rpc.call(self.ask, FORGET_FILES, wanted)
        yield
        try:
            await rpc.call(self.ask, FORGET_FILES, wanted)
        except Transient as error:
            self.log.warning("what was written meanwhile may be left", team=team, person=person, reason=str(error))
