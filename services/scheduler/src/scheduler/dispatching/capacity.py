"""The number of executions that may run at once: the configured pool, at most what the executors alive can take."""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from rota_common.runtime.metrics import CAPACITY, EXECUTORS
from rota_contracts.envelope import Event
from rota_contracts.messages.executor_capacity import ALIVE_S, ExecutorReportedV1


@dataclass(kw_only=True)
class Capacity:
    """Every replica follows the executors' reports, so that a new dispatcher knows them already.

    `on_more` is called when the capacity has grown. Times are this process's: a report's timestamp may come from
    another machine.
    """

    pool: int
    on_more: Callable[[], None]
    elapsed: Callable[[], float] = monotonic
    _alive: dict[str, tuple[int, float]] = field(default_factory=dict, init=False)

    def slots(self) -> int:
        """0 while no executor is alive: triggers wait in the queue."""
        since = self.elapsed() - ALIVE_S
        self._alive = {name: (room, at) for name, (room, at) in self._alive.items() if at > since}
        slots = min(self.pool, sum(room for room, _ in self._alive.values()))
        CAPACITY.set(slots)
        EXECUTORS.set(sum(room > 0 for room, _ in self._alive.values()))
        return slots

    def update(self, event: Event[ExecutorReportedV1]) -> None:
        """An executor's report."""
        before, report = self.slots(), event.data
        self._alive[report.executor_id] = (report.capacity, self.elapsed())
        if self.slots() > before:
            self.on_more()
