"""How much may run at once: what is configured, but never more than the executors that are alive can take."""

from collections.abc import Callable
from time import monotonic

from rota_common.bus.live import LiveEvents
from rota_common.runtime.metrics import CAPACITY
from rota_contracts.catalog import EXECUTOR_REPORTED
from rota_contracts.messages.executor_capacity import ALIVE_S, ExecutorReportedV1


class Capacity:
    """Every replica hears the executors, so that whoever begins to dispatch knows them already.

    `on_more` is called when there is more room than before. Times are of this process: a report's own instant may be
    another machine's.
    """

    def __init__(self, watch: LiveEvents, *, pool: int, elapsed: Callable[[], float] = monotonic) -> None:
        self._watch, self._pool, self._elapsed = watch, pool, elapsed
        self._alive: dict[str, tuple[int, float]] = {}
        self.on_more: Callable[[], None] = lambda: None

    def slots(self) -> int:
        """0 while no executor is alive: what comes in waits in the queue."""
        since = self._elapsed() - ALIVE_S
        self._alive = {name: (room, at) for name, (room, at) in self._alive.items() if at > since}
        slots = min(self._pool, sum(room for room, _ in self._alive.values()))
        CAPACITY.set(slots)
        return slots

    def hear(self, report: ExecutorReportedV1) -> None:
        before = self.slots()
        self._alive[report.executor_id] = (report.capacity, self._elapsed())
        if self.slots() > before:
            self.on_more()

    async def run(self) -> None:
        async with self._watch.listen([EXECUTOR_REPORTED]) as heard:
            while True:
                self.hear((await heard.next()).data)
