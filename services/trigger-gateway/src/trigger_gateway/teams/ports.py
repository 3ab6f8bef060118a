"""Ports of teams: their records and their keys."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from trigger_gateway.teams.api_keys import ApiKey


@dataclass(frozen=True)
class Team:
    """`name` is for people."""

    id: str
    name: str


class Teams(Protocol):
    async def add(self, team: str, name: str) -> bool:
        """False if there is a team of this name already."""
        ...

    async def exists(self, team: str) -> bool: ...

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
