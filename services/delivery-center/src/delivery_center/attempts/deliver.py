"""The delivery of a result: store its targets, attempt each once, store the outcomes, publish."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import assert_never

from delivery_center.attempts.attempt_targets import AttemptTargets, DeliveryPayload
from delivery_center.attempts.check_permission import CheckPermission
from delivery_center.domain.delivery import (
    LONGEST_START,
    Delivery,
    Target,
    begin,
    give_up,
    planned_of,
    published,
    why_undeliverable,
    with_targets,
)
from delivery_center.domain.expansion import expand
from delivery_center.domain.facts import of_first_attempts
from delivery_center.ports import Deliveries, FeedPublisher, Robots
from rota_common.clock import Clock
from rota_common.errors import Transient
from rota_contracts.envelope import Event
from rota_contracts.messages.delivery import DeliveryRequestedV1, Permission
from rota_contracts.messages.delivery_log import TargetState
from rota_contracts.messages.trigger import ExecutorMode
from rota_contracts.robots.preferences import RunEnd
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

    The targets are stored before anything is sent. A crash before their outcomes are stored sends again, to the same
    targets under the same delivery ids, whatever the owner has changed meanwhile.
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
            self._stored(request), self.robots.known(context.team_id, context.member_id, rev=request.robot_rev)
        )
        again = stored is not None and not stored.starting
        if stored is None or stored.starting:
            planned = planned_of(stored) if stored is not None else await self._planned(event, robot)
            try:
                first = await self._first(planned, robot)
            except RequestDropped:
                return
            done = published(first).model_copy(update={"starting": False, "accepted_at": self.clock()})
            stored = await self._record(done, begun=first.starting)
            again = stored is not done
        await self.publisher.publish(of_first_attempts(stored), of=stored, again=again)

    async def _stored(self, request: DeliveryRequestedV1) -> Delivery | None:
        """Outside of standard mode nothing is sent, so that the insert finds an earlier one soon enough."""
        if request.executor_mode is not ExecutorMode.STANDARD:
            return None
        return await self.deliveries.find(request.request_id)

    async def _planned(self, event: Event[DeliveryRequestedV1], robot: Robot | None) -> Delivery:
        """The delivery before anything is done."""
        request = event.data
        targets: list[Target] = []
        end = RunEnd.FAILED if request.context.failed else RunEnd.COMPLETED
        if robot is not None and not robot.deleted:
            preferences, values = robot.as_of(request.robot_rev).robot_config.delivery, request.event_values
            if end in preferences.on:
                targets = expand(preferences, request_id=request.request_id, team=robot.team_id, event_values=values)
        return Delivery(
            request_id=request.request_id,
            content=request.content,
            context=request.context,
            mode=request.executor_mode,
            created_at=event.time,
            accepted_at=self.clock(),
            traceparent=event.traceparent,
            targets=targets,
            feed_position=await self.publisher.position(),
        )

    async def _first(self, planned: Delivery, robot: Robot | None) -> Delivery:
        """The delivery after its first attempts.

        Raise Transient, with nothing sent, while the execution is paused or its permission is unknown; RequestDropped
        when it has been paused for long.
        """
        reason = why_undeliverable(robot, planned.context.member_id)
        if robot is None or reason:
            return _refused(planned, reason or "")
        if not planned.targets:
            return planned
        payload = await self.attempt.read(planned, robot)
        permission = await self.check_permission(planned)
        match permission.leave:
            case Permission.DENY:
                return _refused(planned, permission.reason)
            case Permission.HOLD if self.clock() - planned.created_at > HELD_FOR:
                raise RequestDropped
            case Permission.HOLD:
                raise Transient(permission.reason, after=WHILE_PAUSED_S)
            case Permission.ALLOW:
                return await self._attempted(planned, payload)
            case other:
                assert_never(other)

    async def _attempted(self, planned: Delivery, payload: DeliveryPayload) -> Delivery:
        if planned.mode is ExecutorMode.STANDARD and not planned.starting:
            begun = await self.deliveries.insert_begun(begin(planned, self.clock()), LONGEST_START)
            if not begun.starting:  # another replica was faster
                return begun
            planned = planned_of(begun)
        open_targets = [target for target in planned.targets if target.state is TargetState.RETRYING]
        attempted = await self.attempt(planned, open_targets, payload)
        if attempted and all(target.postponed for target in attempted) and self.attempt.withheld(planned):
            # Paused after the permission was given, and nothing has been sent.
            raise Transient(f"{attempted[0].postponed}", after=WHILE_PAUSED_S)
        return with_targets(planned, attempted)

    async def _record(self, done: Delivery, *, begun: bool) -> Delivery:
        """What is stored: outcomes that another replica has stored stay."""
        if begun:
            return await self.deliveries.record_first(done)
        stored = await self.deliveries.insert(done)
        if stored.starting:
            raise Transient("another replica attempts this delivery", after=WHILE_PAUSED_S)
        return stored


def _refused(planned: Delivery, reason: str) -> Delivery:
    return give_up(planned, reason).model_copy(update={"error": reason})
