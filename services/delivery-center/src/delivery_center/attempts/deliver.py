"""A request to deliver: attempt every target once, store the delivery with the outcomes in one insert, say so."""

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import assert_never

from delivery_center.attempts.attempt_targets import AttemptTargets
from delivery_center.attempts.check_permission import CheckPermission
from delivery_center.domain.delivery import Delivery, give_up, published, with_targets
from delivery_center.domain.expansion import expand
from delivery_center.domain.facts import of_first_attempts
from delivery_center.ports import Deliveries, FeedPublisher, Robots
from rota_common.clock import Clock
from rota_common.errors import Transient
from rota_contracts.messages.delivery import DeliveryRequestedV1, Permission
from rota_contracts.messages.trigger import ExecutorMode
from rota_contracts.robots.robot import Robot

WHILE_PAUSED_S = 2.0
HELD_FOR = timedelta(minutes=15)
"""A request that is older is let go of while its execution is paused: the executor asks again when it goes on, and by
then the stream has forgotten this one's id."""


class RequestDropped(Exception):
    """Nothing was sent, and the request will be made again."""


@dataclass(frozen=True)
class Deliver:
    """Safe to repeat: what is stored already is published again and not sent again.

    A crash between sending and storing sends again, with the same delivery ids; one write less on every delivery is
    worth that.
    """

    deliveries: Deliveries
    robots: Robots
    leave: CheckPermission
    attempt: AttemptTargets
    publisher: FeedPublisher
    clock: Clock

    async def __call__(self, request: DeliveryRequestedV1, *, at: datetime | None = None, trace: str = "") -> None:
        """`at`: when it was asked for."""
        context = request.context
        stored, robot = await asyncio.gather(
            self._stored(request), self.robots.find(context.team_id, context.member_id)
        )
        again = stored is not None
        if stored is None:
            try:
                first = await self._first(request, robot, at or self.clock(), trace)
            except RequestDropped:
                return
            stored = await self.deliveries.insert(first)
            again = stored is not first
        await self.publisher.publish(of_first_attempts(stored), of=stored, again=again)

    async def _stored(self, request: DeliveryRequestedV1) -> Delivery | None:
        """Outside of standard mode nothing is sent, so nobody has to look first: inserting finds out as well."""
        if request.executor_mode is not ExecutorMode.STANDARD:
            return None
        return await self.deliveries.find(request.request_id)

    async def _first(self, request: DeliveryRequestedV1, robot: Robot | None, at: datetime, trace: str) -> Delivery:
        delivery = Delivery(
            request_id=request.request_id,
            content=request.content,
            context=request.context,
            mode=request.executor_mode,
            created_at=at,
            accepted_at=self.clock(),
            traceparent=trace,
        )
        gone = why_not_deliverable(robot, request.context.member_id)
        if robot is None or gone:
            return delivery.model_copy(update={"error": gone})
        targets = expand(robot.robot_config.delivery, request_id=request.request_id, team=robot.team_id)
        planned = delivery.model_copy(update={"targets": targets})
        if targets:
            planned = await self._attempted(planned, robot)
        return published(planned).model_copy(update={"accepted_at": self.clock()})

    async def _attempted(self, planned: Delivery, robot: Robot) -> Delivery:
        """Raise Transient, with nothing sent, while the execution is paused or nobody can say whether it is; LetGo when
        it has been paused for long."""
        said = await self.leave(planned)
        match said.leave:
            case Permission.DENY:
                return give_up(planned, said.reason).model_copy(update={"error": said.reason})
            case Permission.HOLD if self.clock() - planned.created_at > HELD_FOR:
                raise RequestDropped
            case Permission.HOLD:
                raise Transient(said.reason, after=WHILE_PAUSED_S)
            case Permission.ALLOW:
                attempted = await self.attempt(planned, planned.targets, robot)
                if all(target.put_off for target in attempted) and self.attempt.heard(planned):
                    # Paused since it was asked, and nothing has left.
                    raise Transient(f"{attempted[0].put_off}", after=WHILE_PAUSED_S)
                return with_targets(planned, attempted)
            case other:
                assert_never(other)


def why_not_deliverable(robot: Robot | None, member: str) -> str | None:
    """Why nothing is sent for a robot that isn't there any more."""
    if robot is None:
        return f"there is no robot {member}: nobody says where its results go"
    return f"the robot {member} was deleted" if robot.deleted else None
