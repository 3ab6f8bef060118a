"""Ports of a team's definitions: their store, the copies that other services read, and the executor's judgement."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from rota_contracts.definitions.definition import Definition, DefinitionKind, DefinitionSet
from rota_contracts.messages.definition import CheckDefinitions, CountRuns, DefinitionProblems, RunCounts
from trigger_gateway.definitions.record import Head, Next
from trigger_gateway.teams.shares import Allow, allow_all


@dataclass(frozen=True)
class Batch:
    """Revisions and sets that are copied, or removed, together."""

    definitions: Sequence[Definition] = ()
    sets: Sequence[DefinitionSet] = ()

    def __bool__(self) -> bool:
        return bool(self.definitions or self.sets)


class DefinitionStore(Protocol):
    """The source of truth. Sets and revisions never change."""

    async def head(self, team: str) -> Head:
        """The empty one of a team that never wrote any."""
        ...

    async def write(self, made: Next, *, expected: Head, at: datetime, allow: Allow = allow_all) -> bool:
        """All of it, or nothing: False if the head isn't at the version of `expected` any more. `allow` judges the
        definitions of the set, and the bytes of all revisions that have copies."""
        ...

    async def find(self, team: str, kind: DefinitionKind, definition_id: str, rev: int) -> Definition | None: ...

    async def read(self, team: str, entries: Mapping[str, int]) -> Mapping[str, Definition]:
        """Of these names the revisions."""
        ...

    async def revisions(self, team: str, kind: DefinitionKind, definition_id: str) -> Sequence[Definition]:
        """Those that are kept, the newest first."""
        ...

    async def uncopied(self, team: str) -> Batch:
        """Definitions and sets that other services can't read yet."""
        ...

    async def mark_copied(self, team: str, which: Batch) -> None: ...

    async def mark_synced(self, head: Head) -> None:
        """Nothing if it has moved on."""
        ...

    async def unsynced(self, limit: int, *, apart_from: Collection[str] = ()) -> Sequence[str]:
        """Teams whose heads aren't synced."""
        ...

    async def forget_copied(self) -> None:
        """Nothing that has copies counts as copied, and no head as synced."""
        ...

    async def outdated(self, before: datetime, *, limit: int) -> Batch:
        """Those that were replaced before this instant and have copies."""
        ...

    async def forget(self, which: Batch, *, keep: int) -> None:
        """Remove these sets; of the definitions' revisions `keep` stay, the newest, but none of those deleted."""
        ...


class DefinitionCopies(Protocol):
    """What other services read. All raise Transient when the store is away."""

    def check(self) -> None: ...

    async def put(self, which: Batch) -> None: ...

    async def put_current(self, current: DefinitionSet) -> None:
        """Unless a newer version is there."""
        ...

    async def current_sequence(self, team: str, version: int) -> int | None:
        """The sequence number of the team's current set; None if that isn't at this version or a later one yet."""
        ...

    async def remove(self, which: Batch) -> None: ...

    async def remove_team(self, team: str) -> None: ...


class DefinitionJudge(Protocol):
    """The executor, which has the platform's files. All raise Transient when it doesn't answer."""

    async def check(self, request: CheckDefinitions) -> DefinitionProblems: ...

    async def count(self, request: CountRuns) -> RunCounts: ...
