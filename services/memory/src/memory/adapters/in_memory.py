"""The memory's ports in dictionaries, held to the same tests as the real ones."""

import zlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from math import sqrt

from memory.adapters.in_memory_workspaces import InMemoryWorkspaces
from memory.domain import KnowledgeBase, Owner, Shelf
from memory.ports import Adapters, Vector
from rota_common.testing.in_memory_stores import InMemoryTeamDocuments
from rota_contracts.messages.memory import MemoryEntry, RecalledEntry, SharedEntry, SharedMatch
from rota_contracts.robots.robot import Robot


class HashingEmbedder:
    """Texts that share words lie close together."""

    dimensions = 64

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> Vector:
        vector = [0.0] * self.dimensions
        for word in text.lower().split():
            vector[zlib.crc32(word.encode()) % self.dimensions] += 1.0
        length = sqrt(sum(number * number for number in vector)) or 1.0
        return [number / length for number in vector]


class InMemoryEntries:
    def __init__(self) -> None:
        self._entries: dict[Owner, dict[str, tuple[MemoryEntry, Vector, int]]] = {}

    async def keep(self, owner: Owner, entries: Sequence[tuple[MemoryEntry, Vector]], *, rev: int) -> None:
        self._entries.setdefault(owner, {}).update({entry.id: (entry, vector, rev) for entry, vector in entries})

    async def nearest(
        self,
        owner: Owner,
        vector: Vector,
        limit: int,
        *,
        since: datetime | None = None,
        scope: str = "",
        rehearsed: bool = False,
    ) -> list[RecalledEntry]:
        scored = [
            RecalledEntry(entry=entry, score=_cosine(vector, its))
            for entry, its, _ in self._entries.get(owner, {}).values()
            if (since is None or entry.created_at >= since)
            and entry.scope == scope
            and (rehearsed or not entry.rehearsed)
        ]
        return sorted(scored, key=lambda found: -found.score)[:limit]

    async def remove(self, owner: Owner, ids: Sequence[str], *, before: datetime | None = None) -> int:
        known = self._entries.get(owner, {})
        those = [one for one in set(ids) & known.keys() if before is None or known[one][0].created_at < before]
        return len([known.pop(one) for one in those])

    async def clear(
        self,
        owner: Owner,
        *,
        up_to_rev: int | None = None,
        before: datetime | None = None,
        scope: str | None = None,
    ) -> int:
        known = self._entries.get(owner, {})
        those = [
            one
            for one, (entry, _, rev) in known.items()
            if (up_to_rev is None or rev <= up_to_rev) and scope in (None, entry.scope)
        ]
        return await self.remove(owner, those, before=before)

    async def clear_team(self, team: str) -> None:
        self._entries = {owner: those for owner, those in self._entries.items() if owner.team != team}


class InMemorySharedEntries:
    def __init__(self) -> None:
        self._shelves: dict[Shelf, dict[str, tuple[SharedEntry, Vector]]] = {}

    async def keep(self, team: str, entries: Sequence[tuple[SharedEntry, Vector]]) -> None:
        for entry, vector in entries:
            self._shelves.setdefault(Shelf(team, entry.collection), {})[entry.id] = (entry, vector)

    async def nearest(
        self, team: str, vector: Vector, limit: int, *, collections: Sequence[str] | None = None
    ) -> list[SharedMatch]:
        scored = [
            SharedMatch(entry=entry, score=_cosine(vector, its))
            for shelf, entries in self._shelves.items()
            for entry, its in entries.values()
            if shelf.team == team and (collections is None or shelf.collection in collections)
        ]
        return sorted(scored, key=lambda found: -found.score)[:limit]

    async def remove(self, shelf: Shelf, ids: Sequence[str]) -> int:
        known = self._shelves.get(shelf, {})
        return len([known.pop(one) for one in set(ids) & known.keys()])

    async def clear(self, shelf: Shelf) -> int:
        return len(self._shelves.pop(shelf, {}))

    async def clear_team(self, team: str) -> None:
        self._shelves = {shelf: those for shelf, those in self._shelves.items() if shelf.team != team}


class InMemoryKnowledgeBases:
    def __init__(self) -> None:
        self._bases: dict[Owner, KnowledgeBase] = {}

    async def open(self, owner: Owner, *, rev: int, at: datetime) -> None:
        known = self._bases.get(owner, KnowledgeBase(owner, at))
        self._bases[owner] = replace(known, rev=max(known.rev, rev))

    async def close(self, owner: Owner, *, rev: int, at: datetime) -> None:
        await self.open(owner, rev=0, at=at)
        if self._bases[owner].deleted_rev < rev:
            self._bases[owner] = replace(self._bases[owner], deleted_rev=rev, deleted_at=at)

    async def find(self, owner: Owner) -> KnowledgeBase | None:
        return self._bases.get(owner)


class InMemoryRobots:
    def __init__(self) -> None:
        self.robots: dict[Owner, Robot] = {}

    async def find(self, team: str, member: str) -> Robot | None:
        return self.robots.get(Owner(team, member))

    async def known(self, team: str, member: str) -> Robot | None:
        return await self.find(team, member)


def _cosine(one: Vector, other: Vector) -> float:
    """Of vectors of length 1, or of zeros."""
    return sum(mine * its for mine, its in zip(one, other, strict=True))


def in_memory(*, entries: InMemoryEntries | None = None, robots: InMemoryRobots | None = None) -> Adapters:
    return Adapters(
        entries=entries or InMemoryEntries(),
        shared=InMemorySharedEntries(),
        bases=InMemoryKnowledgeBases(),
        workspaces=InMemoryWorkspaces(),
        robots=robots or InMemoryRobots(),
        embedder=HashingEmbedder(),
        team_documents=InMemoryTeamDocuments(),
    )
