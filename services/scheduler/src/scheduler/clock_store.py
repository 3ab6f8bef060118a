"""Where robots' clocks are kept, in the scheduler's own words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from scheduler.clocks import ClockState, Missed
from scheduler.robot_summary import Key


@dataclass(frozen=True)
class Change:
    """A clock moves from one state to the next; `old` None: it is new. `missed` is what the step leaves out."""

    old: ClockState | None
    new: ClockState
    missed: Sequence[Missed] = ()
    at: datetime | None = None


@dataclass(frozen=True)
class MissedFact:
    """A fact of missed runs that may not have been published; `number` tells those of one robot apart."""

    key: Key
    number: int
    missed: Missed
    at: datetime


class Clocks(Protocol):
    """The robots' clocks."""

    async def revs(self) -> dict[Key, int]:
        """Of each robot that has one, the revision that its clock was set by."""
        ...

    async def find(self, keys: Sequence[Key]) -> dict[Key, ClockState]: ...

    async def write(self, changes: Sequence[Change]) -> int:
        """Each by itself, where the clock still is in its old state; how many were."""
        ...

    async def remove(self, revs: Mapping[Key, int]) -> None:
        """Those that were set by these revisions, or earlier ones."""
        ...

    async def due(self, now: datetime, limit: int) -> list[ClockState]:
        """Those to look at by now, longest due first."""
        ...

    async def unpublished(self, limit: int) -> list[MissedFact]: ...

    async def mark_published(self, facts: Sequence[MissedFact]) -> None: ...
