"""Questions of other services about executions: one, a page, their slots."""

from dataclasses import dataclass

from executor.ports import Runs
from rota_contracts.messages.execution import (
    ExecutionPage,
    ExecutionReply,
    ListExecutions,
    ReadExecution,
)
from rota_contracts.messages.executor_capacity import CheckSlots, SlotsReply


@dataclass(frozen=True, kw_only=True)
class ReadExecutions:
    runs: Runs

    async def one(self, request: ReadExecution) -> ExecutionReply:
        run = await self.runs.find(request.execution_id)
        mine = run is not None and run.execution.team_id == request.team_id
        return ExecutionReply(execution=run.execution if run is not None and mine else None)

    async def page(self, request: ListExecutions) -> ExecutionPage:
        return await self.runs.list(request)

    async def slots(self, request: CheckSlots) -> SlotsReply:
        return SlotsReply(slots=list(await self.runs.slots(request.execution_ids)))
