"""The validator's ports without processes and servers, held to the same tests as the real ones."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from rota_contracts.messages.agent import AgentReply, CallAgent
from rota_contracts.messages.text import Text
from validator.kinds import Faulty, Kind, Result, Unusable
from validator.ports import Adapters, Agents


class InMemoryOutputs:
    """Inline outputs alone."""

    async def read(self, text: Text) -> str:
        return text.inline or ""


class InMemoryPatterns:
    """Searches in this process, for as long as it takes."""

    async def search(self, pattern: str, text: str) -> bool:
        try:
            return re.search(pattern, text) is not None
        except re.error as error:
            raise Faulty(f"the pattern can't be used: it is no regular expression: {error}") from error


class ScriptedScripts:
    """Functions in place of files; each takes the object that a script reads."""

    def __init__(self, scripts: Mapping[str, Callable[[Any], Result]] | None = None) -> None:
        self._scripts = scripts or {}

    async def run(self, name: str, given: str) -> Result:
        if name not in self._scripts:
            raise Faulty(f"there is no {name}.py: add it")
        try:
            return self._scripts[name](json.loads(given))
        except Exception as error:  # whatever is wrong with it, the rule fails
            raise Unusable(f"the script failed: {type(error).__name__}: {error}") from error


class ScriptedAgents:
    """Every agent returns the same answer, unless `by_agent` has one of its own; `calls` are all calls. `CHECK` in an
    answer is the check of the call, and an answer that begins with a verdict repeats it."""

    def __init__(self, content: str = "", *, error: str = "", by_agent: Mapping[str, str] | None = None) -> None:
        self._content, self._error = content, error
        self._by_agent = by_agent or {}
        self.calls: list[CallAgent] = []

    async def answer(self, call: CallAgent) -> AgentReply:
        self.calls.append(call)
        content = self._by_agent.get(call.assistant_id, self._content)
        check = str(call.metadata.get("check"))
        if content.startswith('{"passed"'):
            content = content.replace("{", f'{{"check": "{check}", ', 1)
        content = content.replace("CHECK", check)
        return AgentReply(agent_id=call.assistant_id, content=content, error=self._error)


def in_memory(
    *,
    agents: Agents | None = None,
    scripts: Mapping[str, Callable[[Any], Result]] | None = None,
    plugins: Mapping[str, Kind] | None = None,
) -> Adapters:
    return Adapters(
        outputs=InMemoryOutputs(),
        patterns=InMemoryPatterns(),
        scripts=ScriptedScripts(scripts),
        agents=agents or ScriptedAgents(),
        plugins=plugins or {},
    )
