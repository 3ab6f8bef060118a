"""Changes of the plan queue by people."""

from dataclasses import dataclass

from rota_common.clock import Clock
from rota_contracts.messages.plan import ChangePlan, ChangePlanReply, ListPlans, PlanPage
from scheduler.domain.plan import Plan, change, plan_key, refuse_change, remove
from scheduler.domain.robot_summary import ROBOT_DELETED, Key
from scheduler.event_publisher import EventPublisher
from scheduler.ports import Plans, Queue, Robots

MANY = 1000


@dataclass(frozen=True, kw_only=True)
class ChangePlans:
    """Each change is stored together with its fact, which is published afterwards."""

    plans: Plans
    queue: Queue
    robots: Robots
    publisher: EventPublisher
    clock: Clock

    async def __call__(self, question: ChangePlan) -> ChangePlanReply:
        """Add, update or remove; idempotent. A concurrent change comes first."""
        key = plan_key(question.team_id, question.member_id, question.plan_id)
        robot = await self.robots.find(question.team_id, question.member_id)
        problem = refuse_change(robot, question)
        while True:
            plan = await self.plans.find(key)
            wanted = problem or change(plan, question, self.clock())
            if isinstance(wanted, str):
                return ChangePlanReply(item=plan.item if plan else None, refused=wanted)
            if wanted is None or await self._store(wanted):
                stored = wanted or plan
                if robot is not None and not robot.has_cycles:
                    await self._begin_if_idle(robot.key)
                if stored is not None and stored.unpublished:
                    await self.publish(stored)
                return ChangePlanReply(item=stored.item if stored else None)

    async def _begin_if_idle(self, key: Key) -> None:
        """Of a robot that no clock wakes, what has no time begins when its next run ends: at once if there is none."""
        if not (await self.queue.open_counts([key])).get(key):
            await self.plans.call([key], self.clock())

    async def list(self, question: ListPlans) -> PlanPage:
        return PlanPage(items=await self.plans.listed(question.team_id, question.member_id, question.limit))

    async def remove_all(self, team: str, member: str) -> None:
        """Remove all items of a deleted robot."""
        robot = await self.robots.find(team, member)
        if robot is not None and not robot.deleted:
            return
        while items := await self.plans.listed(team, member, MANY):
            for item in items:
                plan = await self.plans.find(plan_key(team, member, item.plan_id))
                if plan is not None:
                    await self.end(remove(plan, self.clock(), reason=ROBOT_DELETED))

    async def end(self, plan: Plan) -> None:
        """Store this last revision of an item, unless it was changed since it was read."""
        if await self.plans.change(plan):
            await self.publish(plan)

    async def publish(self, plan: Plan) -> None:
        """Publish the facts that are not marked as published; some may be."""
        await self.publisher.publish_plan(plan)
        await self.plans.mark_published(plan)

    async def _store(self, plan: Plan) -> bool:
        return await (self.plans.add(plan) if plan.changes == 1 else self.plans.change(plan))
