"""Decisions that are published again: those of the last dispatcher, and requests that no executor has begun."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from rota_common.clock import Clock
from rota_common.runtime.logs import logger
from scheduler.domain.batch import Batch, StoredTrigger
from scheduler.domain.queue import Entry
from scheduler.event_publisher import EventPublisher
from scheduler.ports import Queue

_log = logger(service="scheduler")


@dataclass(kw_only=True)
class Republish:
    """Made anew with each lease. `after`: seconds until a request is overdue. `passes` names failures after which the
    same decisions may be published another time; after any other, the decision itself is to blame."""

    queue: Queue
    publisher: EventPublisher
    clock: Clock
    after: float
    passes: Callable[[Exception], bool]
    _counts: dict[str, int] = field(default_factory=dict, init=False)

    async def earlier(self, decided: Sequence[StoredTrigger]) -> None:
        """Earlier decisions; one that can't be published holds up no other."""
        try:
            await self.publisher.publish_batch(Batch(), decided)
        except Exception as error:
            if self.passes(error):
                raise
            for each in decided:
                await self._unless_guilty(self.publisher.publish_batch(Batch(), [each]), each)

    async def overdue(self, active: dict[str, Entry]) -> None:
        """Requests that no executor has begun for long are published again, past the stream's deduplication; but only
        those that have left the stream: a second copy of one that waits for an executor would only fill it."""
        limit = self.clock() - timedelta(seconds=self.after)
        late = [
            entry.execution_id
            for entry in active.values()
            if not entry.running and entry.admitted_at is not None and entry.admitted_at < limit
        ]
        counts = self._counts.items()
        self._counts = {each: count for each, count in counts if each in active and not active[each].running}
        for execution_id, stored in (await self.queue.stored(late) if late else {}).items():
            if not await self.publisher.is_outstanding(stored):
                again = self._counts[execution_id] = self._counts.get(execution_id, 0) + 1
                await self._unless_guilty(self.publisher.publish_request(stored, again=again), stored)
            active[execution_id] = replace(active[execution_id], admitted_at=self.clock())

    async def _unless_guilty(self, publishing: Awaitable[None], stored: StoredTrigger) -> None:
        try:
            await publishing
        except Exception as error:
            if self.passes(error):
                raise
            _log.error("a decision can't be published", execution=stored.execution_id, reason=repr(error))
