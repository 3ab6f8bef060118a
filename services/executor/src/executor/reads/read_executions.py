"""Questions of other services about executions: one, a page, their slots."""

from dataclasses import dataclass

from executor.ports import COUNTED, Runs
from rota_common.errors import Permanent
from rota_common.page_cursor import parse_cursor
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
        """Raises Permanent if `after` is no cursor, or the page number is too high."""
        if not request.after and request.page * request.page_size > COUNTED:
            raise Permanent(f"expected a page within the first {COUNTED} executions: go on with after, by next")
        return await self.runs.list(request, after=parse_cursor(request.after))

    async def slots(self, request: CheckSlots) -> SlotsReply:
        return SlotsReply(slots=list(await self.runs.slots(request.execution_ids)))
