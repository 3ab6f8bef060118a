"""The stores in memory, held to the same tests as the real ones."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import datetime

from executor.ports import Fenced
from executor.run import Run
from rota_contracts.agent import AgentAnswered
from rota_contracts.execution import Execution, ExecutionsListed, ExecutionSummary, ListExecutions


@dataclass(frozen=True)
class Row:
    run: Run
    owner: str | None
    due_at: datetime | None
    epoch: int = 1
    inbox: list[str] = field(default_factory=list)

    def read(self) -> Run:
        """The run with what came into its inbox."""
        untouched = self.run.over or self.run.cancelled or not self.inbox
        return self.run if untouched else self.run.model_copy(update={"cancelled": self.inbox[0]})


class MemoryRuns:
    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}

    async def create(self, run: Run, *, owner: str, until: datetime) -> int | None:
        if run.id in self._rows:
            return None
        self._rows[run.id] = Row(run, owner, until)
        return 1

    async def claim(self, run_id: str, *, owner: str, until: datetime, now: datetime) -> tuple[Run, int] | None:
        row = self._rows.get(run_id)
        if row is None or row.run.over:
            return None
        if row.owner is not None and (row.due_at is None or row.due_at > now):
            return None
        claimed = replace(row, owner=owner, due_at=until, epoch=row.epoch + 1)
        self._rows[run_id] = claimed
        return claimed.read(), claimed.epoch

    async def peek(self, run_id: str) -> tuple[Run, int] | None:
        row = self._rows.get(run_id)
        return None if row is None or row.owner is not None or row.run.over else (row.read(), row.epoch)

    async def find(self, run_id: str) -> Run | None:
        row = self._rows.get(run_id)
        return None if row is None else row.read()

    async def save(self, run: Run, epoch: int) -> Run:
        self._rows[run.id] = replace(self._fenced(run.id, epoch), run=run)
        return self._rows[run.id].read()

    async def release(self, run: Run, epoch: int, *, look_at: datetime | None) -> Run:
        row = self._fenced(run.id, epoch)
        self._rows[run.id] = replace(row, run=run, owner=None, due_at=look_at, epoch=epoch + 1)
        return self._rows[run.id].read()

    async def renew(self, run_id: str, epoch: int, *, until: datetime) -> None:
        self._rows[run_id] = replace(self._fenced(run_id, epoch), due_at=until)

    async def overdue(self, now: datetime, *, limit: int) -> AsyncIterator[str]:
        due = [(row.due_at, run_id) for run_id, row in self._rows.items() if row.due_at and row.due_at <= now]
        for _, run_id in sorted(due)[:limit]:
            yield run_id

    async def told(self, run_id: str) -> None:
        row = self._rows.get(run_id)
        if row is not None and row.run.over:
            self._rows[run_id] = replace(row, due_at=None)

    async def cancel_all(self, team: str, member: str, reason: str) -> list[str]:
        mine = {run_id: row for run_id, row in self._rows.items() if _owner(row.run.execution) == (team, member)}
        for run_id, row in mine.items():
            if not row.run.over and reason not in row.inbox:
                self._rows[run_id] = replace(row, inbox=[*row.inbox, reason])
        return [run_id for run_id in mine if reason in self._rows[run_id].inbox]

    async def list(self, wanted: ListExecutions) -> ExecutionsListed:
        found = [row.run.execution for row in self._rows.values() if _wanted(row.run.execution, wanted)]
        found.sort(key=lambda execution: execution.execution_id)
        found.sort(key=lambda execution: execution.created_at, reverse=True)
        first = (wanted.page - 1) * wanted.page_size
        return ExecutionsListed(
            executions=[_summary(execution) for execution in found[first : first + wanted.page_size]],
            total=len(found),
            page=wanted.page,
            page_size=wanted.page_size,
        )

    def _fenced(self, run_id: str, epoch: int) -> Row:
        row = self._rows.get(run_id)
        if row is None or row.epoch != epoch:
            raise Fenced(f"execution {run_id} is somebody else's by now")
        return row


class MemoryCalls:
    def __init__(self) -> None:
        self._answers: dict[str, AgentAnswered] = {}

    async def find(self, call_id: str) -> AgentAnswered | None:
        return self._answers.get(call_id)

    async def remember(self, call_id: str, answer: AgentAnswered, *, at: datetime) -> AgentAnswered:
        return self._answers.setdefault(call_id, answer)


def _owner(execution: Execution) -> tuple[str, str]:
    return execution.team_id, execution.member_id


def _wanted(execution: Execution, wanted: ListExecutions) -> bool:
    return (
        execution.team_id == wanted.team_id
        and wanted.member_id in (None, execution.member_id)
        and wanted.status in (None, execution.status)
    )


def _summary(execution: Execution) -> ExecutionSummary:
    return ExecutionSummary(
        execution_id=execution.execution_id,
        team_id=execution.team_id,
        member_id=execution.member_id,
        trigger_type=execution.trigger.type,
        status=execution.status,
        phase=execution.phase,
        error=execution.error,
        created_at=execution.created_at,
        finished_at=execution.finished_at,
        summary=execution.content.summary if execution.content else "",
    )
