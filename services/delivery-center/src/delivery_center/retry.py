"""Retrying: claim a delivery that is due, attempt what is due in it, save the outcome, say so, let go.

Saved first, then published, then released: whoever dies in between leaves a claim that ends, and the next owner
publishes what was saved. A result is never recomputed.
"""

from dataclasses import dataclass
from datetime import timedelta

from delivery_center.attempt_targets import AttemptTargets
from delivery_center.deliver import why_gone
from delivery_center.domain import Delivery, due, give_up, told, with_targets
from delivery_center.facts import of_last_changes
from delivery_center.ports import Bulletin, Deliveries, Robots
from rota_common.clock import Clock
from rota_common.errors import Permanent
from rota_common.logs import logger


@dataclass(frozen=True)
class Finish:
    """Save what has changed in a claimed delivery, publish it, let go; nothing if somebody else claimed it since."""

    deliveries: Deliveries
    bulletin: Bulletin

    async def __call__(self, changed: Delivery) -> None:
        if not await self.deliveries.save(changed):
            logger(service="delivery-center").warning("claim lost", request_id=changed.request_id)
            return
        await self.publish_saved(changed)

    async def publish_saved(self, delivery: Delivery) -> None:
        await self.bulletin.publish(of_last_changes(delivery), of=delivery)
        await self.deliveries.save(told(delivery))


@dataclass(frozen=True)
class Retry:
    """`lease`: how long a claim lasts; longer than an attempt may take."""

    deliveries: Deliveries
    robots: Robots
    attempt: AttemptTargets
    finish: Finish
    clock: Clock
    lease: timedelta

    async def claim(self) -> Delivery | None:
        """A delivery that is due, for this worker alone."""
        now = self.clock()
        return await self.deliveries.claim_due(now, now + self.lease)

    async def __call__(self, delivery: Delivery) -> None:
        """Do what is due in a claimed delivery."""
        if any(target.untold for target in delivery.targets):
            await self.finish.publish_saved(delivery)  # an earlier owner died with this; due again at once if it is due
            return
        context = delivery.context
        robot = await self.robots.find(context.team_id, context.member_id)
        gone = why_gone(robot, context.member_id)
        if robot is None or gone:
            await self.finish(give_up(delivery, gone or ""))
            return
        try:
            attempted = await self.attempt(delivery, due(delivery, self.clock()), robot)
        except Permanent as error:
            await self.finish(give_up(delivery, str(error)))
            return
        await self.finish(with_targets(delivery, attempted))
