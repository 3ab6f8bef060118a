"""Ports of secrets: those that teams have set, and those that the operator gives them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from trigger_gateway.secrets.sealed_secret import EncryptedSecret


@dataclass(frozen=True)
class TeamSecret:
    """A secret that a team has set. `set_by` is the name of a key."""

    team: str
    name: str
    secret: EncryptedSecret
    set_at: datetime
    set_by: str = ""


class Secrets(Protocol):
    """The secrets that teams have set."""

    async def put(self, secret: TeamSecret, *, limit: int) -> bool:
        """Store it, in place of an earlier one of its name. False if the team has `limit` others already."""
        ...

    async def find(self, team: str, names: Collection[str]) -> list[TeamSecret]: ...

    async def of_team(self, team: str) -> list[TeamSecret]:
        """By name."""
        ...

    async def remove(self, team: str, name: str) -> bool:
        """False if the team has no such secret."""
        ...

    async def page(self, after: tuple[str, str], *, limit: int) -> Sequence[TeamSecret]:
        """Every team's, by team and name, from behind `after`."""
        ...

    async def reseal(self, stored: TeamSecret, sealed: EncryptedSecret) -> None:
        """Replace how it is sealed, unless it was changed meanwhile."""
        ...


class OperatorSecrets(Protocol):
    """The secrets that the operator gives a team; nothing else of the operator's can be read through it."""

    async def read(self, team: str, names: Collection[str]) -> Mapping[str, str]:
        """Those that there are. Raise Transient while they can't be read."""
        ...

    async def names(self, team: str) -> list[str]: ...
