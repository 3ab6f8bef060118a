"""What the validator needs of the outside world."""

from typing import Protocol

from rota_contracts.messages.agent import AgentReply, CallAgent
from rota_contracts.messages.text import Text
from validator.kinds import Result


class Outputs(Protocol):
    """Where outputs too long for a message lie."""

    async def read(self, text: Text) -> str:
        """The whole text. Raises Permanent when what is stored isn't what was kept."""
        ...


class Patterns(Protocol):
    """Regular expressions from outside, which may be wrong or run for ever."""

    async def search(self, pattern: str, text: str) -> bool:
        """Does `re.search` find `pattern` in `text`? Raises Faulty for a wrong pattern, Unusable for one too slow."""
        ...


class Scripts(Protocol):
    """Checks that whoever runs Rota has written."""

    async def run(self, name: str, given: str) -> Result:
        """What the script says of `given`, a JSON text. Raises Faulty when there is no such script, Unusable when it
        fails, takes too long or says something else than it should."""
        ...


class Agents(Protocol):
    """The agents, which live in the executor."""

    async def answer(self, call: CallAgent) -> AgentReply:
        """Raises Transient when the executor can't be reached, Permanent when it refuses the call."""
        ...
