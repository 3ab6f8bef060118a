"""Ports of teams: their records and their keys."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Protocol

from trigger_gateway.teams.api_keys import ApiKey


@dataclass(frozen=True)
class Team:
    """`name` is for people."""

    id: str
    name: str


@dataclass(frozen=True)
class RemovedTeam:
    """The tombstone of a team: its name is free at `name_free_at`. `rounds` of its removal are published; the next one
    is due at `next_at`, None after the last."""

    id: str
    removed_at: datetime
    name_free_at: datetime
    next_at: datetime | None
    rounds: int = 0


class Teams(Protocol):
    """A removed team is none: it isn't among the others, and its name is taken until its tombstone ends."""

    async def add(self, team: str, name: str) -> bool:
        """False if there is a team of this name already, or was until lately."""
        ...

    async def exists(self, team: str) -> bool: ...

    async def remove(self, removed: RemovedTeam) -> RemovedTeam | None:
        """Put the tombstone in place of the team; returns the one that stands, which may be an earlier one. None if
        there is no such team."""
        ...

    async def removed(self, team: str) -> RemovedTeam | None:
        """Its tombstone, if it has one."""
        ...

    async def removals_due(self, now: datetime, *, limit: int) -> list[RemovedTeam]:
        """Those whose next round is due, the longest due first."""
        ...

    async def note_round(self, before: RemovedTeam, after: RemovedTeam) -> None:
        """The next round is published, unless another replica has noted it."""
        ...

    async def page(self, *, after: str, limit: int) -> list[Team]:
        """By id, from the first one behind `after`."""
        ...

    async def paused(self, team: str) -> list[str]:
        """The robots that the team's pause has paused and its resume must resume."""
        ...

    async def note_paused(self, team: str, members: Sequence[str]) -> None: ...

    async def forget_paused(self, team: str, members: Sequence[str]) -> None: ...


class Removal(Enum):
    """The result of removing a key."""

    DONE = "done"
    UNKNOWN = "the team has no such key"
    LAST_OWNER = "it stays: the team has no other key of an owner"


class Keys(Protocol):
    async def add(self, key: ApiKey) -> None: ...

    async def find(self, key_id: str) -> ApiKey | None: ...

    async def of_team(self, team: str) -> list[ApiKey]:
        """The oldest first."""
        ...

    async def remove(self, team: str, key_id: str) -> Removal:
        """A team always keeps a key of an owner, also when two are removed at the same moment."""
        ...

    async def remove_all(self, team: str) -> None: ...


class TeamEvents(Protocol):
    async def publish(self, removed: RemovedTeam, *, round: int) -> None:
        """Publish that the team is removed; the same round is the same event however often. Raise Transient when NATS
        is away."""
        ...
