"""Definitions of a team: what the executor says of them before they are stored, and how runs with them end."""

from typing import Any

from pydantic import Field

from rota_contracts.definitions.definition import DEFINITIONS_PER_TEAM, DefinitionId, DefinitionKind
from rota_contracts.model import Instant, Name, Part

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


REVS_COUNTED = 10


class CountRuns(Part):
    """Request to the executor: how the runs that began with these sets of definitions since `since` have ended; with
    `member_id`, those of this robot, by its own revisions."""

    team_id: Name
    member_id: Name | None = None
    revs: list[int] = Field(min_length=1, max_length=REVS_COUNTED)
    since: Instant


class RunCount(Part):
    """`rev`: of the set, or of the robot. `cost`: of the calls of models, by currency."""

    rev: int
    runs: int = 0
    completed: int = 0
    failed: int = 0
    cost: dict[str, float] = {}


class RunCounts(Part):
    """One for each that was asked for, in the same order."""

    counts: list[RunCount]
