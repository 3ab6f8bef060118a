"""The measurement of the queue: how many wait, and for how long and for what the longest of them does."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from rota_common.clock import Clock
from rota_common.runtime.metrics import DISPATCHING, QUEUE, QUEUE_AGE
from scheduler.domain.queue import QueueState
from scheduler.domain.robot_summary import Key
from scheduler.ports import Robots

MEASURE_S = 5.0


class WaitsFor(StrEnum):
    """Of a queued execution. `robot`: as many of its robot run as may, or it is paused; else a `slot` of the pool."""

    SLOT = "slot"
    ROBOT = "robot"


@dataclass(frozen=True, kw_only=True)
class MeasureQueue:
    """`queue_state` is None while another replica dispatches: it measures then, and this one says 0. `slots`: looked
    at too, so that executors that fall silent are seen by a replica with nothing to do."""

    queue_state: Callable[[], QueueState | None]
    slots: Callable[[], int]
    robots: Robots
    clock: Clock

    async def __call__(self) -> None:
        self.slots()
        queue_state = self.queue_state()
        DISPATCHING.set(queue_state is not None)
        queue_state = queue_state or QueueState()
        stopped = await self.robots.stopped(queue_state.waiting_robots())
        for name, entries in queue_state.by_state().items():
            QUEUE.labels(name).set(len(entries))
        oldest = oldest_waits(queue_state, stopped=stopped, now=self.clock())
        for waits_for in WaitsFor:
            QUEUE_AGE.labels(waits_for.value).set(oldest.get(waits_for, timedelta()).total_seconds())


def oldest_waits(queue_state: QueueState, *, stopped: Collection[Key], now: datetime) -> dict[WaitsFor, timedelta]:
    oldest: dict[WaitsFor, datetime] = {}
    for entry in queue_state.queued.values():
        held = entry.robot in stopped and not entry.has_begun
        full = queue_state.running_of[entry.robot] >= entry.max_running
        waits_for = WaitsFor.ROBOT if held or full else WaitsFor.SLOT
        oldest[waits_for] = min(oldest.get(waits_for, entry.queued_at), entry.queued_at)
    return {waits_for: now - since for waits_for, since in oldest.items()}
