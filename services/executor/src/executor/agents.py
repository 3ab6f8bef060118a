"""Agents are prompt files: a front matter in YAML, then the system prompt, with `$placeholders`."""

from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import Any

import yaml

BUILT_IN = Path(__file__).parent / "agents"
FENCE = "---"


class AgentFileError(ValueError):
    """A prompt file can't be read; names the file."""


@dataclass(frozen=True)
class Agent:
    """`prompt` is its system prompt; `connector` the model it wants, if not the default one."""

    id: str
    prompt: Template
    connector: str = ""
    options: dict[str, Any] = field(default_factory=dict)

    def system_prompt(self, values: dict[str, str]) -> str:
        """The prompt with its placeholders filled; one that isn't known stays as it is."""
        return self.prompt.safe_substitute(values).strip()


class Agents:
    """The built-in agents, and those of a folder, which come first: `<id>.md`."""

    def __init__(self, folder: Path | None = None) -> None:
        self._agents = {agent.id: agent for agent in _load(BUILT_IN)}
        if folder is not None:
            self._agents |= {agent.id: agent for agent in _load(folder)}

    def find(self, agent_id: str) -> Agent | None:
        return self._agents.get(agent_id)

    def assistant(self, agent_id: str) -> Agent:
        """An assistant for a task: its own file, or the general one, which is told its name."""
        return self._agents.get(agent_id) or self._agents["rota.run"]


def _load(folder: Path) -> list[Agent]:
    if not folder.is_dir():
        raise AgentFileError(f"expected a folder of agent files (*.md), there is none at {folder}")
    return [
        parse(path.name.removesuffix(".md"), path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.md"))
    ]


def parse(agent_id: str, text: str) -> Agent:
    """An agent from the text of its file. Raises AgentFileError."""
    front: Any = {}
    if text.startswith(FENCE):
        _, head, text = text.split(FENCE, 2) if text.count(FENCE) >= 2 else ("", "", text)
        try:
            front = yaml.safe_load(head) or {}
        except yaml.YAMLError as error:
            raise AgentFileError(f"the front matter of {agent_id}.md is not YAML: {error}") from error
    if not isinstance(front, dict):
        raise AgentFileError(f"expected the front matter of {agent_id}.md to be a mapping")
    options = front.get("options") or {}
    return Agent(agent_id, Template(text), str(front.get("connector") or ""), options)
