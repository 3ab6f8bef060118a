"""The port to definitions of teams: their numbered sets, and the revisions that these name."""

from typing import Protocol

from rota_contracts.definitions.definition import Definition, DefinitionKind, DefinitionSet


class Definitions(Protocol):
    """Sets and revisions never change. All raise Transient while they can't be read."""

    @property
    def sequence(self) -> int:
        """The sequence number of the bucket up to which current sets are known; 0 while they aren't followed."""
        ...

    async def current(self, team: str) -> DefinitionSet:
        """The team's set of this moment, from memory; the empty one of a team that never wrote any."""
        ...

    async def at(self, team: str, rev: int) -> DefinitionSet | None:
        """The set with this number; None if it isn't kept any more."""
        ...

    async def one(self, team: str, kind: DefinitionKind, definition_id: str, rev: int) -> Definition | None:
        """One revision of a definition; None if it isn't kept any more."""
        ...


class NoDefinitions:
    """No team has any."""

    sequence = 0

    async def current(self, team: str) -> DefinitionSet:
        return DefinitionSet(team_id=team, rev=0)

    async def at(self, team: str, rev: int) -> DefinitionSet | None:
        return None

    async def one(self, team: str, kind: DefinitionKind, definition_id: str, rev: int) -> Definition | None:
        return None
