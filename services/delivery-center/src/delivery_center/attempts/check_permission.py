"""The executor's permission to send an execution's result, requested before anything is sent."""

from dataclasses import dataclass

from delivery_center.attempts.paused_executions import PausedExecutions
from delivery_center.domain.delivery import PERMITTED, Delivery, withhold
from delivery_center.ports import Executions
from rota_contracts.messages.delivery import DeliveryPermission, Permission


@dataclass(frozen=True, kw_only=True)
class CheckPermission:
    executions: Executions
    paused: PausedExecutions

    async def __call__(self, delivery: Delivery) -> DeliveryPermission:
        """Raise Transient if the executor is unavailable."""
        if not delivery.needs_permission:
            return PERMITTED
        context = delivery.context
        known = self.paused.permission(context.execution_id)
        reply = await self.executions.may_deliver(context.team_id, context.execution_id, delivery.request_id)
        if reply.leave is not Permission.ALLOW:
            return withhold(reply.leave, reply.reason)
        if known is not None:  # it was resumed, and the signal was missed
            self.paused.forget(context.execution_id, known)
        return reply
