"""Adding to the plan queue, changing and removing what is in it (SC-16, TG-09)."""

from rota_common.clock import Clock
from rota_contracts.messages.plan import ChangePlan, ChangePlanReply
from scheduler.event_publisher import EventPublisher
from scheduler.plan import Plan, change, plan_key, refuse_change, removed
from scheduler.ports import Plans, Robots

MANY = 1000


class ChangePlans:
    """What people do to the plan queue. Each change is stored together with its fact, which is published after."""

    def __init__(self, plans: Plans, robots: Robots, publisher: EventPublisher, clock: Clock) -> None:
        self._plans, self._robots, self._publisher, self._clock = plans, robots, publisher, clock

    async def __call__(self, question: ChangePlan) -> ChangePlanReply:
        """Add, update or remove; done twice it is done once. Whoever changes it at the same moment comes before."""
        key = plan_key(question.team_id, question.member_id, question.plan_id)
        problem = refuse_change(await self._robots.find(question.team_id, question.member_id), question)
        while True:
            plan = await self._plans.find(key)
            wanted = problem or change(plan, question, self._clock())
            if isinstance(wanted, str):
                return ChangePlanReply(item=plan.item if plan else None, refused=wanted)
            if wanted is None or await self._stored(wanted):
                stored = wanted or plan
                if stored is not None and stored.unpublished:
                    await self.publish(stored)
                return ChangePlanReply(item=stored.item if stored else None)

    async def drop(self, team: str, member: str) -> None:
        """The robot is gone, and what it had planned with it."""
        robot = await self._robots.find(team, member)
        if robot is not None and not robot.deleted:
            return
        while items := await self._plans.listed(team, member, MANY):
            for item in items:
                plan = await self._plans.find(plan_key(team, member, item.plan_id))
                if plan is not None:
                    await self.end(removed(plan, self._clock(), reason="the robot was deleted"))

    async def end(self, plan: Plan) -> None:
        """Take it off the queue so, unless somebody changed it since it was read."""
        if await self._plans.change(plan):
            await self.publish(plan)

    async def publish(self, plan: Plan) -> None:
        """Publish what isn't known to be published; it may have been."""
        await self._publisher.publish_plan(plan)
        await self._plans.mark_published(plan)

    async def _stored(self, plan: Plan) -> bool:
        return await (self._plans.add(plan) if plan.changes == 1 else self._plans.change(plan))
