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
from scheduler.decide import Intake, LookedUp, News, cycles, decide, look_up
from scheduler.domain import Board
from scheduler.event_publisher import Announce
from scheduler.ports import Batch, Known, LeaseLost, PlansChanged, Queue, Robots, Withdrawals
from scheduler.reconcile_slots import AskAfterSlots
from scheduler.run_end_effects import Aftermath
from scheduler.start_plans import StartPlans

MAX_BATCH = 256
MANY = 64
"""So many reports are written even if nobody waits for them."""


@dataclass
class Item:
    """A message in hand, and the promise that its handler waits for before it is acknowledged."""

    event: News
    settled: asyncio.Future[None]


@dataclass(frozen=True)
class Pace:
    """`slots`: how many executions may run at once by now. Times in seconds."""

    slots: Callable[[], int]
    lease: float
    republish_after: float


class Dispatcher:
    """`held` is set while this replica dispatches: only then do its consumers take messages."""

    def __init__(
        self,
        queue: Queue,
        withdrawals: Withdrawals,
        planned: StartPlans,
        robots: Robots,
        announce: Announce,
        aftermath: Aftermath,
        ask_after: AskAfterSlots,
        *,
        owner: str,
        pace: Pace,
        clock: Clock,
    ) -> None:
        self._queue, self._withdrawals, self._planned = queue, withdrawals, planned
        self._robots, self._announce, self._clock = robots, announce, clock
        self._aftermath, self._ask_after = aftermath, ask_after
        self._owner, self._slots, self._lease = owner, pace.slots, pace.lease
        self._republish_after = timedelta(seconds=pace.republish_after)
        self.held = asyncio.Event()
        self._inbox: list[Item] = []
        self._news = asyncio.Event()
        self._asked = False
        self._epoch = 0
        self._board = Board()
        self._again: dict[str, int] = {}
        self._log = logger(service="scheduler")

    async def take(self, event: News) -> None:
        """Return once the message has been dealt with, together with whatever else came in; raise if it wasn't."""
        if not self.held.is_set():
            raise Transient("another replica dispatches", after=0.2)
        item = Item(event, asyncio.get_running_loop().create_future())
        self._inbox.append(item)
        if self._urgent(event):
            self._news.set()
        await item.settled

    def look(self) -> None:
        """Something is due, is to be taken back, or can begin: the next turn is now."""
        self._asked = True
        self._news.set()

    def _urgent(self, event: News) -> bool:
        """Reports that nobody waits for are written with the next turn, or when the lease is renewed."""
        freed = isinstance(event.data, (ExecutionFinishedV1, ExecutionParkedV1)) and self._board.queued
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
            self._drop("the scheduler stops")
            with contextlib.suppress(Exception):  # if the database is away, the lease ends by itself
                await asyncio.wait_for(self._queue.release(self._owner), 1)

    async def _dispatch(self, epoch: int) -> None:
        self._epoch, self._board, self._again = epoch, await self._queue.board(), {}
        self._log.info("dispatching", epoch=epoch, queued=len(self._board.queued), active=len(self._board.active))
        try:
            await self._publish_decided()
            self.held.set()
            renewed = monotonic()
            while True:
                await self._wait(self._lease / 3 - (monotonic() - renewed))
                due = monotonic() - renewed >= self._lease / 3
                if due or self._news.is_set():
                    self._news.clear()
                    await self._turn(look=due or self._asked)
                if due:
                    renewed = monotonic()
                    if await self._queue.acquire(self._owner) != epoch:
                        return
                    await self._publish_overdue()
                    await self._start_planned()
                    await self._mend()
        except LeaseLost as lost:
            self._log.warning("another replica dispatches now", reason=str(lost))
        finally:
            self.held.clear()
            self._drop("another replica dispatches")

    async def _wait(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), max(seconds, 0.001))

    async def _turn(self, *, look: bool) -> None:
        """One batch: decide, write it all or nothing, tell the others, let the handlers acknowledge.

        With `look`, also what is to be taken back and what is due: otherwise a turn has no query to spare for it.
        """
        items, self._inbox = self._inbox[:MAX_BATCH], self._inbox[MAX_BATCH:]
        if self._inbox:
            self._news.set()
        try:
            await self._settle(items, look=look)
        except BaseException as error:
            passes = isinstance(error, LeaseLost) or not isinstance(error, Exception)
            _settle_all(items, Transient("another replica dispatches", after=0.2) if passes else error)
            raise
        _settle_all(items, None)

    async def _settle(self, items: list[Item], *, look: bool) -> None:
        intake = Intake([item.event for item in items])
        if look:
            self._asked = False
            intake = Intake(intake.events, await self._withdrawals.asked(), await self._queue.undecided(MAX_BATCH))
            if len(intake.due) == MAX_BATCH:
                self.look()
        if not intake and not self._may_begin():
            return
        seen = await look_up(intake, self._queue, self._robots)
        events = [item.event for item in items if not _set_aside(item, seen)]
        await self._decide(replace(intake, events=events), seen)

    def _may_begin(self) -> bool:
        """Does something wait although there is room? So it is when there is more room than before."""
        return bool(self._board.queued) and len(self._board.active) < self._slots()

    async def _decide(self, intake: Intake, seen: LookedUp) -> None:
        board, repeated = self._board.copy(), seen.repeated(intake.events)
        batch = decide(intake, seen, board, pool=self._slots(), now=self._clock())
        gone = await self._commit(batch, board, repeated)
        ends = [event.data for event in intake.events if isinstance(event.data, ExecutionFinishedV1)]
        await self._aftermath(ends, batch, gone)
        await self._planned.begin_cycles(cycles(batch, repeated))
        clocked = [each.execution_id for each in batch.decided if each.clocked]
        if told := [*(each.execution_id for each in gone), *clocked]:
            await self._queue.told(told)  # last of all: whoever takes over does what follows of what isn't told

    async def _mend(self) -> None:
        """Reports that were lost are made up for."""
        if found := await self._ask_after(self._board):
            self._log.warning("reports were lost", executions=[event.data.execution_id for event in found])  # type: ignore[union-attr]  # all of them are reports
            await self._decide(Intake(found), LookedUp({}, {}))

    async def _commit(self, batch: Batch, board: Board, repeated: Sequence[Known]) -> list[Known]:
        """Write it, and only then let it be known. What it has taken back."""
        if batch:
            await self._queue.write(batch, owner=self._owner, epoch=self._epoch)
        self._board = board
        for state, entries in (("queued", board.queued), ("active", board.active), ("parked", board.parked)):
            QUEUE.labels(state).set(len(entries))
        gone = [each.execution_id for each in batch.taken_back]
        changed = [*batch.admitted, *gone]
        older = await self._queue.known(changed) if changed else {}
        await self._announce.batch(batch, [*repeated, *older.values()])
        return [older[each] for each in gone if each in older]

    async def _start_planned(self) -> None:
        """A batch of its own: if somebody changes a plan at this moment, nothing else has to wait for the next try."""
        board = self._board.copy()
        batch = await self._planned.due(board, pool=self._slots())
        if batch:
            try:
                await self._commit(batch, board, [])
            except PlansChanged as changed:
                self._log.info("plans are started a little later", reason=str(changed))
            else:
                await self._planned.tell(batch.plans)
        await self._planned.tell_overdue()

    async def _publish_decided(self) -> None:
        """What the last dispatcher wrote may not have been published: the others drop what they have already."""
        waiting = [entry.execution_id for entry in self._board.active.values() if not entry.running]
        gone = await self._queue.untold()
        await self._announce.batch(Batch(), [*(await self._queue.known(waiting)).values(), *gone])
        if gone:
            await self._aftermath([], Batch(), [each for each in gone if each.refusal])
            await self._planned.begin_cycles(cycles(Batch(), gone))
            await self._queue.told([each.execution_id for each in gone])

    async def _publish_overdue(self) -> None:
        """Requests that no executor has begun for long: sent again, past the stream's memory of ids."""
        limit = self._clock() - self._republish_after
        late = [
            entry.execution_id
            for entry in self._board.active.values()
            if not entry.running and entry.admitted_at is not None and entry.admitted_at < limit
        ]
        if not late:
            return
        for known in (await self._queue.known(late)).values():
            again = self._again.get(known.execution_id, 0) + 1
            self._again[known.execution_id] = again
            await self._announce.requested(known, again=again)
            entry = self._board.active[known.execution_id]
            self._board.active[known.execution_id] = replace(entry, admitted_at=self._clock())

    def _drop(self, reason: str) -> None:
        items, self._inbox = self._inbox, []
        _settle_all(items, Transient(reason, after=0.2))


def _set_aside(item: Item, seen: LookedUp) -> bool:
    """A trigger whose robot can't be read fails by itself, and not with all that came in with it."""
    event = item.event
    reason = seen.problem(event.data) if isinstance(event.data, TriggerReceivedV1) else None
    if reason is not None and not item.settled.done():
        item.settled.set_exception(reason)
    return reason is not None


def _settle_all(items: list[Item], error: BaseException | None) -> None:
    for item in items:
        if item.settled.done():
            continue
        if error is None:
            item.settled.set_result(None)
        else:
            item.settled.set_exception(error)
