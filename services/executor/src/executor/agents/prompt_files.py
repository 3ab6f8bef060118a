"""Agents are prompt files: a front matter in YAML, then the system prompt, with `$placeholders`; or folders of them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from string import Template
from typing import Any

from executor.agents import context_files
from executor.agents.agent_file import AgentFileError, read_file
from executor.agents.context_files import INSTRUCTIONS, ContextFileError, ContextFiles
from executor.agents.operator_files import ALL_TEAMS, EVERY_TEAM, Teams, allows
from executor.agents.platform_file import FILE, PlatformFile, read_platform
from executor.agents.skill_files import Skills
from executor.domain.conversation.chat import BUILT_IN as PLATFORM_TOOLS
from executor.domain.conversation.chat import Tool
from executor.domain.hooks.own_hooks import NO_HOOKS, OwnHooks
from executor.domain.skills import reads_skills
from executor.domain.used_tools import gives
from executor.domain.uses import EXPECTED, NO_USES, ByAgent, ByTool, Provider, Uses, UsesError, merged, read_uses
from rota_contracts.agent_ids import PLATFORM, platform_name
from rota_contracts.definitions.agent import AgentDefinition
from rota_contracts.messages.agent import DEFAULT_TIMEOUT_S
from rota_contracts.messages.provider import AgentCard, ConnectorOptions
from rota_contracts.robots.autonomy import Autonomy
from rota_contracts.robots.robot import Robot

BUILT_IN = Path(__file__).parent


@dataclass(frozen=True)
class Agent:
    """`prompt` is its system prompt; `connector` the model it wants, if not the default one.

    `tools` are the ones it may use of those that its robot may use, by their names or their servers', and `servers` the
    MCP servers, each with its tools; None = all. `max_iterations`: how often it may use tools in one turn; None = the
    usual. `teams` may use it.
    `description`: what it is good at, in a line, for planners. `files`: the others of its folder.
    `timeout`: seconds of one answer of its model; a turn has up to four times as many. `autonomy`: the stricter of this
    and its robot's holds. `serial`: the calls of one answer are made one after the other. `card`: as teams see it.
    `uses`: who does what for it; tools that they give are beside `tools` and `servers`. `hooks`: processes of the team
    that are asked before its model and after it. `skills`: the names of those that it reads.
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
    servers: Mapping[str, frozenset[str] | None] | None = None
    card: AgentCard | None = None
    uses: Uses = NO_USES
    hooks: OwnHooks = NO_HOOKS
    skills: tuple[str, ...] = ()

    @property
    def connector_options(self) -> ConnectorOptions:
        """The connectors that its callers may choose."""
        return self.card.connector_options if self.card else ConnectorOptions()

    def may_use(self, tool: Tool) -> bool:
        if gives(self.uses, tool) or (self.skills and reads_skills(tool)):
            return True
        named = self.tools is None or not self.tools.isdisjoint((tool.name, tool.server))
        if self.servers is None or tool.server == PLATFORM_TOOLS:
            return named
        if tool.server not in self.servers:
            return False
        tools = self.servers[tool.server]
        return named and (tools is None or tool.tool in tools)

    def system_prompt(self, values: dict[str, str]) -> str:
        """The prompt with its placeholders filled; one that isn't known stays as it is."""
        return self.prompt.safe_substitute(values).strip()


NONE: Mapping[str, Agent] = {}


class Agents:
    """The built-in agents, and those of a folder, which come first for the teams that may use them:
    `<id>.md`, or `<id>/AGENTS.md` beside other files of context. `__yao.` is an alias of `rota.`, as in robots.
    What their files leave open, `agent.yml` of the folder decides."""

    def __init__(self, folder: Path | None = None, *, environ: Mapping[str, str] | None = None) -> None:
        built_in = _load(BUILT_IN, {}, teams=ALL_TEAMS)
        own = _load(folder, environ or {}) if folder is not None else []
        names = frozenset(agent.id.removeprefix(PLATFORM) for agent in built_in)
        self._platform = read_platform(folder, environ or {}, system=names)
        self._said = [(FILE, self._platform.uses, ALL_TEAMS), *((f"{one.id}.md", one.uses, one.teams) for one in own)]
        self._built_in = {agent.id: _under(self._platform, agent) for agent in built_in}
        self._own = {agent.id: _under(self._platform, agent) for agent in own}
        self._check_agents()

    def check_means(self, connectors: Collection[str], servers: Mapping[str, Teams] | None) -> None:
        """Raise AgentFileError for a connector of a file, or a server of `uses`, that isn't there; `servers` None: they
        aren't known."""
        self._check_connectors(connectors)
        for name, connector in self._platform.system.items():
            if connector not in connectors:
                known = ", ".join(sorted(connectors))
                raise AgentFileError(f"system.{name} in {FILE}: expected one of {known}, got {connector!r}")
        for where, service, provider, teams in self._providers():
            if servers is None or not isinstance(provider, ByTool):
                continue
            for team in sorted(teams):
                if not allows(servers.get(provider.server, frozenset()), team):
                    raise AgentFileError(
                        f"uses.{service} in {where}: there is no MCP server {provider.server} for {_shown(team)}: add "
                        f"{provider.server}.yaml to the folder of ROTA_MCP_DIR, or name the team in it"
                    )

    def check_skills(self, skills: Skills) -> None:
        """Raise AgentFileError for a skill of a file that isn't there for all its teams."""
        for agent in self._own.values():
            for team in sorted(agent.teams):
                if away := {*agent.skills} - {skill.name for skill in skills.of(team)}:
                    mend = "add skills/<name>/SKILL.md beside it, or name the team there"
                    raise AgentFileError(
                        f"skills in {agent.id}.md: there is no skill {min(away)} for {_shown(team)}: {mend}"
                    )

    def _check_connectors(self, known: Collection[str]) -> None:
        for agent in self._own.values():
            named = [*filter(None, [agent.connector]), *agent.connector_options.connectors]
            if unknown := [name for name in named if name not in known]:
                expected = f"connectors, of {', '.join(sorted(known))}"
                raise AgentFileError(f"expected agent {agent.id} to name {expected}, got {', '.join(unknown)}")

    def _check_agents(self) -> None:
        for where, service, provider, teams in self._providers():
            if not isinstance(provider, ByAgent):
                continue
            for team in sorted(teams):
                if self.of(team).find(provider.agent_id) is None:
                    raise AgentFileError(
                        f"uses.{service} in {where}: there is no agent {provider.agent_id} for {_shown(team)}: "
                        f"expected {EXPECTED}; an agent is {provider.agent_id}.md beside it, and names its teams"
                    )

    def _providers(self) -> Iterable[tuple[str, str, Provider, Teams]]:
        """All that files say of `uses`: where, of which service, who does it, and for which teams."""
        for where, uses, teams in self._said:
            for service, provider in uses.providers():
                yield where, service, provider, teams

    def of(self, team: str, own: Mapping[str, Agent] = NONE) -> "TeamAgents":
        """Those of the platform that this team may use, and its `own`; what the platform has goes before."""
        mine = {agent_id: _under(self._platform, agent) for agent_id, agent in own.items()}
        return TeamAgents(team, self._built_in, self._own, mine)


@dataclass(frozen=True)
class TeamAgents:
    """The agents of one team: the built-in ones, the operator's `files`, and its `own`."""

    team: str
    built_in: Mapping[str, Agent]
    files: Mapping[str, Agent]
    own: Mapping[str, Agent] = field(default_factory=dict)

    def find(self, agent_id: str) -> Agent | None:
        return self.of_platform(agent_id) or self.own.get(agent_id)

    def of_platform(self, agent_id: str) -> Agent | None:
        agent_id = platform_name(agent_id)
        file = self.files.get(agent_id)
        return file if file is not None and allows(file.teams, self.team) else self.built_in.get(agent_id)

    def assistant(self, agent_id: str) -> Agent:
        """An assistant for a task: its own file or definition, or the general one under its name."""
        found = self.find(agent_id) or self.find("rota.run")
        return found or self.built_in["rota.run"]

    def serves(self, robot: Robot, agent_id: str) -> bool:
        """Is this an agent that one of the robot's own uses?"""
        phases = [robot.phase_agent(name) for name in robot.robot_config.resources.phases]
        names = [*robot.allowed_agents(), *phases, *self.built_in]
        found = [self.assistant(name) for name in names]
        wanted = ByAgent(platform_name(agent_id))
        return any(provider == wanted for one in found for _, provider in one.uses.providers())

    def is_built_in(self, agent: Agent) -> bool:
        """Is it of the platform as it is, with no file of the operator's in its place?"""
        return self.built_in.get(agent.id) is agent

    def cards(self, tags: Sequence[str] = ()) -> Sequence[AgentCard]:
        """Those that the team may use, with all of these tags; by their `sort`, then by id."""
        mine = (self.find(agent_id) for agent_id in {**self.built_in, **self.files, **self.own})
        shown = (
            agent.card.model_copy(update={"built_in": self.is_built_in(agent)})
            for agent in mine
            if agent is not None and agent.card is not None and {*tags} <= {*agent.card.tags}
        )
        return sorted(shown, key=lambda card: (card.sort, card.id))

    def about(self, agent_ids: Iterable[str]) -> dict[str, str]:
        """The descriptions of these assistants; of one that isn't known there is none."""
        found = {agent_id: self.find(agent_id) for agent_id in agent_ids}
        return {agent_id: agent.description for agent_id, agent in found.items() if agent and agent.description}


def _under(platform: PlatformFile, agent: Agent) -> Agent:
    """The agent with what the platform's file says of it."""
    uses, name = merged(agent.uses, platform.uses), agent.id.removeprefix(PLATFORM)
    connector = agent.connector or (platform.connector(name) if name != agent.id else "")
    card = agent.card and agent.card.model_copy(update={"connector": connector})
    return replace(agent, uses=uses, connector=connector, card=card)


def _shown(team: str) -> str:
    return "every team" if team == EVERY_TEAM else f"team {team}"


def _load(folder: Path, environ: Mapping[str, str], *, teams: Teams | None = None) -> list[Agent]:
    """`teams`: of all of them, in place of what the files say."""
    if not folder.is_dir():
        raise AgentFileError(f"expected a folder of agent files (*.md), there is none at {folder}")
    files = [
        parse(path.name.removesuffix(".md"), path.read_text(encoding="utf-8"), teams=teams, environ=environ)
        for path in sorted(folder.glob("*.md"))
    ]
    folders = [_of_folder(path.parent, teams, environ) for path in sorted(folder.glob(f"*/{INSTRUCTIONS}"))]
    for twice in sorted({agent.id for agent in files} & {agent.id for agent in folders}):
        raise AgentFileError(f"agent {twice} is there twice: expected {twice}.md or {twice}/{INSTRUCTIONS}")
    return [*files, *folders]


def _of_folder(folder: Path, teams: Teams | None, environ: Mapping[str, str]) -> Agent:
    text = (folder / INSTRUCTIONS).read_text(encoding="utf-8")
    agent = parse(folder.name, text, teams=teams, environ=environ)
    try:
        return replace(agent, files=context_files.read(folder))
    except ContextFileError as error:
        raise AgentFileError(str(error)) from error


def parse(agent_id: str, text: str, *, teams: Teams | None = None, environ: Mapping[str, str] | None = None) -> Agent:
    """An agent from the text of its file. `environ`: the variables behind `$ENV.` references. Raises AgentFileError."""
    file = read_file(agent_id, text)
    connector = file.named_connector(agent_id, environ or {})
    try:
        return of_definition(agent_id, file, teams=teams or file.named_teams(agent_id), connector=connector)
    except UsesError as error:
        raise AgentFileError(f"the front matter of {agent_id}.md can't be read: {error}") from error


def of_definition(agent_id: str, definition: AgentDefinition, *, teams: Teams, connector: str | None = None) -> Agent:
    """An agent as its definition says; `connector` stands in place of the one there. Raises UsesError."""
    uses = read_uses(definition.uses)
    about = " ".join(definition.description.split())
    connector = definition.connector if connector is None else connector
    servers = None if definition.mcp is None else {each.server_id: each.tools for each in definition.mcp.servers}
    return Agent(
        agent_id,
        Template(definition.prompt),
        connector,
        definition.options,
        definition.max_iterations if (definition.max_iterations or 0) > 0 else None,
        definition.tools,
        teams,
        about,
        timeout=definition.timeout,
        autonomy=definition.autonomy,
        serial=definition.calls == "serial",
        uses=uses,
        hooks=OwnHooks(definition.hooks.create, definition.hooks.next),
        servers=servers,
        skills=definition.skills,
        card=AgentCard(
            id=agent_id,
            name=definition.name or agent_id,
            description=about,
            connector=connector,
            connector_options=definition.connector_options,
            modes=[*definition.modes],
            default_mode=definition.default_mode,
            context=definition.context,
            tags=[*definition.tags],
            public=definition.public,
            mentionable=definition.mentionable,
            sort=definition.sort,
        ),
    )
