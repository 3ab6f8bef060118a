"""Checks of definitions of a team: what the executor, which has the operator's files, says before they are stored."""

from typing import Any

from pydantic import Field

from rota_contracts.definitions.definition import DEFINITIONS_PER_TEAM, DefinitionId, DefinitionKind
from rota_contracts.model import Name, Part

MOST_PROBLEMS = 20
"""Problems that one answer names."""


class WrittenDefinition(Part):
    kind: DefinitionKind
    id: DefinitionId
    spec: dict[str, Any]


class CheckDefinitions(Part):
    """Request to the executor: judge what a team is about to write, beside the rest of its definitions.

    `entries`: the names, `<kind>/<id>`, of all definitions that the team would have then.
    """

    team_id: Name
    definitions: list[WrittenDefinition] = Field(max_length=DEFINITIONS_PER_TEAM)
    entries: list[str] = Field(max_length=DEFINITIONS_PER_TEAM)


class DefinitionProblem(Part):
    """`field`: its path in the definition, empty for the whole. `message`: what is expected, what came, what to do."""

    kind: DefinitionKind
    id: DefinitionId
    field: str = ""
    message: str


class DefinitionProblems(Part):
    """Empty: they can be stored."""

    problems: list[DefinitionProblem] = []
