"""What is planned and due is started: queued as a trigger of its robot, in one batch with the end of the plan."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from rota_common.clock import Clock
from rota_common.runtime.logs import logger
from scheduler.change_plans import ChangePlans
from scheduler.decide import give_slots
from scheduler.domain import EntryState, QueueState, Refusal, consider
from scheduler.plan import Plan, removed, started, trigger_of
from scheduler.ports import Batch, Decided, Plans, Queue, Robots

AT_ONCE = 64

LOOK_AGAIN = timedelta(seconds=30)
"""An item whose robot can't take it now is looked at again so much later."""

PUBLISH_AGAIN_AFTER = timedelta(seconds=5)
"""Facts stored so long ago and not yet marked as published are published again."""


class StartPlans:
    """The dispatcher's part of the plan queue."""

    def __init__(self, plans: Plans, queue: Queue, changing: ChangePlans, robots: Robots, clock: Clock) -> None:
        self._plans, self._queue, self._changing, self._robots = plans, queue, changing, robots
        self._clock = clock
        self._log = logger(service="scheduler")

    async def due(self, queue_state: QueueState, *, pool: int) -> Batch:
        """What to write to start what is due; `queue_state` is changed to what it will be then.

        A robot that is gone loses its plan; one that is paused, switched off or full keeps it for later.
        """
        now = self._clock()
        batch = Batch(at=now)
        plans = await self._plans.due(now, AT_ONCE)
        ran = await self._queue.stored([plan.execution_id for plan in plans]) if plans else {}
        for plan in plans:
            if plan.execution_id in ran:  # an item that was forgotten by now had the same id, and its run is remembered
                await self._changing.end(started(plan, now))
                continue
            try:
                await self._consider(plan, queue_state, batch, now)
            except Exception as error:  # its robot can't be read; the others have their turn
                self._log.warning("a plan can't be started", plan=plan.key, reason=repr(error))
                await self._plans.postpone(plan, now + LOOK_AGAIN)
        give_slots(batch, queue_state, pool=pool, now=now)
        return batch

    async def _consider(self, plan: Plan, queue_state: QueueState, batch: Batch, now: datetime) -> None:
        robot = await self._robots.find(*plan.owner)
        if robot is None or robot.deleted:
            await self._changing.end(removed(plan, now, reason="the robot is gone"))
            return
        trigger = trigger_of(plan, robot, now)
        verdict = consider(trigger, robot, queue_state, now=now)
        if isinstance(verdict, Refusal):
            await self._plans.postpone(plan, now + LOOK_AGAIN)
            return
        queue_state.put(verdict, EntryState.QUEUED)
        batch.decided.append(Decided(trigger, "", verdict))
        batch.plans.append(started(plan, now))

    async def begin_cycles(self, robots: Sequence[tuple[str, str]]) -> None:
        """What these robots have planned without a time is due now (DEC-14)."""
        if robots:
            await self._plans.call(robots, self._clock())

    async def publish(self, plans: Sequence[Plan]) -> None:
        for plan in plans:
            await self._changing.publish(plan)

    async def publish_overdue(self) -> None:
        """What was stored, and perhaps not published because its replica was killed."""
        await self.publish(await self._plans.unpublished(self._clock() - PUBLISH_AGAIN_AFTER, AT_ONCE))
