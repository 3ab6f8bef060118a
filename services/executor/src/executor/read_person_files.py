"""The files of the person who calls an agent: read once for a call, and kept with it, so that a repeat reads the same.

They are the person's own words, like the messages of the call: they stand before these, as a user's, never in the
system prompt. What the operator says there goes before.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from executor.agents.context_files import BOOTSTRAP, INSTRUCTIONS, ContextFiles
from executor.agents.prompt_files import Agent
from executor.call_port import Calls
from rota_common.bus.rpc import Ask
from rota_common.errors import Permanent
from rota_common.material import joined, tagged
from rota_contracts.catalog import READ_FILE, SEED_FILES
from rota_contracts.messages.agent import CallAgent
from rota_contracts.messages.execution import excerpt
from rota_contracts.messages.trigger import Message
from rota_contracts.messages.workspace import (
    PERSONAL_FILES,
    PERSONAL_LIMIT,
    USER_FILE,
    FileRefusal,
    ReadFile,
    SeedFiles,
)

KEPT_AS = "person-files"

ABOUT = "What I want you to know of me, and how I want you to work for me, as far as your own rules allow it:"
FIRST = f"Before anything else, do what {BOOTSTRAP} says."

OfPerson = Callable[[CallAgent, Agent], Awaitable[tuple[Agent, Sequence[Message]]]]
"""The agent with what is left of its own files, and what the person's say."""


async def no_person(request: CallAgent, agent: Agent) -> tuple[Agent, Sequence[Message]]:
    return agent, ()


@dataclass(frozen=True, kw_only=True)
class ReadPersonFiles:
    ask: Ask
    calls: Calls

    async def __call__(self, request: CallAgent, agent: Agent) -> tuple[Agent, Sequence[Message]]:
        """Raise Transient while the memory is away, Permanent for what can't be kept."""
        if request.user_id is None:
            return agent, ()
        kept = await self.calls.kept(request.call_id, KEPT_AS)
        if kept is None:
            read = self._open if is_open(agent) else self._predefined
            files = json.dumps(await read(request.team_id, request.user_id, agent), ensure_ascii=False)
            kept = await self.calls.keep(request.call_id, KEPT_AS, files, team=request.team_id)
        return with_files(agent, json.loads(kept))

    async def _predefined(self, team: str, person: str, agent: Agent) -> Mapping[str, str]:
        wanted = ReadFile(team_id=team, member_id=person, agent_id=agent.id, path=USER_FILE)
        read = await self.ask(READ_FILE, wanted)
        if read.refused is not None and read.refused is not FileRefusal.NOT_FOUND:
            raise Permanent(read.reason)
        return {} if read.content is None else {USER_FILE: read.content}

    async def _open(self, team: str, person: str, agent: Agent) -> Mapping[str, str]:
        wanted = SeedFiles(team_id=team, member_id=person, agent_id=agent.id, files=templates(agent))
        seeded = await self.ask(SEED_FILES, wanted)
        if seeded.refused is not None:
            raise Permanent(f"the files of {person} can't be kept: {seeded.reason}")
        return seeded.files


def is_open(agent: Agent) -> bool:
    return agent.card is not None and agent.card.context == "open"


def templates(agent: Agent) -> dict[str, str]:
    """What a person's files begin as. The agent's instructions aren't among them: they hold for everybody."""
    own = agent.files.texts
    return {name: excerpt(own[name], PERSONAL_LIMIT) for name in PERSONAL_FILES if name in own and name != INSTRUCTIONS}


def with_files(agent: Agent, files: Mapping[str, str]) -> tuple[Agent, Sequence[Message]]:
    """The person's files in place of the agent's: all that a person may have of an open agent, else those that are
    there."""
    theirs = PERSONAL_FILES if is_open(agent) else files
    own = {name: text for name, text in agent.files.texts.items() if name not in theirs}
    if len(own) < len(agent.files.texts):
        agent = replace(agent, files=ContextFiles(own))
    said = [tagged(name, files.get(name, "")) for name in PERSONAL_FILES]
    if not any(said):
        return agent, ()
    last = FIRST if files.get(BOOTSTRAP, "").strip() else ""
    return agent, [Message(role="user", content=joined(ABOUT, *said, last))]
