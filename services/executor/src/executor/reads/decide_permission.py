"""The permission to deliver an execution's result."""

from dataclasses import dataclass

from executor.domain import quarantine
from executor.domain.delivery_request import failure_id
from executor.domain.signals import control
from executor.ports import Runs
from rota_common.clock import Clock
from rota_contracts.messages.delivery import DeliveryPermission, MayDeliver, Permission
from rota_contracts.messages.execution import ExecStatus


@dataclass(frozen=True, kw_only=True)
class DecidePermission:
    """Decides whether an execution's result may still be delivered; asked before every attempt."""

    runs: Runs
    clock: Clock

    async def __call__(self, request: MayDeliver) -> DeliveryPermission:
        """Signals in the inbox count already. An execution that failed has nothing to deliver, but why it
        failed, and results that a person released."""
        run = await self.runs.find(request.execution_id)
        if run is None or run.execution.team_id != request.team_id:
            return DeliveryPermission(leave=Permission.DENY, reason=f"there is no execution {request.execution_id}")
        failed = run.execution.status is ExecStatus.FAILED and request.request_id == failure_id(run)
        if failed or quarantine.released(run, request.request_id):
            return DeliveryPermission(leave=Permission.ALLOW)
        run = control.apply_signals(run, now=self.clock())
        if run.cancelled is not None or run.execution.status is ExecStatus.CANCELLED:
            return DeliveryPermission(leave=Permission.DENY, reason=run.cancelled or run.execution.error or "cancelled")
        if run.execution.error is not None and run.execution.delivery is None:
            return DeliveryPermission(leave=Permission.DENY, reason=f"the execution failed: {run.execution.error}")
        if run.pausing:
            return DeliveryPermission(leave=Permission.HOLD, reason="the execution is paused")
        return DeliveryPermission(leave=Permission.ALLOW)
