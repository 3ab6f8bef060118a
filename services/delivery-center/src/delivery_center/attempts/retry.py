"""Retrying: claim a delivery that is due, attempt what is due in it, save the outcome, say so, let go.

Saved first, then published, then released: whoever dies in between leaves a claim that ends, and the next owner
publishes what was saved. A result is never recomputed.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import assert_never

from delivery_center.attempts.attempt_targets import AttemptTargets
from delivery_center.attempts.check_permission import CheckPermission
from delivery_center.attempts.deliver import why_not_deliverable
from delivery_center.domain.delivery import Delivery, due, give_up, hold, published, with_targets, withhold
from delivery_center.domain.facts import of_last_changes
from delivery_center.ports import Deliveries, FeedPublisher, Robots
from rota_common.clock import Clock
from rota_common.errors import Permanent, Transient
from rota_common.runtime.logs import logger
from rota_contracts.messages.delivery import DeliveryPermission, Permission
from rota_contracts.robots.robot import Robot


@dataclass(frozen=True)
class Finish:
    """Save what has changed in a claimed delivery, publish it, let go; nothing if somebody else claimed it since."""

    deliveries: Deliveries
    publisher: FeedPublisher

    async def __call__(self, changed: Delivery) -> None:
        news = any(target.unpublished for target in changed.targets)
        if not await self.deliveries.save(changed if news else published(changed)):
            logger(service="delivery-center").warning("claim lost", request_id=changed.request_id)
        elif news:
            await self._publish(changed, again=False)

    async def publish_saved(self, delivery: Delivery) -> None:
        """What an earlier owner saved; some of it may be published."""
        await self._publish(delivery, again=True)

    async def _publish(self, delivery: Delivery, *, again: bool) -> None:
        await self.publisher.publish(of_last_changes(delivery), of=delivery, again=again)
        await self.deliveries.save(published(delivery))


@dataclass(frozen=True)
class Retry:
    """`lease`: how long a claim lasts; longer than an attempt may take."""

    deliveries: Deliveries
    robots: Robots
    leave: CheckPermission
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
        if any(target.unpublished for target in delivery.targets):
            await self.finish.publish_saved(delivery)  # an earlier owner died with this; due again at once if it is due
            return
        context = delivery.context
        robot = await self.robots.find(context.team_id, context.member_id)
        gone = why_not_deliverable(robot, context.member_id)
        if robot is None or gone:
            await self.finish(give_up(delivery, gone or ""))
            return
        try:
            changed = await self._attempted(delivery, robot)
        except Permanent as error:
            changed = give_up(delivery, str(error))
        await self.finish(changed)

    async def _attempted(self, delivery: Delivery, robot: Robot) -> Delivery:
        """After an attempt at what is due, if the execution may still deliver."""
        said = await self._leave(delivery)
        match said.leave:
            case Permission.ALLOW:
                return with_targets(delivery, await self.attempt(delivery, due(delivery, self.clock()), robot))
            case Permission.HOLD:
                return hold(delivery, self.clock(), said.reason)
            case Permission.DENY:
                return give_up(delivery, said.reason)
            case other:
                assert_never(other)

    async def _leave(self, delivery: Delivery) -> DeliveryPermission:
        try:
            return await self.leave(delivery)
        except Transient as error:  # nobody can say: as if it were paused
            return withhold(Permission.HOLD, str(error))
