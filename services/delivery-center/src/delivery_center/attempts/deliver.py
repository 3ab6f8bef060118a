"""The delivery of a result: attempt every target once, store the delivery with the outcomes in one insert, publish."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import assert_never

from delivery_center.attempts.attempt_targets import AttemptTargets
from delivery_center.attempts.check_permission import CheckPermission
from delivery_center.domain.delivery import Delivery, give_up, published, why_undeliverable, with_targets
from delivery_center.domain.expansion import expand
from delivery_center.domain.facts import of_first_attempts
from delivery_center.ports import Deliveries, FeedPublisher, Robots
from rota_common.clock import Clock
from rota_common.errors import Transient
from rota_contracts.envelope import Event
from rota_contracts.messages.delivery import DeliveryRequestedV1, Permission
from rota_contracts.messages.trigger import ExecutorMode
from rota_contracts.robots.robot import Robot

WHILE_PAUSED_S = 2.0
HELD_FOR = timedelta(minutes=15)
"""A request that is older is dropped while its execution is paused: the executor requests the delivery again when it is
resumed, and by then the stream has forgotten this request's id."""


class RequestDropped(Exception):
    """Nothing was sent, and the delivery will be requested again."""


@dataclass(frozen=True, kw_only=True)
class Deliver:
    """Safe to repeat: what is stored already is published again and not sent again.

    A crash between sending and storing sends again, with the same delivery ids; one write less on every delivery is
    worth that.
    """

    deliveries: Deliveries
    robots: Robots
    check_permission: CheckPermission
    attempt: AttemptTargets
    publisher: FeedPublisher
    clock: Clock

    async def __call__(self, event: Event[DeliveryRequestedV1]) -> None:
        request = event.data
        context = request.context
        stored, robot = await asyncio.gather(
            self._stored(request), self.robots.find(context.team_id, context.member_id)
        )
        again = stored is not None
        if stored is None:
            try:
                first = await self._first(event, robot)
            except RequestDropped:
                return
            stored = await self.deliveries.insert(first)
            again = stored is not first
        await self.publisher.publish(of_first_attempts(stored), of=stored, again=again)

    async def _stored(self, request: DeliveryRequestedV1) -> Delivery | None:
        """Outside of standard mode nothing is sent, so that the insert finds an earlier one soon enough."""
        if request.executor_mode is not ExecutorMode.STANDARD:
            return None
        return await self.deliveries.find(request.request_id)

    async def _first(self, event: Event[DeliveryRequestedV1], robot: Robot | None) -> Delivery:
        """The delivery after its first attempts."""
        request = event.data
        delivery = Delivery(
            request_id=request.request_id,
            content=request.content,
            context=request.context,
            mode=request.executor_mode,
            created_at=event.time,
            accepted_at=self.clock(),
            traceparent=event.traceparent,
        )
        reason = why_undeliverable(robot, request.context.member_id)
        if robot is None or reason:
            return delivery.model_copy(update={"error": reason})
        targets = expand(robot.robot_config.delivery, request_id=request.request_id, team=robot.team_id)
        planned = delivery.model_copy(update={"targets": targets})
        if targets:
            planned = await self._attempted(planned, robot)
        return published(planned).model_copy(update={"accepted_at": self.clock()})

    async def _attempted(self, planned: Delivery, robot: Robot) -> Delivery:
        """Raise Transient, with nothing sent, while the execution is paused or its permission is unknown;
        RequestDropped when it has been paused for long."""
        permission = await self.check_permission(planned)
        match permission.leave:
            case Permission.DENY:
                return give_up(planned, permission.reason).model_copy(update={"error": permission.reason})
            case Permission.HOLD if self.clock() - planned.created_at > HELD_FOR:
                raise RequestDropped
            case Permission.HOLD:
                raise Transient(permission.reason, after=WHILE_PAUSED_S)
            case Permission.ALLOW:
                attempted = await self.attempt(planned, planned.targets, robot)
                if all(target.postponed for target in attempted) and self.attempt.withheld(planned):
                    # Paused after the permission was given, and nothing has been sent.
                    raise Transient(f"{attempted[0].postponed}", after=WHILE_PAUSED_S)
                return with_targets(planned, attempted)
            case other:
                assert_never(other)
