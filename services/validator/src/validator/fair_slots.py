"""Slots for work that takes long, shared fairly: a team has a few of all, and each team's turn comes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

AT_ONCE, PER_TEAM = 4, 2
"""Requests whose patterns and scripts run at once, each in processes of its own; the others wait for a slot. One team
never has all slots: its slow patterns hold up its own requests."""


@dataclass(eq=False)
class _Team:
    slots: asyncio.Semaphore
    users: int = 0


class FairSlots:
    """`at_once` in all, `per_team` of one team; a team with more to do waits before it stands in the way of others."""

    def __init__(self, at_once: int, *, per_team: int) -> None:
        self._all, self._per_team = asyncio.Semaphore(at_once), per_team
        self._teams: dict[str, _Team] = {}

    @asynccontextmanager
    async def slot(self, team: str) -> AsyncIterator[None]:
        mine = self._teams.setdefault(team, _Team(asyncio.Semaphore(self._per_team)))
        mine.users += 1
        try:
            async with mine.slots, self._all:
                yield
        finally:
            mine.users -= 1
            if not mine.users:
                del self._teams[team]
