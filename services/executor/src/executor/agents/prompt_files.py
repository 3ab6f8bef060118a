"""Agents are prompt files: a front matter in YAML, then the system prompt, with `$placeholders`; or folders of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from string import Template
from typing import Any

import yaml

from executor.agents import context_files
from executor.agents.context_files import INSTRUCTIONS, ContextFileError, ContextFiles
from executor.agents.operator_files import ALL_TEAMS, Teams, allows, teams_of
from executor.domain.conversation.chat import Tool
from rota_contracts.messages.agent import DEFAULT_TIMEOUT_S
from rota_contracts.robots.autonomy import Autonomy

BUILT_IN = Path(__file__).parent
FENCE = "---"
FRONT = ("teams", "connector", "options", "max_iterations", "timeout", "tools", "description", "autonomy", "calls")
CALLS = ("parallel", "serial")
MAX_ITERATIONS = 100
LONGEST_S = 3_600


class AgentFileError(ValueError):
    """A prompt file can't be read; names the file."""


@dataclass(frozen=True)
class Agent:
    """`prompt` is its system prompt; `connector` the model it wants, if not the default one.

    `tools` are the ones it may use of those that its robot may use, by their names or their servers'; None = all.
    `max_iterations`: how often it may use tools in one turn; None = the usual. `teams` may use it.
    `description`: what it is good at, in a line, for planners. `files`: the others of its folder.
    `timeout`: seconds of one answer of its model; a turn has up to four times as many. `autonomy`: the stricter of this
    and its robot's holds. `serial`: the calls of one answer are made one after the other.
    """

    id: str
    prompt: Template
    connector: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    max_iterations: int | None = None
    tools: frozenset[str] | None = None
    teams: Teams = ALL_TEAMS
    description: str = ""
    files: ContextFiles = field(default_factory=ContextFiles)
    timeout: float = DEFAULT_TIMEOUT_S
    autonomy: Autonomy | None = None
    serial: bool = False

    def may_use(self, tool: Tool) -> bool:
        return self.tools is None or not self.tools.isdisjoint((tool.name, tool.server))

    def system_prompt(self, values: dict[str, str]) -> str:
        """The prompt with its placeholders filled; one that isn't known stays as it is."""
        return self.prompt.safe_substitute(values).strip()


class Agents:
    """The built-in agents, and those of a folder, which come first for the teams that may use them:
    `<id>.md`, or `<id>/AGENTS.md` beside other files of context."""

    def __init__(self, folder: Path | None = None) -> None:
        self._built_in = {agent.id: agent for agent in _load(BUILT_IN, teams=ALL_TEAMS)}
        self._own = {agent.id: agent for agent in _load(folder)} if folder is not None else {}

    def find(self, agent_id: str, *, team: str) -> Agent | None:
        own = self._own.get(agent_id)
        return own if own is not None and allows(own.teams, team) else self._built_in.get(agent_id)

    def assistant(self, agent_id: str, *, team: str) -> Agent:
        """An assistant for a task: its own file, or the general one under its name."""
        found = self.find(agent_id, team=team) or self.find("rota.run", team=team)
        return found or self._built_in["rota.run"]

    def is_built_in(self, agent: Agent) -> bool:
        """Is it of the platform as it is, with no file of the operator's in its place?"""
        return self._built_in.get(agent.id) is agent

    def about(self, agent_ids: Iterable[str], *, team: str) -> dict[str, str]:
        """The descriptions of these assistants; of one without a file of its own there is none."""
        found = {agent_id: self.find(agent_id, team=team) for agent_id in agent_ids}
        return {agent_id: agent.description for agent_id, agent in found.items() if agent and agent.description}


def _load(folder: Path, *, teams: Teams | None = None) -> list[Agent]:
    """`teams`: of all of them, in place of what the files say."""
    if not folder.is_dir():
        raise AgentFileError(f"expected a folder of agent files (*.md), there is none at {folder}")
    files = [
        parse(path.name.removesuffix(".md"), path.read_text(encoding="utf-8"), teams=teams)
        for path in sorted(folder.glob("*.md"))
    ]
    folders = [_of_folder(path.parent, teams) for path in sorted(folder.glob(f"*/{INSTRUCTIONS}"))]
    for twice in sorted({agent.id for agent in files} & {agent.id for agent in folders}):
        raise AgentFileError(f"agent {twice} is there twice: expected {twice}.md or {twice}/{INSTRUCTIONS}")
    return [*files, *folders]


def _of_folder(folder: Path, teams: Teams | None) -> Agent:
    agent = parse(folder.name, (folder / INSTRUCTIONS).read_text(encoding="utf-8"), teams=teams)
    try:
        return replace(agent, files=context_files.read(folder))
    except ContextFileError as error:
        raise AgentFileError(str(error)) from error


def parse(agent_id: str, text: str, *, teams: Teams | None = None) -> Agent:
    """An agent from the text of its file. Raises AgentFileError."""
    head, prompt = _halves(agent_id, text)
    try:
        front: Any = yaml.safe_load(head) or {}
    except yaml.YAMLError as error:
        raise AgentFileError(f"the front matter of {agent_id}.md is not YAML: {error}") from error
    if not isinstance(front, dict):
        raise AgentFileError(f"expected the front matter of {agent_id}.md to be a mapping, got {front!r}")
    if unknown := sorted(map(str, front.keys() - FRONT)):
        raise AgentFileError(f"the front matter of {agent_id}.md may have {', '.join(FRONT)}, not {', '.join(unknown)}")
    options = front.get("options") or {}
    if not isinstance(options, dict):
        raise AgentFileError(f"expected options in the front matter of {agent_id}.md to be a mapping, got {options!r}")
    connector = str(front.get("connector") or "")
    iterations, tools = _iterations(agent_id, front), _tools(agent_id, front)
    timeout = _timeout(agent_id, front)
    return Agent(
        agent_id,
        Template(prompt),
        connector,
        options,
        iterations,
        tools,
        teams or _named_teams(agent_id, front),
        " ".join(str(front.get("description") or "").split()),
        timeout=timeout,
        autonomy=_autonomy(agent_id, front),
        serial=_one_of(agent_id, front, "calls", CALLS, default=CALLS[0]) == "serial",
    )


def _iterations(agent_id: str, front: dict[str, Any]) -> int | None:
    given = front.get("max_iterations")
    if given is None or (type(given) is int and 1 <= given <= MAX_ITERATIONS):
        return given
    raise AgentFileError(
        f"expected max_iterations in the front matter of {agent_id}.md to be 1 to {MAX_ITERATIONS}, got {given!r}"
    )


def _timeout(agent_id: str, front: dict[str, Any]) -> float:
    given = front.get("timeout", DEFAULT_TIMEOUT_S)
    if type(given) in (int, float) and 0 < given <= LONGEST_S:
        return float(given)
    raise AgentFileError(
        f"expected timeout in the front matter of {agent_id}.md to be seconds, up to {LONGEST_S}, got {given!r}"
    )


def _autonomy(agent_id: str, front: dict[str, Any]) -> Autonomy | None:
    given = _one_of(agent_id, front, "autonomy", [*Autonomy], default="")
    return Autonomy(given) if given else None


def _one_of(agent_id: str, front: dict[str, Any], name: str, known: Sequence[str], *, default: str) -> str:
    given = front.get(name, default)
    if given == default or given in known:
        return str(given)
    wanted = ", ".join(known)
    raise AgentFileError(f"expected {name} in the front matter of {agent_id}.md to be one of {wanted}, got {given!r}")


def _named_teams(agent_id: str, front: dict[str, Any]) -> Teams:
    try:
        return teams_of(front.get("teams"))
    except ValueError as error:
        raise AgentFileError(f"the front matter of {agent_id}.md can't be read: {error}") from error


def _tools(agent_id: str, front: dict[str, Any]) -> frozenset[str] | None:
    given = front.get("tools")
    if given is None:
        return None
    if isinstance(given, list) and all(isinstance(name, str) for name in given):
        return frozenset(given)
    raise AgentFileError(
        f"expected tools in the front matter of {agent_id}.md to be a list of names of tools or servers, got {given!r}"
    )


def _halves(agent_id: str, text: str) -> tuple[str, str]:
    """The front matter, which stands between two lines of `---` at the very top, and the prompt below it."""
    lines = text.splitlines(keepends=True)
    fences = [number for number, line in enumerate(lines) if line.rstrip() == FENCE]
    if not fences or fences[0] != 0:
        return "", text
    if len(fences) == 1:
        raise AgentFileError(f"the front matter of {agent_id}.md has no end: expected a second line {FENCE}")
    return "".join(lines[1 : fences[1]]), "".join(lines[fences[1] + 1 :])
