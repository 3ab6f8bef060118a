"""Runs in memory, held to the same conformance cases as MongoDB."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from executor.domain.planning.prepare import accepts_goals
from executor.domain.run import JournalEntry, Run, Signal, deadline_id
from executor.domain.signals.limits import has_room
from executor.domain.situation.recent import RecentRuns, RunExcerpt
from executor.domain.situation.wording import about
from executor.ports import COUNTED, Fenced, Scope, SignalResult
from rota_common.clock import Clock, now
from rota_common.page_cursor import PageCursor
from rota_contracts.messages.control import ControlAction
from rota_contracts.messages.execution import ExecStatus, Execution, ExecutionPage, ExecutionSummary, ListExecutions
from rota_contracts.messages.executor_capacity import SlotState
from rota_contracts.messages.learning import UnderWay
from rota_contracts.messages.trigger import ExecutorMode

QUIET = (ExecStatus.WAITING, ExecStatus.PAUSED)


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


class InMemoryRuns:
    """`clock` is the store's own, as a database has one."""

    def __init__(self, *, clock: Clock = now) -> None:
        self._rows: dict[str, Row] = {}
        self.clock = clock

    async def create(self, run: Run, *, owner: str, lease: timedelta) -> int | None:
        if run.id in self._rows:
            return None
        until = self.clock() + lease
        self._rows[run.id] = Row(run.model_copy(update={"inbox": []}), owner, until, inbox=tuple(run.inbox))
        return 1

    async def claim(self, run_id: str, *, owner: str, lease: timedelta) -> tuple[Run, int] | None:
        row = self._rows.get(run_id)
        if row is None or row.run.over:
            return None
        if row.owner is not None and (row.due_at is None or row.due_at > self.clock()):
            return None
        claimed = replace(row, owner=owner, due_at=self.clock() + lease, epoch=row.epoch + 1)
        self._rows[run_id] = claimed
        return claimed.read(), claimed.epoch

    async def read_free(self, run_id: str) -> tuple[Run, int] | None:
        row = self._rows.get(run_id)
        return None if row is None or row.owner is not None or row.run.over else (row.read(), row.epoch)

    async def find(self, run_id: str) -> Run | None:
        row = self._rows.get(run_id)
        return None if row is None else row.read()

    async def save(self, run: Run, epoch: int) -> Run:
        self._rows[run.id] = self._fenced(run.id, epoch).written(run)
        return self._rows[run.id].read()

    async def release(self, run: Run, epoch: int, *, check_in: timedelta | None) -> Run:
        row = self._fenced(run.id, epoch).written(run)
        due_at = None if check_in is None else self.clock() + check_in
        self._rows[run.id] = replace(row, owner=None, due_at=due_at, epoch=epoch + 1)
        return self._rows[run.id].read()

    async def finish(self, run: Run, epoch: int, *, check_in: timedelta | None) -> Run | None:
        if len(self._fenced(run.id, epoch).inbox) > run.applied:
            return None
        return await self.release(run, epoch, check_in=check_in)

    async def renew(self, run_id: str, epoch: int, *, lease: timedelta) -> None:
        self._rows[run_id] = replace(self._fenced(run_id, epoch), due_at=self.clock() + lease)

    async def overdue(self, *, limit: int) -> AsyncIterator[str]:
        now = self.clock()
        due = [(row.due_at, run_id) for run_id, row in self._rows.items() if row.due_at and row.due_at <= now]
        for _, run_id in sorted(due)[:limit]:
            yield run_id
        for run_id, row in list(self._rows.items())[:limit]:
            if row.owner is None and row.run.expires_at is not None and row.run.expires_at <= now:
                yield run_id

    async def past_deadline(self, *, limit: int) -> AsyncIterator[Run]:
        now = self.clock()
        found = [
            (deadline, row)
            for row in self._rows.values()
            if (deadline := row.run.execution.deadline_at) is not None
            and deadline <= now
            and not row.run.over
            and all(signal.id != deadline_id(row.run.parks) for signal in row.inbox)
        ]
        for _, row in sorted(found, key=lambda pair: pair[0])[:limit]:
            yield row.read()

    async def mark_announced(self, run_id: str) -> None:
        row = self._rows.get(run_id)
        if row is None or row.owner is not None:
            return
        if row.run.over or (row.run.execution.status in QUIET and len(row.inbox) <= row.run.applied):
            self._rows[run_id] = replace(row, due_at=None)

    async def send_signal(self, scope: Scope, signal: Signal) -> list[Run]:
        signalled = []
        for run_id, row in list(self._rows.items()):
            if not _in_scope(row.run.execution, scope):
                continue
            stopping = signal.action == ControlAction.STOP and not row.run.over
            known = any(other.id == signal.id or (stopping and other.action == signal.action) for other in row.inbox)
            if not known and not row.run.over and has_room(row.inbox, signal):
                due_at = self.clock() if row.owner is None and row.due_at is None else row.due_at
                row = self._rows[run_id] = replace(row, inbox=(*row.inbox, signal), due_at=due_at)  # as it is now
                known = True
            if known:
                signalled.append(row.read())
        return signalled

    async def deliver_signal(self, run_id: str, signal: Signal) -> SignalResult:
        row = self._rows[run_id]
        if any(other.id == signal.id for other in row.inbox):
            return SignalResult.DUPLICATE
        if row.run.over:
            return SignalResult.FINISHED
        due_at = self.clock() if row.owner is None else row.due_at
        self._rows[run_id] = replace(row, inbox=(*row.inbox, signal), due_at=due_at)
        return SignalResult.ACCEPTED

    async def by_callback(self, callback_id: str) -> Run | None:
        rows = (row for row in self._rows.values() if any(each.id == callback_id for each in row.run.callbacks))
        return next((row.read() for row in rows), None)

    async def merge_targets(self, run: Run, *, limit: int) -> list[UnderWay]:
        found = sorted((row.run for row in self._rows.values() if _takes(row.run, run)), key=_begun, reverse=True)
        return [
            UnderWay(
                execution_id=each.id,
                status=each.execution.status,
                goals=each.execution.goals.content if each.execution.goals else "",
                about=about(each.execution.trigger),
            )
            for each in found[:limit]
        ]

    async def merge(self, run_id: str, signal: Signal, *, giver: Run) -> bool:
        row = self._rows.get(run_id)
        if row is None:
            return False
        if any(other.id == signal.id for other in row.inbox):
            return True
        takes = _takes(row.run, giver) and has_room(row.inbox, signal)
        return takes and await self.deliver_signal(run_id, signal) is SignalResult.ACCEPTED

    async def slots(self, run_ids: Sequence[str]) -> list[SlotState]:
        return [_slot(run_id, self._rows.get(run_id)) for run_id in run_ids]

    async def under_way(self, team: str, member: str, *, limit: int) -> list[str]:
        mine = [row.run for row in self._rows.values() if _owner(row.run.execution) == (team, member)]
        found = sorted((run for run in mine if not run.over), key=lambda run: run.execution.created_at)
        return [run.id for run in found][:limit]

    async def recent(self, run: Run, *, earliest: datetime, limit: int) -> RecentRuns:
        mine = [row.run for row in self._rows.values() if _beside(row.run, run)]
        reports = [each for each in mine if each.execution.inspiration is not None and _begun(each) < _begun(run)]
        since = max([earliest, *(each.execution.created_at for each in reports)])
        under_way = sorted((each for each in mine if not each.over), key=_begun)
        ended = [(at, each) for each in mine if (at := each.execution.finished_at) is not None and at > since]
        newest = [each for _, each in sorted(ended, key=lambda pair: pair[0], reverse=True)]
        return RecentRuns(since, _glimpses(under_way[:limit]), _glimpses(newest[:limit]))

    async def journal(self, run_id: str) -> list[JournalEntry]:
        row = self._rows.get(run_id)
        return [] if row is None else list(row.entries)

    async def signals(self, run_id: str) -> list[Signal]:
        row = self._rows.get(run_id)
        return [] if row is None else list(row.inbox)

    async def list(self, wanted: ListExecutions, *, after: PageCursor | None) -> ExecutionPage:
        found = [row.run.execution for row in self._rows.values() if _wanted(row.run.execution, wanted)]
        found.sort(key=_cursor, reverse=True)
        first = 0 if after else (wanted.page - 1) * wanted.page_size
        left = [execution for execution in found if after is None or _cursor(execution) < after][first:]
        page = left[: wanted.page_size]
        return ExecutionPage(
            executions=[_summary(execution) for execution in page],
            total=0 if after else min(len(found), COUNTED),
            page=wanted.page,
            page_size=wanted.page_size,
            next=_cursor(page[-1]).text() if len(page) == wanted.page_size else "",
            total_capped=not after and len(found) >= COUNTED,
        )

    def _fenced(self, run_id: str, epoch: int) -> Row:
        row = self._rows.get(run_id)
        if row is None or row.epoch != epoch:
            raise Fenced(f"execution {run_id} is another worker's by now")
        return row


def _owner(execution: Execution) -> tuple[str, str]:
    return execution.team_id, execution.member_id


def _in_scope(execution: Execution, scope: Scope) -> bool:
    return (
        execution.team_id == scope.team
        and scope.member in (None, execution.member_id)
        and scope.execution_id in (None, execution.execution_id)
    )


def _begun(run: Run) -> tuple[datetime, str]:
    return run.execution.created_at, run.id


def _takes(taker: Run, giver: Run) -> bool:
    same = _owner(taker.execution) == _owner(giver.execution)
    return same and _begun(taker) < _begun(giver) and accepts_goals(taker)


def _beside(other: Run, run: Run) -> bool:
    same = _owner(other.execution) == _owner(run.execution) and other.id != run.id
    return same and other.execution.executor_mode is ExecutorMode.STANDARD


def _glimpses(runs: Sequence[Run]) -> list[RunExcerpt]:
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
