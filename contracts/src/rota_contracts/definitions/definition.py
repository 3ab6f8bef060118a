"""A team's definitions: each with its revisions, and all of them together as one numbered set.

A change of any of them makes the next set. Sets and revisions never change, so a run that notes the number of the set
that it began with sees one state of all, whatever is written meanwhile.
"""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from rota_contracts.canary import Canary
from rota_contracts.definitions.agent import AgentDefinition
from rota_contracts.definitions.connector import ConnectorDefinition
from rota_contracts.definitions.mcp_server import McpServerDefinition
from rota_contracts.definitions.skill import SkillDefinition
from rota_contracts.model import Instant, Name, Part

DEFINITION_ID = r"^[A-Za-z0-9_-]{1,64}(\.[A-Za-z0-9_-]{1,64}){0,4}$"
DefinitionId = Annotated[str, StringConstraints(pattern=DEFINITION_ID, max_length=128)]
"""The id of an agent, a connector, an MCP server or a skill, like `experts.writer`."""

DEFINITIONS_PER_TEAM = 500
SPEC_LIMIT = 256 * 1024
"""Bytes of a definition as JSON."""


class DefinitionKind(StrEnum):
    """As in `kind:` of a YAML document."""

    AGENT = "Agent"
    CONNECTOR = "Connector"
    MCP_SERVER = "MCPServer"
    SKILL = "Skill"


Spec = AgentDefinition | ConnectorDefinition | McpServerDefinition | SkillDefinition

SPECS: dict[DefinitionKind, type[Spec]] = {
    DefinitionKind.AGENT: AgentDefinition,
    DefinitionKind.CONNECTOR: ConnectorDefinition,
    DefinitionKind.MCP_SERVER: McpServerDefinition,
    DefinitionKind.SKILL: SkillDefinition,
}


def parse_spec(kind: DefinitionKind, raw: dict[str, Any]) -> Spec:
    """Parse what a team writes strictly. Raises pydantic's ValidationError, whose `errors()` name each field."""
    return SPECS[kind].model_validate(raw, extra="forbid")


class Definition(Part):
    """One revision of a definition; it never changes. `rev` is that of the team's set that it came with, so it is
    unique for the team, and grows.

    `spec` is as its owner wrote it, and is read by `read_spec`. `rolled_back_to`: the revision that this one repeats.
    """

    team_id: Name
    kind: DefinitionKind
    id: DefinitionId
    rev: int = Field(ge=1)
    spec: dict[str, Any] = {}
    deleted: bool = False
    written_at: Instant
    written_by: str = Field(default="", description="the name of the key that wrote it")
    rolled_back_to: int | None = None

    def read_spec(self) -> Spec:
        """Tolerant: a newer version may have written more. Raises pydantic's ValidationError."""
        return SPECS[self.kind].model_validate(self.spec)


class DefinitionSet(Part):
    """All definitions of a team at one moment, deleted ones left out: `entries` maps `<kind>/<id>` to the revision.

    `rev` counts from 1; 0 is the empty set that every team begins with. Of the current set alone: `canary`, which
    stands beside it, and `version`, which grows with each change of either.
    """

    team_id: Name
    rev: int = Field(ge=0)
    entries: dict[str, int] = {}
    canary: Canary | None = None
    version: int = 0

    def rev_of(self, execution_id: str) -> int:
        """The set that a new run begins with; the same one however often it is asked."""
        canary = self.canary
        return canary.rev if canary is not None and canary.draws(execution_id) else self.rev


def entry(kind: DefinitionKind, definition_id: str) -> str:
    """The name of a definition in a set."""
    return f"{kind.value}/{definition_id}"


def set_key(team: str, rev: int | None = None) -> str:
    """Of the bucket of definitions: the set with this revision, which never changes; without one, the current set."""
    return f"current.{team}" if rev is None else f"set.{team}.{rev}"


def definition_key(team: str, kind: DefinitionKind, definition_id: str, rev: int) -> str:
    """Of the bucket of definitions: one revision of a definition, which never changes."""
    return f"one.{team}.{kind.value}.{definition_id}.{rev}"
