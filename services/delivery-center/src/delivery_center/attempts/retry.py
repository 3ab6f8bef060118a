"""Retries: claim a delivery that is due, attempt what is due in it, save the outcomes, publish them, release it.

Saved first, then published, then released: a replica that dies in between leaves a claim that expires, and the next
owner publishes what was saved. A result is never recomputed.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import assert_never

from delivery_center.attempts.attempt_targets import AttemptTargets
from delivery_center.attempts.check_permission import CheckPermission
from delivery_center.domain.delivery import (
    Delivery,
    due,
    give_up,
    hold,
    interrupt,
    published,
    why_undeliverable,
    with_targets,
    withhold,
)
from delivery_center.domain.facts import of_first_attempts, of_last_changes
from delivery_center.ports import Deliveries, FeedPublisher, Robots
from rota_common.clock import Clock
from rota_common.errors import Permanent, Transient
from rota_common.runtime.logs import logger
from rota_contracts.messages.delivery import DeliveryPermission, Permission
from rota_contracts.robots.robot import Robot


@dataclass(frozen=True, kw_only=True)
class Finish:
    """Save the changes of a claimed delivery, publish them, release it; nothing if it was claimed again since."""

    deliveries: Deliveries
    publisher: FeedPublisher

    async def __call__(self, changed: Delivery) -> None:
        unpublished = any(target.unpublished for target in changed.targets)
        position = await self.publisher.position() if unpublished else changed.feed_position
        changed = changed.model_copy(update={"starting": False, "feed_position": position})
        if not await self.deliveries.save(changed if unpublished else published(changed)):
            logger(service="delivery-center").warning("claim lost", request_id=changed.request_id)
        elif unpublished:
            await self._publish(changed, again=False)

    async def publish_saved(self, delivery: Delivery) -> None:
        """Publish what an earlier owner saved; some of it may be published already."""
        await self._publish(delivery, again=True)

    async def leave_to_sweepers(self, interrupted: Delivery) -> None:
        """Answer a request that didn't come again, with its targets postponed."""
        if await self.deliveries.save(interrupted):
            await self.publisher.publish(of_first_attempts(interrupted), of=interrupted, again=True)
            await self.deliveries.save(published(interrupted))

    async def _publish(self, delivery: Delivery, *, again: bool) -> None:
        await self.publisher.publish(of_last_changes(delivery), of=delivery, again=again)
        await self.deliveries.save(published(delivery))


@dataclass(frozen=True, kw_only=True)
class Retry:
    """`lease`: how long a claim lasts; longer than an attempt may take."""

    deliveries: Deliveries
    robots: Robots
    check_permission: CheckPermission
    attempt: AttemptTargets
    finish: Finish
    clock: Clock
    lease: timedelta

    async def claim(self) -> Delivery | None:
        """A delivery that is due, for this worker alone."""
        return await self.deliveries.claim_due(self.clock(), self.lease)

    async def __call__(self, delivery: Delivery) -> None:
        """Do what is due in a claimed delivery."""
        if any(target.unpublished for target in delivery.targets):
            await self.finish.publish_saved(delivery)  # an earlier owner died; due again at once if it is due
            return
        if delivery.starting:
            await self.finish.leave_to_sweepers(interrupt(delivery, self.clock()))
            return
        context = delivery.context
        robot = await self.robots.known(context.team_id, context.member_id)
        reason = why_undeliverable(robot, context.member_id)
        if robot is None or reason:
            await self.finish(give_up(delivery, reason or ""))
            return
        try:
            changed = await self._attempted(delivery, robot)
        except Permanent as error:
            changed = give_up(delivery, str(error))
        await self.finish(changed)

    async def _attempted(self, delivery: Delivery, robot: Robot) -> Delivery:
        """After an attempt at what is due, if the execution may still deliver."""
        permission = await self._permission(delivery)
        match permission.leave:
            case Permission.ALLOW:
                payload = await self.attempt.read(delivery, robot)
                return with_targets(delivery, await self.attempt(delivery, due(delivery, self.clock()), payload))
            case Permission.HOLD:
                return hold(delivery, self.clock(), permission.reason)
            case Permission.DENY:
                return give_up(delivery, permission.reason)
            case other:
                assert_never(other)

    async def _permission(self, delivery: Delivery) -> DeliveryPermission:
        try:
            return await self.check_permission(delivery)
        except Transient as error:  # an unknown permission counts as a pause
            return withhold(Permission.HOLD, str(error))
