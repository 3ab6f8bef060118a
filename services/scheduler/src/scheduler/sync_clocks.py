"""Robots' clocks follow their definitions: what was changed is noted by every replica, and stored by the first."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic

from rota_common.clock import Clock
from rota_contracts.robots import clock_config
from scheduler.clock_store import Change, Clocks
from scheduler.clocks import set_clock
from scheduler.robot_summary import Key, RobotSummary

AT_ONCE = 500
LOOK_S = 0.2


@dataclass(frozen=True)
class Noted:
    """What a robot's clock is to be by now; None: it has none any more."""

    summary: RobotSummary
    clock: clock_config.Clock | None
    since: float


class SyncClocks:
    """`lag`: seconds to leave to whoever is meant to be first; it doesn't matter who is."""

    def __init__(self, clocks: Clocks, clock: Clock, *, lag: Callable[[], float]) -> None:
        self._clocks, self._clock, self._lag = clocks, clock, lag
        self._stored: dict[Key, int] | None = None
        self._noted: dict[Key, Noted] = {}

    async def begin(self) -> None:
        """All definitions are about to be noted: those whose clock is stored as it is need no second look."""
        self._stored = await self._clocks.revs()

    def all_noted(self) -> None:
        self._stored = None

    def note(self, summary: RobotSummary, clock: clock_config.Clock | None) -> None:
        """The robot is so now."""
        clock = None if summary.deleted else clock
        if self._stored is not None:
            stored = self._stored.get(summary.key)
            if stored is None if clock is None else stored == summary.rev:
                return
        self._noted[summary.key] = Noted(summary, clock, monotonic())

    async def run(self) -> None:
        while True:
            await self.flush()
            await asyncio.sleep(LOOK_S)

    async def flush(self) -> None:
        """Store what was noted. What somebody else changes at the same moment stays noted, for the next time."""
        before = monotonic() - self._lag()
        ready = [noted for noted in self._noted.values() if noted.since <= before]
        for start in range(0, len(ready), AT_ONCE):
            await self._store(ready[start : start + AT_ONCE])

    async def _store(self, several: Sequence[Noted]) -> None:
        stored, now = await self._clocks.find([noted.summary.key for noted in several]), self._clock()
        changes, gone, kept = list[Change](), dict[Key, int](), list[Noted]()
        for noted in several:
            summary, old = noted.summary, stored.get(noted.summary.key)
            if noted.clock is None:
                if old is not None:
                    gone[summary.key] = summary.rev
            elif old is None or old.rev < summary.rev:
                changes.append(Change(old, set_clock(summary, noted.clock, old, now)))
                kept.append(noted)
        await self._clocks.remove(gone)
        contended = await self._clocks.write(changes) < len(changes)
        for noted in several:
            if self._noted.get(noted.summary.key) is noted and not (contended and noted in kept):
                del self._noted[noted.summary.key]
