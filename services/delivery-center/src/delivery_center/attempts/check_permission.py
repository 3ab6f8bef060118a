"""Before anything is sent: the executor says whether the execution's result may still go out."""

from dataclasses import dataclass

from delivery_center.attempts.paused_executions import PausedExecutions
from delivery_center.domain.delivery import PERMITTED, Delivery, withhold
from delivery_center.ports import Executions
from rota_contracts.messages.delivery import DeliveryPermission, Permission
from rota_contracts.messages.trigger import ExecutorMode


@dataclass(frozen=True)
class CheckPermission:
    executions: Executions
    paused: PausedExecutions

    async def __call__(self, delivery: Delivery) -> DeliveryPermission:
        """Raise Transient if nobody can say. Outside of standard mode nothing is sent, so nobody is asked.

        Nor for a replay: a person asked for it, who may know that the execution was stopped or is paused. Deleting the
        robot ends it.
        """
        if delivery.mode is not ExecutorMode.STANDARD or delivery.replay_of is not None:
            return PERMITTED
        context = delivery.context
        heard = self.paused.of(context.execution_id)
        said = await self.executions.may_deliver(context.team_id, context.execution_id)
        if said.leave is not Permission.ALLOW:
            return withhold(said.leave, said.reason)
        if heard is not None:  # it was resumed and we didn't hear of it
            self.paused.forget(context.execution_id, heard)
        return said
