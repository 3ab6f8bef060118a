"""The validator's ports without processes and servers, held to the same tests as the real ones."""

import re

from rota_contracts.agent import AgentAnswered, CallAgent
from rota_contracts.text import Text
from validator.assertions import Unusable


class InlineOutputs:
    """Outputs that came with their message."""

    async def read(self, text: Text) -> str:
        return text.inline or ""


class InlinePatterns:
    """Searches in this process, for as long as it takes."""

    async def search(self, pattern: str, text: str) -> bool:
        try:
            return re.search(pattern, text) is not None
        except re.error as error:
            raise Unusable(f"the pattern can't be used: it is no regular expression: {error}") from error


class SayingAgents:
    """Every agent says the same; `calls` is what was asked."""

    def __init__(self, content: str = "", *, error: str = "") -> None:
        self._content, self._error = content, error
        self.calls: list[CallAgent] = []

    async def answer(self, call: CallAgent) -> AgentAnswered:
        self.calls.append(call)
        return AgentAnswered(agent_id=call.assistant_id, content=self._content, error=self._error)
