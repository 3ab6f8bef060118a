"""A dispatcher over adapters in memory, for tests of what it writes and publishes."""

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

from rota_common.bus.room import BusRoom, NatsUsage
from rota_common.testing.in_memory_bus import InMemoryBus
from rota_common.testing.samples import MEMBER, NOON, TEAM, SetClock, a_robot
from rota_contracts.envelope import Event
from rota_contracts.ids import execution_id
from rota_contracts.messages.execution import ExecStatus, ExecutionFinishedV1, ExecutionStartedV1
from rota_contracts.messages.parking import ExecutionParkedV1, ExecutionResumableV1
from rota_contracts.messages.trigger import RejectReason
from rota_contracts.model import Payload
from rota_contracts.robots.robot import Robot
from scheduler.adapters.in_memory_plans import InMemoryPlans
from scheduler.adapters.in_memory_queue import InMemoryCancelRequests, InMemoryQueue
from scheduler.dispatching.dispatch_signals import DispatchSignals
from scheduler.dispatching.dispatcher import Dispatcher, Timeouts
from scheduler.dispatching.run_end_effects import RunEndEffects
from scheduler.domain.batch import Batch, StoredTrigger
from scheduler.domain.plan import Plan
from scheduler.domain.queue import EntryState, QueueState
from scheduler.domain.robot_summary import Key, RobotSummary, summary_of
from scheduler.plans.change_plans import ChangePlans
from scheduler.plans.start_plans import StartPlans
from scheduler.triggers.cancel_queued import CancelQueued

OWNER = {"team_id": TEAM, "member_id": MEMBER}
LEASE = 0.06


class Robots:
    """Definitions; one that is an exception can't be read."""

    def __init__(self) -> None:
        self.kept: dict[str, Robot | Exception] = {MEMBER: a_robot()}

    async def find(self, team: str, member: str, *, rev: int | None = None) -> RobotSummary | None:
        found = self.kept.get(member)
        if isinstance(found, Exception):
            raise found
        return None if found is None else summary_of(found)

    async def stopped(self, keys: Collection[Key]) -> set[Key]:
        robots = {key: self.kept.get(key[1]) for key in keys}
        return {key for key, robot in robots.items() if not isinstance(robot, Robot) or not summary_of(robot).active}


class PublishedEvents:
    """A publisher that records. `away` makes the next batch fail; `outstanding` are the triggers whose request waits in
    the stream."""

    def __init__(self) -> None:
        self.requested_ids: list[str] = []
        self.again: list[tuple[str, int]] = []
        self.grants: list[tuple[str, int]] = []
        self.plans: list[tuple[str, str]] = []
        self.rejected: list[tuple[str, RejectReason]] = []
        self.statuses: list[tuple[str, str]] = []
        self.outstanding: set[str] = set()
        self.looked_for = 0
        self.away = False

    async def is_outstanding(self, stored: StoredTrigger) -> bool:
        self.looked_for += 1
        return stored.trigger.trigger_id in self.outstanding

    async def publish_batch(self, batch: Batch, earlier: Sequence[StoredTrigger]) -> None:
        if self.away:
            self.away = False
            raise ConnectionError("NATS is away")
        admitted = [each for each in earlier if each.state is EntryState.ADMITTED]
        new = [(each.trigger.trigger_id, each) for each in batch.decided]
        self.requested_ids += [name for name, each in new if each.admitted]
        self.requested_ids += [each.trigger.trigger_id for each in admitted]
        self.grants += [(each.trigger.trigger_id, each.parks) for each in admitted if each.parks]
        refusals = [(name, each.verdict) for name, each in new if not each.accepted]
        refusals += [(each.trigger.trigger_id, each.refusal) for each in earlier if each.refusal]
        self.rejected += [(name, found.reason) for name, found in refusals]  # type: ignore[union-attr]  # all are refusals

    async def publish_request(self, stored: StoredTrigger, *, again: int = 0) -> None:
        self.again.append((stored.trigger.trigger_id, again))

    async def publish_failed(self, end: Event[ExecutionFinishedV1]) -> None:
        self.statuses.append((end.data.execution_id, "failed"))

    async def publish_recovered(self, end: Event[ExecutionFinishedV1]) -> None:
        self.statuses.append((end.data.execution_id, "recovered"))

    async def publish_plan(self, plan: Plan) -> None:
        self.plans += [(each.fact.plan_id, each.fact.action) for each in plan.unpublished]


class Plans(InMemoryPlans):
    """`checked` is set whenever the dispatcher checks for due items."""

    def __init__(self) -> None:
        super().__init__()
        self.checked = asyncio.Event()

    async def due(self, now: datetime, limit: int) -> list[Plan]:
        self.checked.set()
        return await super().due(now, limit)


class Harness:
    """A dispatcher over adapters in memory; the lease is judged by a clock that stands still."""

    def __init__(self, *, pool: int = 10, queue: InMemoryQueue | None = None) -> None:
        self.clock = SetClock()
        self.plans = Plans()
        self.queue = queue or InMemoryQueue(lease=60, clock=self.clock, plans=self.plans)
        self.robots, self.published = Robots(), PublishedEvents()
        self.rearmed: list[tuple[str, bool | None]] = []
        self.lost: list[Any] = []
        self.pool, self.room = pool, BusRoom(usage=NatsUsage(InMemoryBus().connection("scheduler")))
        self.signals = DispatchSignals()
        cancel_requests = InMemoryCancelRequests(self.queue, clock=self.clock)
        publisher: Any = self.published
        reconcile: Any = self._reconcile
        self.change_plan = ChangePlans(
            plans=self.plans, queue=self.queue, robots=self.robots, publisher=publisher, clock=self.clock
        )
        self.dispatcher = Dispatcher(
            queue=self.queue,
            cancel_requests=cancel_requests,
            start_plans=StartPlans(
                plans=self.plans,
                queue=self.queue,
                change_plans=self.change_plan,
                robots=self.robots,
                room=self.room,
                clock=self.clock,
            ),
            robots=self.robots,
            publisher=publisher,
            effects=RunEndEffects(robots=self.robots, publisher=publisher, rearm=self._rearm),
            reconcile=reconcile,
            signals=self.signals,
            slots=lambda: self.pool,
            timeouts=Timeouts(lease=LEASE, republish_after=60),
            owner="first",
            clock=self.clock,
        )
        self.withdraw = CancelQueued(cancel_requests=cancel_requests, wake=self.signals.wake, clock=self.clock, wait=1)

    async def _rearm(self, key: Key, execution: str, *, failed: bool | None) -> None:
        self.rearmed.append((execution, failed))

    async def _reconcile(self, queue_state: QueueState) -> list[Any]:
        lost, self.lost = self.lost, []
        return [as_event(each) for each in lost]

    @asynccontextmanager
    async def open(self) -> AsyncIterator["Harness"]:
        loop = asyncio.create_task(self._forever())
        await self.signals.has_lease.wait()
        yield self
        loop.cancel()
        await asyncio.gather(loop, return_exceptions=True)

    async def _forever(self) -> None:
        """Restarts the loop as a service does."""
        while True:
            try:
                await self.dispatcher.run()
            except Exception:
                await asyncio.sleep(0)

    async def take(self, *events: Payload) -> None:
        await asyncio.gather(*(self.dispatcher.take(as_event(each)) for each in events))

    async def state(self, trigger_id: str) -> EntryState | None:
        stored = (await self.queue.stored([execution_id(trigger_id)])).get(execution_id(trigger_id))
        return stored.state if stored else None


def as_event(data: Payload) -> Event[Any]:
    return Event(id="x", type="x", source="x", time=NOON, data=data)


def started(trigger_id: str, *, grant: int = 0) -> ExecutionStartedV1:
    return ExecutionStartedV1(execution_id=execution_id(trigger_id), started_at=NOON, grant=grant, **OWNER)


def parked(trigger_id: str, parks: int = 1) -> ExecutionParkedV1:
    given: dict[str, Any] = {"status": ExecStatus.WAITING, "parked_at": NOON, **OWNER}
    return ExecutionParkedV1(execution_id=execution_id(trigger_id), parks=parks, **given)


def resumable(trigger_id: str, parks: int = 1) -> ExecutionResumableV1:
    return ExecutionResumableV1(execution_id=execution_id(trigger_id), parks=parks, resumable_at=NOON, **OWNER)


def finished(trigger_id: str) -> ExecutionFinishedV1:
    given: dict[str, Any] = {"trigger_id": trigger_id, "status": ExecStatus.COMPLETED, "finished_at": NOON, **OWNER}
    return ExecutionFinishedV1(execution_id=execution_id(trigger_id), **given)
