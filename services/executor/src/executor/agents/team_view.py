"""A team's agents, connectors, MCP servers and skills at one state of its definitions: the platform's, and its own."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import inf

from pydantic import ValidationError

from executor.agents import connectors as connector_files
from executor.agents import prompt_files, skill_files
from executor.agents.connectors import Connector, Connectors, TeamConnectors
from executor.agents.model_parameters import wrong_parameters
from executor.agents.prompt_files import Agent, Agents, TeamAgents
from executor.agents.skill_files import Skills
from executor.definition_port import Definitions, NoDefinitions
from executor.domain.skills import Skill
from executor.tool_ports import NO_MEANS, OwnMeans
from rota_common.bus.definition_memory import DefinitionMemory, Key
from rota_common.errors import Permanent, Transient
from rota_common.runtime.logs import logger
from rota_contracts.definitions.agent import AgentDefinition
from rota_contracts.definitions.connector import ConnectorDefinition
from rota_contracts.definitions.definition import Definition, DefinitionKind, DefinitionSet, entry
from rota_contracts.definitions.skill import SkillDefinition

LIMIT = 32_000_000
"""Bytes of all views in memory."""

PER_BYTE, BASE = 4, 2_000
"""Bytes in memory for each of a definition's, and for a definition besides."""

READ_AT_ONCE = 20
"""Definitions of one set."""

_log = logger(service="executor")


@dataclass(frozen=True)
class TeamView:
    """`rev`: of the team's set, 0 = none of its own. `unreadable`: `<kind>/<id>` → why; they are as if they weren't
    there. `size`: bytes in memory, roughly."""

    team: str
    rev: int
    agents: TeamAgents
    connectors: TeamConnectors
    own: OwnMeans = NO_MEANS
    unreadable: Mapping[str, str] = field(default_factory=dict)
    size: int = 0

    def means_of(self, agent: Agent) -> OwnMeans:
        """What calls of this agent have: where it names skills, those alone."""
        if not agent.skills:
            return self.own
        return replace(self.own, skills=[skill for skill in self.own.skills if skill.name in agent.skills])

    def missing(self, agent_id: str) -> str:
        """Why there is no such agent, and what to do."""
        name = entry(DefinitionKind.AGENT, agent_id)
        if name in self.unreadable:
            return f"agent {agent_id} can't be used, because its definition can't be read here: {self.unreadable[name]}"
        return f"there is no agent {agent_id}: `rota agents list` shows those that there are"


@dataclass(frozen=True, kw_only=True)
class TeamViews:
    """Views by team and number of the set; one of a team without definitions takes nothing to make."""

    agents: Agents = field(default_factory=Agents)
    connectors: Connectors
    skills: Skills = field(default_factory=Skills)
    definitions: Definitions = field(default_factory=NoDefinitions)
    limit: int = LIMIT
    _kept: DefinitionMemory[TeamView] = field(init=False)
    _reading: dict[Key, asyncio.Task[TeamView]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        kept = DefinitionMemory[TeamView](self.limit, size_of=lambda view: view.size, keep_s=inf)
        object.__setattr__(self, "_kept", kept)

    async def begin(self, team: str, execution_id: str) -> int:
        """The number of the set that a new run begins with: the current one, or a canary."""
        return (await self._current(team)).rev_of(execution_id)

    @property
    def sequence(self) -> int:
        """The sequence number of the bucket up to which current sets are known here; 0: they aren't followed now."""
        return self.definitions.sequence

    async def of(self, team: str, rev: int | None = None) -> TeamView:
        """At this set, or at the current one. Raises Permanent for a set that isn't kept any more, Transient while
        definitions can't be read."""
        rev = (await self._current(team)).rev if rev is None else rev
        if rev == 0:
            own = OwnMeans(skills=self.skills.of(team))
            return TeamView(team, 0, self.agents.of(team), self.connectors.of(team), own)
        key = team, str(rev)
        if (kept := self._kept.get(key)) is not None:
            return kept
        reading = self._reading.get(key)
        if reading is None:
            reading = self._reading[key] = asyncio.create_task(self._read(team, rev))
            reading.add_done_callback(lambda done: self._forget(key, done))
        return await asyncio.shield(reading)

    def _forget(self, key: Key, done: asyncio.Task[TeamView]) -> None:
        self._reading.pop(key, None)
        if not done.cancelled():
            done.exception()  # raised to those who wait

    async def _read(self, team: str, rev: int) -> TeamView:
        found = await self._set(team, rev)
        view = self._made(found, await self._definitions(found))
        self._kept.put((team, str(rev)), view)
        return view

    async def _set(self, team: str, rev: int) -> DefinitionSet:
        """A copy of the bucket may be behind the one that was read before."""
        with _readable(f"the set {rev} of team {team}"):
            found = await self.definitions.at(team, rev)
        if found is not None:
            return found
        current = await self._current(team)
        if current.rev == rev:
            return current
        which = f"the definitions of team {team} as of revision {rev}"
        if current.rev < rev:
            raise Transient(f"{which} can't be read yet")
        raise Permanent(f"{which} aren't kept any more: what needs them must be started anew")

    async def _current(self, team: str) -> DefinitionSet:
        with _readable(f"the current set of team {team}"):
            return await self.definitions.current(team)

    async def _definitions(self, of: DefinitionSet) -> Sequence[tuple[str, Definition | str]]:
        """Each by its name; or why it can't be read."""
        names, read = [*of.entries], list[tuple[str, Definition | str]]()
        for start in range(0, len(names), READ_AT_ONCE):
            some = names[start : start + READ_AT_ONCE]
            read += zip(some, await asyncio.gather(*(self._one(of, name) for name in some)), strict=True)
        return read

    async def _one(self, of: DefinitionSet, name: str) -> Definition | str:
        kind, _, definition_id = name.partition("/")
        if kind not in [*DefinitionKind]:
            return "this version knows no such kind"
        try:
            one = await self.definitions.one(of.team_id, DefinitionKind(kind), definition_id, of.entries[name])
        except ValidationError as error:
            return in_words(error)
        if one is None:
            raise Transient(f"definition {name} of team {of.team_id} can't be read yet")
        return one

    def _made(self, of: DefinitionSet, read: Sequence[tuple[str, Definition | str]]) -> TeamView:
        team, size = of.team_id, BASE
        agents, connectors, unreadable = dict[str, Agent](), dict[str, Connector](), dict[str, str]()
        servers, skills = dict[str, Definition](), {skill.name: skill for skill in self.skills.of(team)}
        for name, one in read:
            if isinstance(one, str):
                unreadable[name] = one
                continue
            size += BASE + PER_BYTE * len(one.model_dump_json())
            try:
                made = made_of(one)
            except ValueError as error:
                unreadable[name] = in_words(error)
                continue
            if isinstance(made, Agent):
                agents[one.id] = made
            elif isinstance(made, Connector):
                connectors[one.id] = made
            elif isinstance(made, Skill):
                skills.setdefault(one.id, made)
            else:
                servers[one.id] = one
        if unreadable:
            _log.warning("definitions can't be read", team_id=team, rev=of.rev, unreadable=unreadable)
        mine = self.agents.of(team, agents), self.connectors.of(team, connectors)
        own = OwnMeans(servers, sorted(skills.values(), key=lambda skill: skill.name))
        return TeamView(team, of.rev, *mine, own, unreadable, size)


def made_of(one: Definition) -> Agent | Connector | Skill | None:
    """What a definition stands for; None for an MCP server. Raises ValueError, with what is expected."""
    spec = one.read_spec()
    match spec:
        case AgentDefinition():
            if wrong := wrong_parameters(spec.options):
                raise ValueError(f"options: {wrong}")
            return prompt_files.of_definition(one.id, spec, teams=frozenset({one.team_id}))
        case ConnectorDefinition():
            if wrong := wrong_parameters(spec.options.parameters):
                raise ValueError(f"options.parameters: {wrong}")
            return connector_files.of_definition(one.id, spec, team=one.team_id)
        case SkillDefinition():
            return skill_files.of_definition(one.id, spec)
    return None


def in_words(error: ValueError) -> str:
    """The first mistake; what was written isn't shown."""
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_input=False, include_url=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}".removeprefix(": ")


@contextmanager
def _readable(what: str) -> Iterator[None]:
    try:
        yield
    except ValidationError as error:
        raise Transient(f"{what} can't be read by this version: {in_words(error)}") from error
