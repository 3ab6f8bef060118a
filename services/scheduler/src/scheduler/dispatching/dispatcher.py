"""The dispatcher: one replica at a time holds its lease, and admits in batches what arrives and what waits."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic

from nats.errors import MaxPayloadError

from rota_common.clock import Clock
from rota_common.errors import Transient
from rota_common.runtime.logs import logger
from rota_contracts.messages.execution import ExecutionFinishedV1
from rota_contracts.messages.parking import ExecutionParkedV1, ExecutionResumableV1
from rota_contracts.messages.trigger import TriggerReceivedV1
from scheduler.dispatching.decide import IncomingEvent, Intake, Snapshot, decide, read_snapshot, robots_woken
from scheduler.dispatching.dispatch_signals import DispatchSignals
from scheduler.dispatching.inbox import Item, finish, has_failed
from scheduler.dispatching.keep_lease import KeepLease
from scheduler.dispatching.reconcile_slots import ReconcileSlots
from scheduler.dispatching.republish import Republish
from scheduler.dispatching.run_end_effects import RunEndEffects
from scheduler.domain.admission import expired
from scheduler.domain.batch import Batch, StoredTrigger
from scheduler.domain.queue import QueueState
from scheduler.domain.robot_summary import Key
from scheduler.event_publisher import EventPublisher
from scheduler.plans.start_plans import StartPlans
from scheduler.ports import CancelRequests, LeaseLost, PlansChanged, Queue, Repeated, Robots

MAX_BATCH = 256
MANY = 64
"""Reports at which a turn begins even if no trigger waits for them."""

_log = logger(service="scheduler")


@dataclass(frozen=True, kw_only=True)
class Timeouts:
    """In seconds: of the dispatcher's `lease`, and until the request of an admitted execution is published again."""

    lease: float
    republish_after: float


@dataclass(kw_only=True)
class Dispatcher:
    """`slots`: how many executions may run at once by now. `outages`: the errors of a server that is away."""

    queue: Queue
    cancel_requests: CancelRequests
    start_plans: StartPlans
    robots: Robots
    publisher: EventPublisher
    effects: RunEndEffects
    reconcile: ReconcileSlots
    signals: DispatchSignals
    slots: Callable[[], int]
    timeouts: Timeouts
    owner: str
    clock: Clock
    outages: tuple[type[Exception], ...] = ()
    _inbox: list[Item] = field(default_factory=list, init=False)
    _epoch: int = field(default=0, init=False)
    _lease: KeepLease = field(init=False)
    _queue_state: QueueState = field(default_factory=QueueState, init=False)
    _republish: Republish = field(init=False)
    _ended: set[Key] = field(default_factory=set, init=False)
    _repeats: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._lease = KeepLease(queue=self.queue, owner=self.owner, lease=self.timeouts.lease)

    @property
    def queue_state(self) -> QueueState:
        """All that waits or holds a slot, while this replica has the lease."""
        return self._queue_state

    async def take(self, event: IncomingEvent) -> None:
        """Return once the turn with this message is written and published; raise if it failed."""
        if not self.signals.has_lease.is_set():
            raise Transient("another replica dispatches", after=0.2)
        item = Item(event, asyncio.get_running_loop().create_future())
        self._inbox.append(item)
        if self._urgent(event):
            self.signals.work.set()
        await item.done

    def _urgent(self, event: IncomingEvent) -> bool:
        """Reports that no trigger waits for are written with the next turn, or with that of all checks."""
        freed = isinstance(event.data, (ExecutionFinishedV1, ExecutionParkedV1)) and self._queue_state.queued
        wants = isinstance(event.data, (TriggerReceivedV1, ExecutionResumableV1))
        return wants or bool(freed) or len(self._inbox) >= MANY

    async def run(self) -> None:
        """Forever: wait for the lease, and dispatch while it is held."""
        try:
            while True:
                epoch = await self.queue.acquire(self.owner)
                if epoch is None:
                    await asyncio.sleep(self.timeouts.lease / 4)
                else:
                    await self._dispatch(epoch)
        finally:
            self._return_inbox("the scheduler stops")

    async def release(self) -> None:
        """Return the lease, so that another replica dispatches at once."""
        await self.queue.release(self.owner)

    async def _dispatch(self, epoch: int) -> None:
        self._epoch, self._repeats = epoch, True  # what the last dispatcher has not acknowledged comes again
        self._republish = Republish(
            queue=self.queue,
            publisher=self.publisher,
            clock=self.clock,
            after=self.timeouts.republish_after,
            passes=self._passes,
        )
        try:
            await self._lease.during(self._take_over_and_dispatch(), epoch=epoch)
        except LeaseLost as lost:
            _log.warning("another replica dispatches now", reason=str(lost))

    async def _take_over_and_dispatch(self) -> None:
        self._queue_state = await self.queue.load()
        queued, active = len(self._queue_state.queued), len(self._queue_state.active)
        _log.info("dispatching", epoch=self._epoch, queued=queued, active=active)
        await self._publish_earlier_decisions()
        self.signals.has_lease.set()
        try:
            await self._turns()
        finally:
            self.signals.has_lease.clear()
            self._return_inbox("another replica dispatches")

    async def _turns(self) -> None:
        """One turn after another; every third of the lease one with all checks."""
        check_every, checked, signals = self.timeouts.lease / 3, monotonic(), self.signals
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(signals.work.wait(), max(check_every - (monotonic() - checked), 0.001))
            self._lease.get_on()
            check_due = monotonic() - checked >= check_every
            if check_due or signals.work.is_set():
                signals.work.clear()
                await self._turn(check_all=check_due or signals.check_all)
            if check_due:
                checked = monotonic()
                await self._republish.overdue(self._queue_state.active)
                await self._start_plans()
                await self._reconcile_slots()

    async def _turn(self, *, check_all: bool) -> None:
        """One batch: decide, write it all or nothing, publish, let the handlers acknowledge.

        With `check_all`, also cancel requests and due triggers; otherwise a turn makes no query for them.
        """
        items, self._inbox = self._inbox[:MAX_BATCH], self._inbox[MAX_BATCH:]
        if self._inbox:
            self.signals.work.set()
        try:
            await self._process(items, check_all=check_all)
        except BaseException as error:
            retried = isinstance(error, LeaseLost) or not isinstance(error, Exception)
            finish(items, Transient("another replica dispatches", after=0.2) if retried else error)
            raise
        finish(items, None)

    async def _process(self, items: list[Item], *, check_all: bool) -> None:
        intake = Intake([item.event for item in items])
        if check_all:
            self.signals.check_all = False
            requests, due = await self.cancel_requests.asked(), await self.queue.undecided(MAX_BATCH)
            intake = Intake(intake.events, requests, due, expired(self._queue_state, self.clock())[:MAX_BATCH])
            if len(due) == MAX_BATCH:
                self.signals.wake()
        if not intake and not self._may_begin():
            return
        try:
            await self._handle(intake, items)
        except Exception as error:
            if self._passes(error) or not intake:
                raise
            _log.warning("a batch failed: its parts are handled one by one", items=len(items), reason=repr(error))
            await self._handle_each(intake, items)

    async def _handle(self, intake: Intake, items: Sequence[Item]) -> None:
        """Repeats are few, and come together: once a write has met one, what is stored is looked at, as long as a look
        finds some."""
        try:
            await self._handle_once(intake, items)
        except Repeated:
            self._repeats = True
            await self._handle_once(intake, items)

    async def _handle_once(self, intake: Intake, items: Sequence[Item]) -> None:
        look = self._repeats
        snapshot = await read_snapshot(intake, self.queue, self.robots, self._queue_state, look=look)
        events = [item.event for item in items if not has_failed(item, snapshot)]
        await self._decide(replace(intake, events=events), snapshot)
        if look and intake.triggers():
            self._repeats = bool(snapshot.stored)

    async def _handle_each(self, intake: Intake, items: Sequence[Item]) -> None:
        """One part of a batch at a time, so that only the guilty one fails."""
        alone = iter(items)
        for part in intake.parts():
            item = [next(alone)] if part.events else []
            try:
                await self._handle(part, item)
            except Exception as error:
                if self._passes(error):
                    raise
                _log.warning("a part of a batch failed", part=repr(part)[:500], reason=repr(error))
                finish(item, error)
            else:
                finish(item, None)

    def _passes(self, error: Exception) -> bool:
        """May the same batch be written another time? Not if one of its parts is to blame."""
        passing = (LeaseLost, Transient, OSError, TimeoutError, *self.outages)
        return isinstance(error, passing) and not isinstance(error, MaxPayloadError)

    def _may_begin(self) -> bool:
        """Does an execution wait although a slot is free? It does after the capacity has grown."""
        return bool(self._queue_state.queued) and len(self._queue_state.active) < self.slots()

    async def _decide(self, intake: Intake, snapshot: Snapshot) -> None:
        queue_state, repeated = self._queue_state.copy(), snapshot.repeated(intake.events)
        batch = decide(intake, snapshot, queue_state, pool=self.slots(), now=self.clock())
        cancelled = await self._commit(batch, queue_state, repeated)
        ends = [event for event in intake.events if isinstance(event.data, ExecutionFinishedV1)]
        self._ended.update((end.data.team_id, end.data.member_id) for end in ends)
        await self.effects(ends, batch, cancelled)
        await self.start_plans.begin_cycles(robots_woken(batch, repeated))
        due = [each.execution_id for each in batch.decided if each.from_clock]
        if published := [*(each.execution_id for each in cancelled), *due]:
            await self.queue.mark_published(published)  # last of all: a successor repeats the effects until then

    async def _reconcile_slots(self) -> None:
        """Lost reports are made up for."""
        if lost := await self.reconcile(self._queue_state):
            _log.warning("reports were lost", executions=[event.data.execution_id for event in lost])
            intake = Intake(lost)
            await self._decide(intake, await read_snapshot(intake, self.queue, self.robots, self._queue_state))

    async def _commit(
        self, batch: Batch, queue_state: QueueState, repeated: Sequence[StoredTrigger]
    ) -> list[StoredTrigger]:
        """Write the batch, and publish its decisions only then. Returns the cancelled triggers."""
        if batch:
            await self.queue.write(batch, owner=self.owner, epoch=self._epoch)
        self._queue_state = queue_state
        cancelled = [each.execution_id for each in batch.cancelled]
        changed = [*batch.admitted, *cancelled]
        older = await self.queue.stored(changed) if changed else {}
        await self.publisher.publish_batch(batch, [*repeated, *older.values()])
        return [older[each] for each in cancelled if each in older]

    async def _start_plans(self) -> None:
        """A batch of its own: if a plan is changed at the same time, nothing else has to wait for the next try."""
        ended, self._ended = self._ended, set()
        await self.start_plans.end_runs(ended)
        queue_state = self._queue_state.copy()
        batch = await self.start_plans.due(queue_state, pool=self.slots())
        if batch:
            try:
                await self._commit(batch, queue_state, [])
            except PlansChanged as changed:
                _log.info("plans start a little later", reason=str(changed))
            else:
                await self.start_plans.publish(batch.plans)
        await self.start_plans.publish_overdue()

    async def _publish_earlier_decisions(self) -> None:
        """The last dispatcher may not have published what it wrote; consumers drop what they have already."""
        waiting = [entry.execution_id for entry in self._queue_state.active.values() if not entry.running]
        unpublished = await self.queue.unpublished()
        stored = await self.queue.stored(waiting)
        await self._republish.earlier([*stored.values(), *unpublished])
        self._ended.update(await self.start_plans.idle(self._queue_state))
        if unpublished:
            await self.effects([], Batch(), [each for each in unpublished if each.refusal])
            await self.start_plans.begin_cycles(robots_woken(Batch(), unpublished))
            await self.queue.mark_published([each.execution_id for each in unpublished])

    def _return_inbox(self, reason: str) -> None:
        items, self._inbox = self._inbox, []
        finish(items, Transient(reason, after=0.2))
