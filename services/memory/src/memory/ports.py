"""The ports of the memory."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from memory.domain import KnowledgeBase, Owner, Shelf
from memory.workspace import Decide, File, Seed
from rota_common.stores.team_documents import TeamDocuments
from rota_contracts.messages.memory import MemoryEntry, RecalledEntry, SharedEntry, SharedMatch
from rota_contracts.messages.workspace import FileInfo
from rota_contracts.robots.robot import Robot

Vector = list[float]


class Embedder(Protocol):
    """Turns text into a vector; texts that mean the same lie close together."""

    dimensions: int

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """A vector of length 1 for each text; all zeros for a text without a word."""
        ...


class Entries(Protocol):
    """The entries of all robots, each call about one robot but the last. Raises Transient when the store is away."""

    async def keep(self, owner: Owner, entries: Sequence[tuple[MemoryEntry, Vector]], *, rev: int) -> None:
        """Keep the entries, learnt at revision `rev` of the robot. An id that is there already is overwritten."""
        ...

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
        """The entries of this scope closest to `vector` by cosine, best first; with `since` none that is older, and
        those that were rehearsed only if they are wanted."""
        ...

    async def remove(self, owner: Owner, ids: Sequence[str], *, before: datetime | None = None) -> int:
        """Remove these entries, or with `before` the older of them; returns the count."""
        ...

    async def clear(
        self,
        owner: Owner,
        *,
        up_to_rev: int | None = None,
        before: datetime | None = None,
        scope: str | None = None,
    ) -> int:
        """Remove all entries, or those learnt up to `up_to_rev`, older than `before`, of this scope; returns the
        count."""
        ...

    async def clear_team(self, team: str) -> None:
        """Remove all entries of all robots of this team."""
        ...


class SharedEntries(Protocol):
    """The shared collections of all teams. Every call is about one team alone. Raises Transient when the store is away.

    A collection begins with its first entry and ends with its last.
    """

    async def keep(self, team: str, entries: Sequence[tuple[SharedEntry, Vector]]) -> None:
        """Keep the entries in their collections. An id that its collection holds already is replaced."""
        ...

    async def nearest(
        self, team: str, vector: Vector, limit: int, *, collections: Sequence[str] | None = None
    ) -> list[SharedMatch]:
        """The entries closest to `vector` by cosine, best first: of these collections, or with None of all."""
        ...

    async def remove(self, shelf: Shelf, ids: Sequence[str]) -> int:
        """Remove these entries of a collection; returns the count."""
        ...

    async def clear(self, shelf: Shelf) -> int:
        """Remove a whole collection; returns the count of its entries."""
        ...

    async def clear_team(self, team: str) -> None:
        """Remove all collections of this team."""
        ...


class KnowledgeBases(Protocol):
    """One record per robot: its knowledge base, and the end of it. Events come twice and in any order."""

    async def open(self, owner: Owner, *, rev: int, at: datetime) -> None:
        """The robot exists at `rev`."""
        ...

    async def close(self, owner: Owner, *, rev: int, at: datetime) -> None:
        """The robot was deleted at `rev`; the first `at` of a revision holds."""
        ...

    async def find(self, owner: Owner) -> KnowledgeBase | None: ...


class Workspaces(Protocol):
    """The files of all robots and people. A call is about one owner alone, but for the last two; its change and what
    it counts are one."""

    async def find(self, owner: Owner, path: str) -> File | None: ...

    async def list(self, owner: Owner) -> list[FileInfo]:
        """All of them, by path."""
        ...

    async def write(self, owner: Owner, path: str, decide: Decide) -> File:
        """Store what `decide` makes of the file that is there. What it raises ends the write without an effect."""
        ...

    async def remove(self, owner: Owner, path: str, allow: Callable[[File], None]) -> File | None:
        """Remove a file unless `allow` raises; returns what it was, None if there is none."""
        ...

    async def clear(self, owner: Owner, *, up_to_rev: int) -> int:
        """Remove the files that were last written up to this revision of the robot; returns the count."""
        ...

    async def seed(self, owner: Owner, decide: Seed) -> Sequence[File]:
        """The owner's files, by path. At the first call for this owner, what `decide` returns is written before; what
        it raises ends the call without an effect."""
        ...

    async def forget_person(self, team: str, person: str) -> int:
        """Remove the person's files for all agents, as if they had never been; returns the count."""
        ...

    async def forget_agents(self, team: str, agents: Sequence[str]) -> int:
        """The same for the files of all people of the team for these agents."""
        ...


class Robots(Protocol):
    """The robots' definitions as they are now."""

    async def find(self, team: str, member: str) -> Robot | None:
        """The robot, also a deleted one; None if there never was one."""
        ...

    async def known(self, team: str, member: str) -> Robot | None:
        """The same from memory, which a change reaches a moment later."""
        ...


@dataclass(frozen=True, kw_only=True)
class Adapters:
    entries: Entries
    shared: SharedEntries
    bases: KnowledgeBases
    workspaces: Workspaces
    robots: Robots
    embedder: Embedder
    team_documents: TeamDocuments
