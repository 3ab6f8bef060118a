"""Definitions of teams in memory, for tests."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from rota_common.errors import Transient
from rota_contracts.definitions.definition import Definition, DefinitionKind, DefinitionSet, entry
from trigger_gateway.definitions.ports import Batch
from trigger_gateway.definitions.record import Head, Next, empty_head
from trigger_gateway.teams.shares import Allow, Usage, allow_all


@dataclass
class _Kept:
    text: Definition | DefinitionSet
    replaced_at: datetime | None = None
    copied: bool | None = None


class InMemoryDefinitionStore:
    def __init__(self) -> None:
        self._heads: dict[str, Head] = {}
        self._ones: dict[tuple[str, str, int], _Kept] = {}
        self._sets: dict[tuple[str, int], _Kept] = {}

    async def head(self, team: str) -> Head:
        return self._heads.get(team, empty_head(team))

    async def write(self, made: Next, *, expected: Head, at: datetime, allow: Allow = allow_all) -> bool:
        head, team = made.head, expected.team
        if (await self.head(team)).version != expected.version:
            return False
        ones = {**self._ones, **{_key(one): _Kept(one, at if one.deleted else None) for one in made.definitions}}
        kept = [each.text for key, each in ones.items() if key[0] == team and each.copied is not False]
        size = sum(len(text.model_dump_json().encode()) for text in kept)
        allow(Usage(max(len(each.entries) for each in head.sets), size))
        self._heads[team], self._ones = head, ones
        if made.definitions:
            self._sets[team, made.new_set.rev] = _Kept(made.new_set)
        self._mark_replaced(head, at)
        return True

    def _mark_replaced(self, head: Head, at: datetime) -> None:
        alive = {(head.team, name, rev) for each in head.sets for name, rev in each.entries.items()}
        sets = {(head.team, each.rev) for each in head.sets}
        gone = [kept for key, kept in self._ones.items() if key[0] == head.team and key not in alive]
        gone += [kept for key, kept in self._sets.items() if key[0] == head.team and key not in sets]
        for kept in gone:
            kept.replaced_at = kept.replaced_at or at

    async def find(self, team: str, kind: DefinitionKind, definition_id: str, rev: int) -> Definition | None:
        return (await self.read(team, {entry(kind, definition_id): rev})).get(entry(kind, definition_id))

    async def read(self, team: str, entries: Mapping[str, int]) -> Mapping[str, Definition]:
        found = {name: self._ones.get((team, name, rev)) for name, rev in entries.items()}
        return {name: kept.text for name, kept in found.items() if kept and isinstance(kept.text, Definition)}

    async def revisions(self, team: str, kind: DefinitionKind, definition_id: str) -> Sequence[Definition]:
        mine = [kept.text for key, kept in self._ones.items() if key[:2] == (team, entry(kind, definition_id))]
        return sorted((one for one in mine if isinstance(one, Definition)), key=lambda one: -one.rev)

    async def uncopied(self, team: str) -> Batch:
        return self._those(lambda kept: kept.copied is None, team=team)

    async def mark_copied(self, team: str, which: Batch) -> None:
        for kept in self._kept(which):
            kept.copied = True if kept.copied is None else kept.copied

    async def mark_synced(self, head: Head) -> None:
        there = self._heads.get(head.team)
        if there is not None and there.version == head.version:
            self._heads[head.team] = replace(there, synced=True)

    async def unsynced(self, limit: int, *, apart_from: Collection[str] = ()) -> Sequence[str]:
        return [team for team, head in self._heads.items() if not head.synced and team not in apart_from][:limit]

    async def forget_copied(self) -> None:
        for kept in (*self._ones.values(), *self._sets.values()):
            kept.copied = None if kept.copied else kept.copied
        self._heads = {team: replace(head, synced=False) for team, head in self._heads.items()}

    async def outdated(self, before: datetime, *, limit: int) -> Batch:
        found = self._those(
            lambda kept: bool(kept.copied and kept.replaced_at is not None and kept.replaced_at < before)
        )
        return Batch(found.definitions[:limit], found.sets[:limit])

    async def forget(self, which: Batch, *, keep: int) -> None:
        for one in which.sets:
            self._sets.pop((one.team_id, one.rev), None)
        for definition in which.definitions:
            self._ones[_key(definition)].copied = False
        for team, name in {_key(one)[:2] for one in which.definitions}:
            self._trim(team, name, keep)

    def _trim(self, team: str, name: str, keep: int) -> None:
        newest = sorted((key for key in self._ones if key[:2] == (team, name)), reverse=True)
        kept = [self._ones[key] for key in newest[:keep]]
        last = kept[0].text
        over = isinstance(last, Definition) and last.deleted and all(each.copied is False for each in kept)
        for key in newest[0 if over else keep :]:
            if self._ones[key].copied is False:
                del self._ones[key]

    def _those(self, wanted: Callable[[_Kept], bool], *, team: str | None = None) -> Batch:
        ones = [kept.text for key, kept in self._ones.items() if team in (None, key[0]) and wanted(kept)]
        sets = [kept.text for key, kept in self._sets.items() if team in (None, key[0]) and wanted(kept)]
        return Batch(
            [one for one in ones if isinstance(one, Definition)],
            [one for one in sets if isinstance(one, DefinitionSet)],
        )

    def _kept(self, which: Batch) -> list[_Kept]:
        ones = [self._ones[_key(one)] for one in which.definitions]
        return ones + [self._sets[one.team_id, one.rev] for one in which.sets]


def _key(one: Definition) -> tuple[str, str, int]:
    return one.team_id, entry(one.kind, one.id), one.rev


@dataclass
class InMemoryDefinitionCopies:
    """`away`: nothing can be copied now."""

    away: bool = False
    current: dict[str, DefinitionSet] = field(default_factory=dict)
    sets: dict[tuple[str, int], DefinitionSet] = field(default_factory=dict)
    definitions: dict[tuple[str, str, int], Definition] = field(default_factory=dict)
    writes: int = 0
    _sequences: dict[str, int] = field(default_factory=dict)

    def check(self) -> None:
        if self.away:
            raise Transient("NATS: not connected")

    async def put(self, which: Batch) -> None:
        self.check()
        self.definitions |= {_key(one): one for one in which.definitions}
        self.sets |= {(one.team_id, one.rev): one for one in which.sets}
        self.writes += len(which.definitions) + len(which.sets)

    async def put_current(self, current: DefinitionSet) -> None:
        self.check()
        there = self.current.get(current.team_id)
        if there is None or there.version < current.version:
            self.writes += 1
            self.current[current.team_id] = current
            self._sequences[current.team_id] = self.writes

    async def current_sequence(self, team: str, version: int) -> int | None:
        self.check()
        there = self.current.get(team)
        return self._sequences[team] if there is not None and there.version >= version else None

    async def remove(self, which: Batch) -> None:
        self.check()
        for one in which.definitions:
            self.definitions.pop(_key(one), None)
        for each in which.sets:
            self.sets.pop((each.team_id, each.rev), None)

    async def remove_team(self, team: str) -> None:
        self.check()
        self.current.pop(team, None)
        self.definitions = {key: one for key, one in self.definitions.items() if key[0] != team}
        self.sets = {key: one for key, one in self.sets.items() if key[0] != team}
