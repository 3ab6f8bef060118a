"""The clock: every replica finds who is due, queues it under an id that all would give it, and moves the clock on.

In this order, so that a kill between the two makes nothing miss: the next replica finds the same robots due, gives the
same ids, and what is stored already stays as it is (SC-07, F3).
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from time import monotonic

from rota_common.clock import Clock
from rota_common.runtime.metrics import CLOCK_LATENESS, MISSED_RUNS, TICK_SECONDS
from rota_contracts.ids import clock_trigger_id, execution_id
from rota_contracts.robots.clock_config import CatchUpPolicy
from scheduler.clock_store import Change, Clocks
from scheduler.clocks import ClockState, due, ended, is_late, pending, recheck_later, trigger_of
from scheduler.domain import OVER
from scheduler.event_publisher import EventPublisher
from scheduler.ports import Queue, StoredTrigger
from scheduler.robot_summary import Key

AT_ONCE = 1000
"""Robots that are looked at in one step."""

TRIES = 10
"""How often a clock that others move at the same moment is tried; after that it is asked after at its time."""

LOOKED_UP = 100
"""Late runs of one robot that may be queued already, at most: whoever queued them was killed before it was noted."""


class Tick:
    """`wake` tells this replica's dispatcher, if it is the one, that something is due.

    `lag`: seconds to leave to whoever is meant to be first; it doesn't matter who is.
    """

    def __init__(
        self,
        clocks: Clocks,
        queue: Queue,
        publisher: EventPublisher,
        clock: Clock,
        *,
        wake: Callable[[], None],
        lag: Callable[[], float],
        every: float,
    ) -> None:
        self._clocks, self._queue, self._publisher, self._clock = clocks, queue, publisher, clock
        self._wake, self._lag, self._every = wake, lag, every

    async def run(self) -> None:
        while True:
            await self()
            await asyncio.sleep(self._every)

    async def __call__(self) -> int:
        """Queue all that is due by now; how many robots were looked at."""
        began, count, found = monotonic(), 0, AT_ONCE
        while found == AT_ONCE:
            now = self._clock()
            states = await self._clocks.due(now - timedelta(seconds=self._lag()), AT_ONCE)
            await self._process_due(states, now)
            found = len(states)
            count += found
        await self._publish_missed()
        TICK_SECONDS.observe(monotonic() - began)
        return count

    async def _process_due(self, states: Sequence[ClockState], now: datetime) -> None:
        if not states:
            return
        stored, held = await self._looked_up(states, now)
        changes, triggers = list[Change](), []
        for state in states:
            if state.next_run is None:
                changes.append(Change(state, _recheck_daemon(state, stored, now)))
                continue
            queued = {each for each in pending(state, now) if _execution(state, each) in stored} if stored else ()
            found_due = due(state, now, queued=queued, room=state.room - held.get(state.key, 0))
            triggers += [trigger_of(state, instant, now) for instant in found_due.fires]
            changes.append(Change(state, found_due.after, found_due.missed, now))
        if triggers:
            await self._queue.add_due(triggers)
            self._wake()
        await self._clocks.write(changes)
        for trigger in triggers:
            CLOCK_LATENESS.observe((now - (trigger.scheduled_at or now)).total_seconds())

    async def _looked_up(
        self, states: Sequence[ClockState], now: datetime
    ) -> tuple[Mapping[str, StoredTrigger], Mapping[Key, int]]:
        """What is queued already of those that are late, the daemons' runs whose end nobody has told, and how many
        executions those have that are to make up for all."""
        ids = [state.running for state in states if state.running is not None and state.next_run is None]
        late = [state for state in states if is_late(state, now)]
        for state in late:
            ids += [_execution(state, instant) for instant in pending(state, now)[-LOOKED_UP:]]
        stored = await self._queue.stored(ids) if ids else {}
        all_of = [state.key for state in late if state.clock.catch_up.policy is CatchUpPolicy.ALL]
        return stored, await self._queue.open_counts(all_of) if all_of else {}

    async def _publish_missed(self) -> None:
        """What was left out is told until it is known to be told."""
        facts = await self._clocks.unpublished(AT_ONCE)
        for fact in facts:
            await self._publisher.publish_missed(fact)
            MISSED_RUNS.labels(fact.missed.reason).inc(fact.missed.count)
        if facts:
            await self._clocks.mark_published(facts)


class RearmDaemon:
    """A daemon's run has ended: the next one follows."""

    def __init__(self, clocks: Clocks, clock: Clock) -> None:
        self._clocks, self._clock = clocks, clock

    async def __call__(self, key: Key, execution: str, *, failed: bool | None) -> None:
        """Does nothing where this isn't the daemon's run, or the clock has moved on already."""
        for _ in range(TRIES):
            state = (await self._clocks.find([key])).get(key)
            if state is None or not _is_run_of(state, execution):
                return
            if await self._clocks.write([Change(state, ended(state, self._clock(), failed=failed))]):
                return


def _is_run_of(state: ClockState, execution: str) -> bool:
    """Also one that has ended before its beginning was noted."""
    if state.running == execution:
        return True
    return state.next_run is not None and _execution(state, state.next_run) == execution


def _recheck_daemon(state: ClockState, stored: Mapping[str, StoredTrigger], now: datetime) -> ClockState:
    run = stored.get(state.running or "")
    return ended(state, now, failed=None) if run is None or run.state in OVER else recheck_later(state, now)


def _execution(state: ClockState, instant: datetime) -> str:
    return execution_id(clock_trigger_id(state.team, state.member, instant))
