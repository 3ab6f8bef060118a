"""Judgement of what a team is about to write, beside the rest of its definitions and what the platform has."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from executor.agents.connectors import REHEARSAL, Connector
from executor.agents.operator_files import Teams, allows
from executor.agents.prompt_files import Agent
from executor.agents.skill_files import Skills
from executor.agents.team_view import TeamView, TeamViews, made_of
from executor.domain.conversation.chat import BUILT_IN
from executor.domain.skills import Skill
from executor.domain.used_tools import BY_AGENT
from executor.domain.uses import ByAgent, ByTool
from rota_common.clock import Clock
from rota_contracts.agent_ids import of_platform, platform_name
from rota_contracts.definitions.definition import Definition, DefinitionKind, entry, parse_spec
from rota_contracts.definitions.skill import name_problem
from rota_contracts.messages.definition import (
    MOST_PROBLEMS,
    CheckDefinitions,
    DefinitionProblem,
    DefinitionProblems,
    WrittenDefinition,
)

AGENT, CONNECTOR, SERVER = DefinitionKind.AGENT, DefinitionKind.CONNECTOR, DefinitionKind.MCP_SERVER
SKILL = DefinitionKind.SKILL
WHAT = {AGENT: "an agent", CONNECTOR: "a connector", SERVER: "an MCP server", SKILL: "a skill"}
DEFINITIONS = "rota definitions list"
LISTED = {AGENT: "rota agents list", CONNECTOR: "rota connectors list", SERVER: DEFINITIONS, SKILL: DEFINITIONS}


@dataclass(frozen=True, kw_only=True)
class JudgeDefinitions:
    """`servers`: the platform's MCP servers, each with the teams that may use it."""

    views: TeamViews
    servers: Mapping[str, Teams]
    clock: Clock

    async def __call__(self, request: CheckDefinitions) -> DefinitionProblems:
        state = _State(await self.views.of(request.team_id), self.servers, self.views.skills, {*request.entries})
        written = {entry(each.kind, each.id) for each in request.definitions}
        problems, made = list[DefinitionProblem](), dict[tuple[DefinitionKind, str], Agent | Connector | Skill]()
        for each in request.definitions:
            wrong, one = self._made(request.team_id, each)
            problems += [*state.taken(each), *wrong]
            if one is not None:
                made[each.kind, each.id] = one
        rest = {key: one for key, one in state.own() if entry(*key) in request.entries and entry(*key) not in written}
        for (kind, definition_id), one in {**made, **rest}.items():
            problems += [
                DefinitionProblem(kind=kind, id=definition_id, field=where, message=message)
                for where, message in state.missing(one)
            ]
        return DefinitionProblems(problems=problems[:MOST_PROBLEMS])

    def _made(
        self, team: str, written: WrittenDefinition
    ) -> tuple[Sequence[DefinitionProblem], Agent | Connector | Skill | None]:
        of: dict[str, Any] = {"kind": written.kind, "id": written.id}
        try:
            parse_spec(written.kind, written.spec)
        except ValidationError as error:
            found = error.errors(include_input=False, include_url=False, include_context=False)
            wrong = [(".".join(map(str, each["loc"])), each["msg"]) for each in found]
            return [DefinitionProblem(**of, field=where, message=message) for where, message in wrong], None
        one = Definition(team_id=team, rev=1, spec=written.spec, written_at=self.clock(), **of)
        try:
            return [], made_of(one)
        except ValueError as error:
            where, _, message = str(error).partition(": ")
            return [DefinitionProblem(**of, field=where, message=message)], None


@dataclass(frozen=True)
class _State:
    """What there would be: of the platform for this team, and of its own by the names of `entries`."""

    view: TeamView
    servers: Mapping[str, Teams]
    skills: Skills
    entries: set[str] = field(default_factory=set)

    def own(self) -> Iterator[tuple[tuple[DefinitionKind, str], Agent | Connector]]:
        """The team's own ones that name others."""
        for agent_id, agent in self.view.agents.own.items():
            yield (AGENT, agent_id), agent
        for connector_id, connector in self.view.connectors.own.items():
            yield (CONNECTOR, connector_id), connector

    def taken(self, written: WrittenDefinition) -> Iterator[DefinitionProblem]:
        """An id that is the platform's, or can't be."""
        if self._of_platform(written.kind, written.id) or _reserved(written.kind, written.id):
            message = f"{WHAT[written.kind]} {written.id} is the platform's: choose another id"
            yield DefinitionProblem(kind=written.kind, id=written.id, field="id", message=message)
        if written.kind is SKILL and (message := name_problem(written.id)):
            yield DefinitionProblem(kind=written.kind, id=written.id, field="id", message=message)

    def missing(self, one: Agent | Connector | Skill) -> Iterator[tuple[str, str]]:
        """The field, and what is wrong with what it names."""
        for where, kind, wanted in _named(one):
            wanted = platform_name(wanted) if kind is AGENT else wanted
            if not (entry(kind, wanted) in self.entries or self._of_platform(kind, wanted)):
                advice = f"apply one with this id too, or see `{LISTED[kind]}`"
                yield where, f"expected the id of {WHAT[kind]}, got {wanted}: {advice}"
        if isinstance(one, Connector):
            yield from _wrong_fallbacks(one)

    def _of_platform(self, kind: DefinitionKind, wanted: str) -> bool:
        team = self.view.team
        if kind is AGENT:
            return self.view.agents.of_platform(wanted) is not None
        if kind is CONNECTOR:
            there = self.view.connectors.platform.get(wanted)
            return there is not None and allows(there.teams, team)
        if kind is SKILL:
            return any(skill.name == wanted for skill in self.skills.of(team))
        return allows(self.servers.get(wanted, frozenset()), team)


def _named(one: Agent | Connector | Skill) -> Iterator[tuple[str, DefinitionKind, str]]:
    """All that it names: the field, the kind and the id."""
    if isinstance(one, Connector):
        yield from (("fallbacks", CONNECTOR, name) for name in one.fallbacks)
        return
    if isinstance(one, Skill):
        return
    if one.connector:
        yield "connector", CONNECTOR, one.connector
    yield from (("connector_options.connectors", CONNECTOR, name) for name in one.connector_options.connectors)
    yield from (("mcp.servers", SERVER, name) for name in one.servers or ())
    yield from (("skills", SKILL, name) for name in dict.fromkeys(one.skills))
    for service, provider in one.uses.providers():
        if isinstance(provider, ByAgent):
            yield f"uses.{service}", AGENT, provider.agent_id
        elif isinstance(provider, ByTool):
            yield f"uses.{service}", SERVER, provider.server


def _wrong_fallbacks(one: Connector) -> Iterator[tuple[str, str]]:
    if one.id in one.fallbacks or len({*one.fallbacks}) < len(one.fallbacks) or REHEARSAL in one.fallbacks:
        got = ", ".join(one.fallbacks)
        yield "fallbacks", f"expected other connectors that ask a model, each once, got {got}"


def _reserved(kind: DefinitionKind, wanted: str) -> bool:
    """Names that the platform keeps for itself, now or later."""
    if kind is AGENT:
        return of_platform(wanted)
    return kind is SERVER and (wanted == BUILT_IN or wanted.startswith(BY_AGENT))
