"""Reads of runs in memory, held to the same conformance cases as MongoDB."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from executor.adapters.approval_pages import asked_at, is_wanted
from executor.adapters.in_memory_run_spend import counted, summed
from executor.domain.planning.prepare import accepts_goals
from executor.domain.quarantine import find
from executor.domain.run import JournalEntry, Run, Signal
from executor.domain.situation.recent import RecentRuns, RunExcerpt
from executor.domain.situation.wording import about
from executor.ports import COUNTED
from rota_common.errors import Unreadable
from rota_common.page_cursor import PageCursor
from rota_contracts.messages.approval import ApprovalPage, ListApprovals
from rota_contracts.messages.definition import CountRuns, RunCounts
from rota_contracts.messages.execution import ExecStatus, Execution, ExecutionPage, ExecutionSummary, ListExecutions
from rota_contracts.messages.executor_capacity import SlotState
from rota_contracts.messages.learning import UnderWay
from rota_contracts.messages.quarantine import ListQuarantine, QuarantinePage
from rota_contracts.messages.spend import ReadSpend, SpendReply
from rota_contracts.messages.trigger import ExecutorMode


@dataclass(frozen=True)
class Row:
    run: Run
    owner: str | None
    due_at: datetime | None
    epoch: int = 1
    inbox: tuple[Signal, ...] = ()
    entries: tuple[JournalEntry, ...] = ()

    def read(self) -> Run:
        """The run with the signals that it hasn't applied yet."""
        signals = [] if self.run.over else list(self.inbox[self.run.applied :])
        return self.run.model_copy(update={"inbox": signals})

    def written(self, run: Run) -> "Row":
        plain = run.model_copy(update={"unsaved": [], "inbox": []})
        return replace(self, run=plain, entries=(*self.entries, *run.unsaved))


class InMemoryRunReads:
    """`unreadable`: runs that another version wrote."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}
        self.unreadable: set[str] = set()
        self._given_up: set[str] = set()

    async def find(self, run_id: str) -> Run | None:
        row = self._readable(run_id)
        return None if row is None else row.read()

    async def list(self, wanted: ListExecutions, *, after: PageCursor | None) -> ExecutionPage:
        found = [row.run.execution for row in self._rows.values() if _wanted(row.run.execution, wanted)]
        found.sort(key=_cursor, reverse=True)
        first = 0 if after else (wanted.page - 1) * wanted.page_size
        left = [execution for execution in found if after is None or _cursor(execution) < after][first:]
        page = left[: wanted.page_size]
        return ExecutionPage(
            executions=[_summary(each) for each in page if each.execution_id not in self.unreadable],
            total=0 if after else min(len(found), COUNTED),
            page=wanted.page,
            page_size=wanted.page_size,
            next=_cursor(page[-1]).text() if len(page) == wanted.page_size else "",
            total_capped=not after and len(found) >= COUNTED,
        )

    async def journal(self, run_id: str) -> Sequence[JournalEntry]:
        row = self._readable(run_id)
        return [] if row is None else list(row.entries)

    async def signals(self, run_id: str) -> Sequence[Signal]:
        row = self._rows.get(run_id)
        return [] if row is None else list(row.inbox)

    async def slots(self, run_ids: Sequence[str]) -> Sequence[SlotState]:
        return [self._slot(run_id) for run_id in run_ids if run_id not in self.unreadable]

    def _slot(self, run_id: str) -> SlotState:
        if run_id in self._given_up:
            return SlotState(execution_id=run_id, status=ExecStatus.FAILED)
        return _slot(run_id, self._rows.get(run_id))

    async def by_callback(self, callback_id: str) -> Run | None:
        rows = (row for row in self._rows.values() if any(each.id == callback_id for each in row.run.callbacks))
        return next((row.read() for row in rows), None)

    async def quarantine(self, wanted: ListQuarantine, *, after: PageCursor | None) -> QuarantinePage:
        runs = [row.run.execution for row in self._rows.values() if _in_quarantine(row.run.execution, wanted)]
        left = [each for each in sorted(runs, key=_cursor, reverse=True) if after is None or _cursor(each) < after]
        page = left[: wanted.limit]
        return QuarantinePage(
            results=[
                result
                for each in page
                if each.execution_id not in self.unreadable
                for result in each.quarantine
                if wanted.status in (None, result.status)
            ],
            next=_cursor(page[-1]).text() if len(page) == wanted.limit else "",
        )

    async def by_quarantined(self, quarantine_id: str) -> tuple[Run, int] | None:
        rows = [row for row in self._rows.values() if find(row.run, quarantine_id) is not None]
        if not rows:
            return None
        self._readable(rows[0].run.id)
        return rows[0].read(), rows[0].epoch

    async def by_approval(self, approval_id: str) -> Run | None:
        rows = (row for row in self._rows.values() if any(a.approval_id == approval_id for a in row.run.approvals))
        return next((row.read() for row in rows), None)

    async def pending_approvals(self, wanted: ListApprovals, *, after: PageCursor | None) -> ApprovalPage:
        runs = [row.run for row in self._apart_from(()) if row.run.execution.team_id == wanted.team_id]
        asked = [each for run in runs for each in run.asked if is_wanted(each, wanted)]
        behind = [each for each in asked if after is None or asked_at(each) > after]
        found = sorted(behind, key=asked_at)
        page = found[: wanted.limit]
        cursor = asked_at(page[-1]).text() if len(found) > wanted.limit else None
        return ApprovalPage(approvals=[each.public() for each in page], cursor=cursor)

    async def under_way(self, team: str, member: str, *, limit: int) -> Sequence[str]:
        mine = [row.run for row in self._rows.values() if owner_of(row.run.execution) == (team, member)]
        found = sorted((run for run in mine if not run.over), key=lambda run: run.execution.created_at)
        return [run.id for run in found][:limit]

    async def recent(self, run: Run, *, earliest: datetime, limit: int) -> RecentRuns:
        mine = [row.run for row in self._apart_from(()) if _beside(row.run, run)]
        reports = [each for each in mine if each.execution.inspiration is not None and _begun(each) < _begun(run)]
        since = max([earliest, *(each.execution.created_at for each in reports)])
        under_way = sorted((each for each in mine if not each.over), key=_begun)
        ended = [(at, each) for each in mine if (at := each.execution.finished_at) is not None and at > since]
        newest = [each for _, each in sorted(ended, key=lambda pair: pair[0], reverse=True)]
        return RecentRuns(since, _glimpses(under_way[:limit]), _glimpses(newest[:limit]))

    async def at_ceiling(self, *, limit: int) -> AsyncIterator[Run]:
        rows = [row for row in self._apart_from(()) if row.run.ceiling is not None and row.owner is None]
        waiting = [row for row in rows if row.run.execution.status is ExecStatus.WAITING]
        for row in sorted(waiting, key=lambda row: row.run.execution.created_at)[:limit]:
            yield row.read()

    async def spend(self, wanted: ReadSpend, *, limit: int) -> SpendReply:
        runs = [row.run.execution for row in self._apart_from(())]
        return summed([run for run in runs if run.team_id == wanted.team_id], wanted, limit=limit)

    async def count(self, wanted: CountRuns) -> RunCounts:
        mine = [row.run for row in self._apart_from(()) if row.run.execution.team_id == wanted.team_id]
        return counted(mine, wanted)

    async def merge_targets(self, run: Run, *, limit: int) -> Sequence[UnderWay]:
        found = sorted((row.run for row in self._rows.values() if takes(row.run, run)), key=_begun, reverse=True)
        return [
            UnderWay(
                execution_id=each.id,
                status=each.execution.status,
                goals=each.execution.goals.content if each.execution.goals else "",
                about=about(each.execution.trigger),
            )
            for each in found[:limit]
        ]

    def _readable(self, run_id: str) -> Row | None:
        if run_id in self.unreadable:
            raise Unreadable(f"execution {run_id} was written by another version: this one can't read it")
        return self._rows.get(run_id)

    def _apart_from(self, run_ids: Sequence[str]) -> Sequence[Row]:
        left_out = self.unreadable | {*run_ids}
        return [row for run_id, row in self._rows.items() if run_id not in left_out]


def _begun(run: Run) -> tuple[datetime, str]:
    return run.execution.created_at, run.id


def owner_of(execution: Execution) -> tuple[str, str]:
    return execution.team_id, execution.member_id


def _beside(other: Run, run: Run) -> bool:
    same = owner_of(other.execution) == owner_of(run.execution) and other.id != run.id
    return same and other.execution.executor_mode is ExecutorMode.STANDARD


def takes(taker: Run, giver: Run) -> bool:
    same = owner_of(taker.execution) == owner_of(giver.execution)
    return same and _begun(taker) < _begun(giver) and accepts_goals(taker)


def _glimpses(runs: Sequence[Run]) -> Sequence[RunExcerpt]:
    return [RunExcerpt.model_validate(run.execution.model_dump()) for run in runs]


def _slot(run_id: str, row: Row | None) -> SlotState:
    if row is None:
        return SlotState(execution_id=run_id)
    run = row.run
    status, error = run.execution.status, run.execution.error
    return SlotState(execution_id=run_id, status=status, error=error, parks=run.parks, granted=run.granted)


def _cursor(execution: Execution) -> PageCursor:
    return PageCursor(execution.created_at, execution.execution_id)


def _wanted(execution: Execution, wanted: ListExecutions) -> bool:
    return (
        execution.team_id == wanted.team_id
        and wanted.member_id in (None, execution.member_id)
        and wanted.status in (None, execution.status)
    )


def _in_quarantine(execution: Execution, wanted: ListQuarantine) -> bool:
    return (
        execution.team_id == wanted.team_id
        and wanted.member_id in (None, execution.member_id)
        and wanted.execution_id in (None, execution.execution_id)
        and any(wanted.status in (None, each.status) for each in execution.quarantine)
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
