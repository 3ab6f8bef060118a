"""The next run of a daemon, after the end of one."""

from dataclasses import dataclass

from rota_common.clock import Clock
from scheduler.domain.clock_state import Change, ClockState, end_daemon_run
from scheduler.domain.robot_summary import Key
from scheduler.ports import Clocks

TRIES = 10
"""Attempts to move a clock that other replicas move at the same time; after that it is checked at its timeout."""


@dataclass(frozen=True, kw_only=True)
class RearmDaemon:
    clocks: Clocks
    clock: Clock

    async def __call__(self, key: Key, execution: str, *, failed: bool | None) -> None:
        """Does nothing if this isn't the daemon's run, or the clock has moved on already."""
        for _ in range(TRIES):
            state = (await self.clocks.find([key])).get(key)
            if state is None or not _is_run_of(state, execution):
                return
            if await self.clocks.write([Change(state, end_daemon_run(state, self.clock(), failed=failed))]):
                return


def _is_run_of(state: ClockState, execution: str) -> bool:
    """Also a run that ended before its beginning was stored."""
    if state.running == execution:
        return True
    return state.next_run is not None and state.execution_at(state.next_run) == execution
