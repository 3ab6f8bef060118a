"""The tick of the clock: every replica finds the due clocks, queues their runs under derived ids, and moves the clocks.

In this order, so that a kill in between misses nothing: the next replica finds the same clocks due and gives the same
ids, and what is stored already stays as it is.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic

from rota_common.bus.room import BusRoom
from rota_common.clock import Clock
from rota_common.runtime.metrics import CLOCK_LATENESS, MISSED_RUNS, TICK_SECONDS
from rota_contracts.messages.trigger import MissReason
from scheduler.domain.clock_state import ClockState
from scheduler.domain.clocks import decide, reads_for, wait
from scheduler.event_publisher import EventPublisher
from scheduler.ports import Clocks, Queue

for _reason in MissReason:
    MISSED_RUNS.labels(_reason.value)  # 0 first: a rate needs where it began

AT_ONCE = 1000
"""Clocks that are checked in one step."""

CHECK_AGAIN = timedelta(seconds=5)
"""The delay until the clock of a team is checked again that has its share of the bus."""


@dataclass(frozen=True, kw_only=True)
class Tick:
    """While there is no room on the bus, due clocks stay due, and what they make up for afterwards is their policy's.

    `wake` starts a turn of this replica's dispatcher, if it has the lease. `lag`: seconds to leave to the replica
    that dispatches; any other may do the work afterwards."""

    clocks: Clocks
    queue: Queue
    publisher: EventPublisher
    room: BusRoom
    clock: Clock
    wake: Callable[[], None]
    lag: Callable[[], float]

    async def __call__(self) -> None:
        await self.queue_due()

    async def queue_due(self) -> int:
        """Queue all that is due by now; the number of clocks checked."""
        began, count, found = monotonic(), 0, 0 if self.room.refusal else AT_ONCE
        while found == AT_ONCE:
            now = self.clock()
            states = await self.clocks.due(now - timedelta(seconds=self.lag()), AT_ONCE)
            if states:
                await self._check(states, now)
            found = len(states)
            count += found
        await self._publish_missed()
        TICK_SECONDS.observe(monotonic() - began)
        return count

    async def _check(self, states: list[ClockState], now: datetime) -> None:
        held_back = [state for state in states if state.next_run and self.room.over_share(state.team)]
        if held_back:
            await self.clocks.write(wait(held_back, now + CHECK_AGAIN))
            waiting = {state.key for state in held_back}
            states = [state for state in states if state.key not in waiting]
        reads = reads_for(states, now)
        stored = await self.queue.stored(reads.executions) if reads.executions else {}
        held = await self.queue.waiting_counts(reads.robots) if reads.robots else {}
        queued = {execution: each.state for execution, each in stored.items()}
        decision = decide(states, queued=queued, held=held, now=now)
        if decision.triggers:
            await self.queue.add_due(decision.triggers)
            self.wake()
        await self.clocks.write(decision.changes)
        for trigger in decision.triggers:
            CLOCK_LATENESS.observe((now - (trigger.scheduled_at or now)).total_seconds())

    async def _publish_missed(self) -> None:
        """Facts of missed runs are published until they are marked as published."""
        facts = await self.clocks.unpublished(AT_ONCE)
        for fact in facts:
            await self.publisher.publish_missed(fact)
            MISSED_RUNS.labels(fact.missed.reason).inc(fact.missed.count)
        if facts:
            await self.clocks.mark_published(facts)
