"""The dispatcher: one replica at a time holds its lease, and admits in batches what came in and what waits."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from time import monotonic

from rota_common.clock import Clock
from rota_common.errors import Transient
from rota_common.runtime.logs import logger
from rota_common.runtime.metrics import QUEUE
from rota_contracts.messages.execution import ExecutionFinishedV1
from rota_contracts.messages.parking import ExecutionParkedV1, ExecutionResumableV1
from rota_contracts.messages.trigger import TriggerReceivedV1
from scheduler.decide import IncomingEvent, Intake, Snapshot, cycles, decide, read_snapshot
from scheduler.domain import QueueState
from scheduler.event_publisher import EventPublisher
from scheduler.ports import Batch, CancelRequests, LeaseLost, PlansChanged, Queue, Robots, StoredTrigger
from scheduler.reconcile_slots import ReconcileSlots
from scheduler.run_end_effects import RunEndEffects
from scheduler.start_plans import StartPlans

MAX_BATCH = 256
MANY = 64
"""So many reports are written even if nobody waits for them."""


@dataclass
class Item:
    """A message in hand, and the promise that its handler waits for before it is acknowledged."""

    event: IncomingEvent
    done: asyncio.Future[None]


@dataclass(frozen=True)
class Pace:
    """`slots`: how many executions may run at once by now. Times in seconds."""

    slots: Callable[[], int]
    lease: float
    republish_after: float


class Dispatcher:
    """`has_lease` is set while this replica dispatches: only then do its consumers take messages."""

    def __init__(
        self,
        queue: Queue,
        withdrawals: CancelRequests,
        planned: StartPlans,
        robots: Robots,
        publisher: EventPublisher,
        effects: RunEndEffects,
        reconcile: ReconcileSlots,
        *,
        owner: str,
        pace: Pace,
        clock: Clock,
    ) -> None:
        self._queue, self._withdrawals, self._planned = queue, withdrawals, planned
        self._robots, self._publisher, self._clock = robots, publisher, clock
        self._effects, self._reconcile = effects, reconcile
        self._owner, self._slots, self._lease = owner, pace.slots, pace.lease
        self._republish_after = timedelta(seconds=pace.republish_after)
        self.has_lease = asyncio.Event()
        self._inbox: list[Item] = []
        self._wake_up = asyncio.Event()
        self._asked = False
        self._epoch = 0
        self._queue_state = QueueState()
        self._again: dict[str, int] = {}
        self._log = logger(service="scheduler")

    async def take(self, event: IncomingEvent) -> None:
        """Return once the message has been dealt with, together with whatever else came in; raise if it wasn't."""
        if not self.has_lease.is_set():
            raise Transient("another replica dispatches", after=0.2)
        item = Item(event, asyncio.get_running_loop().create_future())
        self._inbox.append(item)
        if self._urgent(event):
            self._wake_up.set()
        await item.done

    def wake(self) -> None:
        """Something is due, is to be taken back, or can begin: the next turn is now."""
        self._asked = True
        self._wake_up.set()

    def _urgent(self, event: IncomingEvent) -> bool:
        """Reports that nobody waits for are written with the next turn, or when the lease is renewed."""
        freed = isinstance(event.data, (ExecutionFinishedV1, ExecutionParkedV1)) and self._queue_state.queued
        wants = isinstance(event.data, (TriggerReceivedV1, ExecutionResumableV1))
        return wants or bool(freed) or len(self._inbox) >= MANY

    async def run(self) -> None:
        """For ever: wait for the lease, dispatch while it holds."""
        try:
            while True:
                epoch = await self._queue.acquire(self._owner)
                if epoch is None:
                    await asyncio.sleep(self._lease / 4)
                else:
                    await self._dispatch(epoch)
        finally:
            self._return_inbox("the scheduler stops")
            with contextlib.suppress(Exception):  # if the database is away, the lease ends by itself
                await asyncio.wait_for(self._queue.release(self._owner), 1)

    async def _dispatch(self, epoch: int) -> None:
        self._epoch, self._queue_state, self._again = epoch, await self._queue.load(), {}
        self._log.info(
            "dispatching", epoch=epoch, queued=len(self._queue_state.queued), active=len(self._queue_state.active)
        )
        try:
            await self._publish_decided()
            self.has_lease.set()
            renewed = monotonic()
            while True:
                await self._wait(self._lease / 3 - (monotonic() - renewed))
                due = monotonic() - renewed >= self._lease / 3
                if due or self._wake_up.is_set():
                    self._wake_up.clear()
                    await self._turn(check_all=due or self._asked)
                if due:
                    renewed = monotonic()
                    if await self._queue.acquire(self._owner) != epoch:
                        return
                    await self._publish_overdue()
                    await self._start_plans()
                    await self._reconcile_slots()
        except LeaseLost as lost:
            self._log.warning("another replica dispatches now", reason=str(lost))
        finally:
            self.has_lease.clear()
            self._return_inbox("another replica dispatches")

    async def _wait(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wake_up.wait(), max(seconds, 0.001))

    async def _turn(self, *, check_all: bool) -> None:
        """One batch: decide, write it all or nothing, tell the others, let the handlers acknowledge.

        With `check_all`, also what is to be taken back and what is due: otherwise a turn has no query to spare for it.
        """
        items, self._inbox = self._inbox[:MAX_BATCH], self._inbox[MAX_BATCH:]
        if self._inbox:
            self._wake_up.set()
        try:
            await self._process(items, check_all=check_all)
        except BaseException as error:
            passes = isinstance(error, LeaseLost) or not isinstance(error, Exception)
            _resolve(items, Transient("another replica dispatches", after=0.2) if passes else error)
            raise
        _resolve(items, None)

    async def _process(self, items: list[Item], *, check_all: bool) -> None:
        intake = Intake([item.event for item in items])
        if check_all:
            self._asked = False
            intake = Intake(intake.events, await self._withdrawals.asked(), await self._queue.undecided(MAX_BATCH))
            if len(intake.due) == MAX_BATCH:
                self.wake()
        if not intake and not self._may_begin():
            return
        seen = await read_snapshot(intake, self._queue, self._robots)
        events = [item.event for item in items if not _set_aside(item, seen)]
        await self._decide(replace(intake, events=events), seen)

    def _may_begin(self) -> bool:
        """Does something wait although there is room? So it is when there is more room than before."""
        return bool(self._queue_state.queued) and len(self._queue_state.active) < self._slots()

    async def _decide(self, intake: Intake, seen: Snapshot) -> None:
        queue_state, repeated = self._queue_state.copy(), seen.repeated(intake.events)
        batch = decide(intake, seen, queue_state, pool=self._slots(), now=self._clock())
        gone = await self._commit(batch, queue_state, repeated)
        ends = [event.data for event in intake.events if isinstance(event.data, ExecutionFinishedV1)]
        await self._effects(ends, batch, gone)
        await self._planned.begin_cycles(cycles(batch, repeated))
        clocked = [each.execution_id for each in batch.decided if each.from_clock]
        if told := [*(each.execution_id for each in gone), *clocked]:
            await self._queue.mark_published(
                told
            )  # last of all: whoever takes over does what follows of what isn't told

    async def _reconcile_slots(self) -> None:
        """Reports that were lost are made up for."""
        if found := await self._reconcile(self._queue_state):
            self._log.warning("reports were lost", executions=[event.data.execution_id for event in found])  # type: ignore[union-attr]  # all of them are reports
            await self._decide(Intake(found), Snapshot({}, {}))

    async def _commit(
        self, batch: Batch, queue_state: QueueState, repeated: Sequence[StoredTrigger]
    ) -> list[StoredTrigger]:
        """Write it, and only then let it be known. What it has taken back."""
        if batch:
            await self._queue.write(batch, owner=self._owner, epoch=self._epoch)
        self._queue_state = queue_state
        for state, entries in (
            ("queued", queue_state.queued),
            ("active", queue_state.active),
            ("parked", queue_state.parked),
        ):
            QUEUE.labels(state).set(len(entries))
        gone = [each.execution_id for each in batch.cancelled]
        changed = [*batch.admitted, *gone]
        older = await self._queue.stored(changed) if changed else {}
        await self._publisher.publish_batch(batch, [*repeated, *older.values()])
        return [older[each] for each in gone if each in older]

    async def _start_plans(self) -> None:
        """A batch of its own: if somebody changes a plan at this moment, nothing else has to wait for the next try."""
        queue_state = self._queue_state.copy()
        batch = await self._planned.due(queue_state, pool=self._slots())
        if batch:
            try:
                await self._commit(batch, queue_state, [])
            except PlansChanged as changed:
                self._log.info("plans are started a little later", reason=str(changed))
            else:
                await self._planned.publish(batch.plans)
        await self._planned.publish_overdue()

    async def _publish_decided(self) -> None:
        """What the last dispatcher wrote may not have been published: the others drop what they have already."""
        waiting = [entry.execution_id for entry in self._queue_state.active.values() if not entry.running]
        gone = await self._queue.unpublished()
        await self._publisher.publish_batch(Batch(), [*(await self._queue.stored(waiting)).values(), *gone])
        if gone:
            await self._effects([], Batch(), [each for each in gone if each.refusal])
            await self._planned.begin_cycles(cycles(Batch(), gone))
            await self._queue.mark_published([each.execution_id for each in gone])

    async def _publish_overdue(self) -> None:
        """Requests that no executor has begun for long: sent again, past the stream's memory of ids."""
        limit = self._clock() - self._republish_after
        late = [
            entry.execution_id
            for entry in self._queue_state.active.values()
            if not entry.running and entry.admitted_at is not None and entry.admitted_at < limit
        ]
        if not late:
            return
        for stored in (await self._queue.stored(late)).values():
            again = self._again.get(stored.execution_id, 0) + 1
            self._again[stored.execution_id] = again
            await self._publisher.publish_request(stored, again=again)
            entry = self._queue_state.active[stored.execution_id]
            self._queue_state.active[stored.execution_id] = replace(entry, admitted_at=self._clock())

    def _return_inbox(self, reason: str) -> None:
        items, self._inbox = self._inbox, []
        _resolve(items, Transient(reason, after=0.2))


def _set_aside(item: Item, seen: Snapshot) -> bool:
    """A trigger whose robot can't be read fails by itself, and not with all that came in with it."""
    event = item.event
    reason = seen.problem(event.data) if isinstance(event.data, TriggerReceivedV1) else None
    if reason is not None and not item.done.done():
        item.done.set_exception(reason)
    return reason is not None


def _resolve(items: list[Item], error: BaseException | None) -> None:
    for item in items:
        if item.done.done():
            continue
        if error is None:
            item.done.set_result(None)
        else:
            item.done.set_exception(error)
