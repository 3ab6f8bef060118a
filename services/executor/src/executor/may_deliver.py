"""May this execution's result still go out? Asked before every attempt to deliver it (F11, F13)."""

from executor.domain.signals import control
from executor.ports import Runs
from rota_common.clock import Clock
from rota_contracts.messages.delivery import DeliveryPermission, MayDeliver, Permission
from rota_contracts.messages.execution import ExecStatus


class DecidePermission:
    def __init__(self, runs: Runs, clock: Clock) -> None:
        self._runs, self._clock = runs, clock

    async def __call__(self, asked: MayDeliver) -> DeliveryPermission:
        """Words that nobody has heeded yet count already. An execution that failed has nothing to deliver."""
        run = await self._runs.find(asked.execution_id)
        if run is None or run.execution.team_id != asked.team_id:
            return DeliveryPermission(leave=Permission.DENY, reason=f"there is no execution {asked.execution_id}")
        run = control.apply_signals(run, now=self._clock())
        if run.cancelled is not None or run.execution.status is ExecStatus.CANCELLED:
            return DeliveryPermission(leave=Permission.DENY, reason=run.cancelled or run.execution.error or "cancelled")
        if run.execution.error is not None and run.execution.delivery is None:
            return DeliveryPermission(leave=Permission.DENY, reason=f"the execution failed: {run.execution.error}")
        if run.paused:
            return DeliveryPermission(leave=Permission.HOLD, reason="the execution is paused")
        return DeliveryPermission(leave=Permission.ALLOW)
