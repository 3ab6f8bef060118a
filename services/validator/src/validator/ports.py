"""The ports of the validator."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from rota_contracts.messages.agent import AgentReply, CallAgent
from rota_contracts.messages.text import Text
from validator.kinds import Kind, Result


class Outputs(Protocol):
    """The store of outputs that are too long for a message."""

    async def read(self, text: Text) -> str:
        """The whole text. Raises Permanent when the stored text is damaged."""
        ...


class Patterns(Protocol):
    """Regular expressions from users: they may be wrong, or run for ever."""

    async def search(self, pattern: str, text: str) -> bool:
        """Does `re.search` find `pattern` in `text`? Raises Faulty for a wrong pattern, Unusable for one too slow."""
        ...


class Scripts(Protocol):
    """Checks written by Rota's operator."""

    async def run(self, name: str, given: str) -> Result:
        """The script's result for `given`, a JSON text. Raises Faulty when there is no such script, Unusable when it
        fails, takes too long or prints anything else than a result."""
        ...


class Agents(Protocol):
    """The agents, which live in the executor."""

    async def answer(self, call: CallAgent) -> AgentReply:
        """Raises Transient when the executor can't be reached, Permanent when it refuses the call."""
        ...


@dataclass(frozen=True, kw_only=True)
class Adapters:
    """`plugins` are the types of assertions that other installed packages bring."""

    outputs: Outputs
    patterns: Patterns
    scripts: Scripts
    agents: Agents
    plugins: Mapping[str, Kind] = field(default_factory=dict)
