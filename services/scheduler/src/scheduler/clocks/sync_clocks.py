"""The sync of robots' clocks with their definitions: every replica notes what changed, and the first one stores it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic

from rota_common.clock import Clock
from rota_contracts.robots import clock_config
from scheduler.domain.clock_state import Change, set_clock
from scheduler.domain.robot_summary import Key, RobotSummary
from scheduler.ports import Clocks

AT_ONCE = 500
SYNC_S = 0.2


@dataclass(frozen=True)
class Noted:
    """The clock that a robot is to have; None: none."""

    summary: RobotSummary
    clock: clock_config.Clock | None
    since: float


@dataclass(kw_only=True)
class SyncClocks:
    """`lag`: seconds to leave to the replica that dispatches; any other may do the work afterwards."""

    clocks: Clocks
    clock: Clock
    lag: Callable[[], float]
    _stored: dict[Key, int] | None = field(default=None, init=False)
    _noted: dict[Key, Noted] = field(default_factory=dict, init=False)

    async def begin_reading(self) -> None:
        """All definitions are about to be noted: a clock that is stored at its robot's revision needs no check."""
        self._stored = await self.clocks.revs()

    def end_reading(self) -> None:
        self._stored = None

    def note(self, summary: RobotSummary, clock: clock_config.Clock | None) -> None:
        """The robot's current definition."""
        clock = None if summary.deleted else clock
        if self._stored is not None:
            stored = self._stored.get(summary.key)
            if stored is None if clock is None else stored == summary.rev:
                return
        self._noted[summary.key] = Noted(summary, clock, monotonic())

    async def __call__(self) -> None:
        """Store what was noted. A clock that another replica changes at the same time stays noted, for later."""
        before = monotonic() - self.lag()
        ready = [noted for noted in self._noted.values() if noted.since <= before]
        for start in range(0, len(ready), AT_ONCE):
            await self._store(ready[start : start + AT_ONCE])

    async def _store(self, several: Sequence[Noted]) -> None:
        stored, now = await self.clocks.find([noted.summary.key for noted in several]), self.clock()
        changes, gone, kept = list[Change](), dict[Key, int](), list[Noted]()
        for noted in several:
            summary, old = noted.summary, stored.get(noted.summary.key)
            if noted.clock is None:
                if old is not None:
                    gone[summary.key] = summary.rev
            elif old is None or old.rev < summary.rev:
                changes.append(Change(old, set_clock(summary, noted.clock, old, now)))
                kept.append(noted)
        await self.clocks.remove(gone)
        contended = await self.clocks.write(changes) < len(changes)
        for noted in several:
            if self._noted.get(noted.summary.key) is noted and not (contended and noted in kept):
                del self._noted[noted.summary.key]
