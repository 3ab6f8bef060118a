"""The executors that are alive, and how far each follows the definitions of teams."""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from rota_contracts.envelope import Event
from rota_contracts.messages.executor_capacity import ALIVE_S, ExecutorReportedV1


@dataclass
class ExecutorsSeen:
    """By their reports of the last seconds; times are this process's."""

    elapsed: Callable[[], float] = monotonic
    _alive: dict[str, tuple[int, float]] = field(default_factory=dict, init=False)

    def update(self, event: Event[ExecutorReportedV1]) -> None:
        """An executor's report; one without capacity stops."""
        report, now = event.data, self.elapsed()
        self._alive = {name: each for name, each in self._alive.items() if each[1] > now - ALIVE_S}
        self._alive.pop(report.executor_id, None)
        if report.capacity:
            self._alive[report.executor_id] = report.definitions_seen, now

    def count(self, sequence: int) -> tuple[int, int]:
        """Those that are alive, and of them those that follow the bucket of definitions up to this sequence number."""
        since = self.elapsed() - ALIVE_S
        alive = [known for known, at in self._alive.values() if at > since]
        return len(alive), sum(known >= sequence for known in alive)
