"""The port of sources: their records."""

from collections.abc import Sequence
from typing import Protocol

from trigger_gateway.sources.source import Source
from trigger_gateway.teams.shares import Allow, allow_all


class Sources(Protocol):
    async def add(self, source: Source, *, allow: Allow = allow_all) -> bool:
        """False if the team has a source of this name already. `allow` judges the sources of its kind that the team
        then has."""
        ...

    async def find(self, team: str, name: str) -> Source | None: ...

    async def of_team(self, team: str) -> list[Source]:
        """By name."""
        ...

    async def databases(self) -> list[Source]:
        """Every team's databases, by team and name."""
        ...

    async def page(self, after: tuple[str, str], *, limit: int) -> Sequence[Source]:
        """Every team's, by team and name, from behind `after`."""
        ...

    async def replace(self, source: Source, *, expected: Source) -> bool:
        """False if the source is no longer as `expected`."""
        ...

    async def remove(self, team: str, name: str) -> bool:
        """False if the team has no such source."""
        ...
