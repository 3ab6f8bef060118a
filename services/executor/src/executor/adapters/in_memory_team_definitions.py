"""Definitions of teams in memory, for tests."""

from datetime import UTC, datetime
from typing import Any

from rota_contracts.definitions.definition import Definition, DefinitionKind, DefinitionSet, definition_key, entry

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


class InMemoryDefinitions:
    """Sets and revisions of teams, which stay. `reads`: how many of them were read."""

    def __init__(self) -> None:
        self._sets: dict[str, list[DefinitionSet]] = {}
        self._ones: dict[str, Definition] = {}
        self.reads = self.sequence = 0

    def write(self, team: str, *specs: tuple[DefinitionKind, str, dict[str, Any] | None], at: datetime = BEGAN) -> int:
        """Make the next set of all these at once, of which those without a spec are deleted; returns its number."""
        sets = self._sets.setdefault(team, [DefinitionSet(team_id=team, rev=0)])
        rev, entries = len(sets), dict(sets[-1].entries)
        for kind, definition_id, spec in specs:
            if spec is None:
                del entries[entry(kind, definition_id)]
                continue
            of: dict[str, Any] = {"team_id": team, "kind": kind, "id": definition_id, "rev": rev}
            self._ones[definition_key(team, kind, definition_id, rev)] = Definition(**of, spec=spec, written_at=at)
            entries[entry(kind, definition_id)] = rev
        sets.append(DefinitionSet(team_id=team, rev=rev, entries=entries))
        return rev

    async def current(self, team: str) -> DefinitionSet:
        return self._sets[team][-1] if team in self._sets else DefinitionSet(team_id=team, rev=0)

    async def at(self, team: str, rev: int) -> DefinitionSet | None:
        self.reads += 1
        sets = self._sets.get(team, [])
        return sets[rev] if rev < len(sets) else None

    async def one(self, team: str, kind: DefinitionKind, definition_id: str, rev: int) -> Definition | None:
        self.reads += 1
        return self._ones.get(definition_key(team, kind, definition_id, rev))
