"""The start of due plan items: each is queued as a trigger of its robot, in one batch with the end of the item."""

import contextlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from rota_common.bus.room import BusRoom
from rota_common.clock import Clock
from rota_common.runtime.logs import logger
from rota_common.runtime.traces import derived
from scheduler.domain.admission import consider, enqueue
from scheduler.domain.batch import Batch, Decided
from scheduler.domain.plan import Plan, remove, start, trigger_of
from scheduler.domain.queue import Entry, QueueState, Refusal
from scheduler.domain.robot_summary import ROBOT_DELETED, Key, RobotSummary
from scheduler.plans.change_plans import ChangePlans
from scheduler.ports import Plans, Queue, Robots

AT_ONCE = 64

CHECK_AGAIN = timedelta(seconds=30)
"""The delay until an item is checked again whose robot can't take it now."""

PUBLISH_AGAIN_AFTER = timedelta(seconds=5)
"""Facts stored this long ago and not yet marked as published are published again."""

_log = logger(service="scheduler")


@dataclass(frozen=True, kw_only=True)
class StartPlans:
    """The dispatcher's part of the plan queue."""

    plans: Plans
    queue: Queue
    change_plans: ChangePlans
    robots: Robots
    room: BusRoom
    clock: Clock

    async def due(self, queue_state: QueueState, *, pool: int) -> Batch:
        """The batch that starts what is due; `queue_state` is changed to the state after it.

        A deleted robot's plan is removed; a robot that is paused, switched off or full starts its items later, and
        nothing starts while there is no room on the bus.
        """
        now = self.clock()
        batch = Batch(at=now)
        plans = [] if self.room.refusal else await self.plans.due(now, AT_ONCE)
        ran, unreadable = await self.queue.look_up([plan.execution_id for plan in plans]) if plans else ({}, set())
        plans = [plan for plan in plans if plan.execution_id not in unreadable]
        for plan in plans:
            if plan.execution_id in ran:  # an expired item had the same id, and its run is still stored
                await self.change_plans.end(start(plan, now))
                continue
            try:
                await self._queue(plan, queue_state, batch, now, pool)
            except Exception as error:  # its robot can't be read; the other items start
                _log.warning("a plan can't be started", plan=plan.key, reason=repr(error))
                await self.plans.postpone(plan, now + CHECK_AGAIN)
        stopped = await self.robots.stopped(queue_state.waiting_robots())
        batch.give_slots(queue_state, pool=pool, now=now, stopped=stopped)
        return batch

    async def _queue(self, plan: Plan, queue_state: QueueState, batch: Batch, now: datetime, pool: int) -> None:
        robot = await self.robots.find(*plan.owner)
        if robot is None or robot.deleted:
            await self.change_plans.end(remove(plan, now, reason=ROBOT_DELETED))
            return
        if self.room.over_share(robot.team):
            await self.plans.postpone(plan, now + CHECK_AGAIN)
            return
        trigger = trigger_of(plan, robot, now)
        verdict = consider(trigger, robot, now=now)
        if isinstance(verdict, Entry):
            verdict = enqueue(verdict, robot.quota, queue_state, pool=pool, now=now)
        if isinstance(verdict, Refusal):
            await self.plans.postpone(plan, now + CHECK_AGAIN)
            return
        batch.decided.append(Decided(trigger, derived(plan.key), verdict))
        batch.plans.append(start(plan, now))

    async def begin_cycles(self, robots: Sequence[Key]) -> None:
        """The items of these robots without a time are due now."""
        if robots:
            await self.plans.call(robots, self.clock())

    async def end_runs(self, robots: Collection[Key]) -> None:
        """Runs of these robots have ended: of those that no clock wakes, the items without a time are due now."""
        found = {key: await self._readable(key) for key in robots}
        await self.begin_cycles(sorted(key for key, robot in found.items() if robot and not robot.has_cycles))

    async def idle(self, queue_state: QueueState) -> list[Key]:
        """The robots with items without a time of which no run waits or holds a slot: the last replica may not have
        noticed the end of one."""
        open_runs = {entry.robot for entry in (*queue_state.queued.values(), *queue_state.active.values())}
        return [key for key in await self.plans.timeless(AT_ONCE) if key not in open_runs]

    async def _readable(self, key: Key) -> RobotSummary | None:
        with contextlib.suppress(Exception):  # it is asked again when its next run ends
            return await self.robots.find(*key)
        return None

    async def publish(self, plans: Sequence[Plan]) -> None:
        for plan in plans:
            await self.change_plans.publish(plan)

    async def publish_overdue(self) -> None:
        """Facts that a killed replica may have left unpublished."""
        await self.publish(await self.plans.unpublished(self.clock() - PUBLISH_AGAIN_AFTER, AT_ONCE))
