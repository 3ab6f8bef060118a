"""Files of the operator for connectors, agents and MCP servers: each says which teams may use what it describes."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, field_validator

EVERY_TEAM = "*"
Teams = frozenset[str]

ALL_TEAMS: Teams = frozenset({EVERY_TEAM})
EXPECTED = f'expected the teams that may use it, like teams: [acme, globex], or teams: ["{EVERY_TEAM}"] for every team'


def allows(teams: Teams, team: str) -> bool:
    return team in teams or EVERY_TEAM in teams


def teams_of(given: Any) -> Teams:
    """The teams that a file names. Raise ValueError unless it names some, or every team on purpose."""
    named: Sequence[Any] = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    if not named or not all(isinstance(team, str) and team for team in named):
        raise ValueError(EXPECTED)
    return frozenset(named)


class ConnectorFileError(ValueError):
    """A file of connectors can't be read; names the file and the field."""


class OperatorFile(BaseModel):
    """`teams` has no default: what holds the operator's credentials is open to nobody by accident."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)

    teams: Teams = frozenset()

    @field_validator("teams", mode="before")
    @classmethod
    def _named(cls, given: Any) -> Teams:
        return teams_of(given)
