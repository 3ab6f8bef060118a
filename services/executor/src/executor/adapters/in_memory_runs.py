"""Runs in memory, held to the same conformance cases as MongoDB."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from executor.adapters.in_memory_run_reads import InMemoryRunReads, Row, takes
from executor.domain import quarantine
from executor.domain.run import Run, Signal, deadline_id
from executor.domain.signals.limits import has_room
from executor.domain.texts import RETRIED_FOR, owner_of
from executor.ports import Claimed, Fenced, Scope, SignalResult
from rota_common.clock import Clock, now
from rota_common.stores.blobs import Owner
from rota_contracts.messages.control import ControlAction
from rota_contracts.messages.execution import ExecStatus, Execution
from rota_contracts.messages.quarantine import QuarantineStatus
from rota_contracts.streams import KEEP_DAYS

QUIET = (ExecStatus.WAITING, ExecStatus.PAUSED)


class InMemoryRuns(InMemoryRunReads):
    """`clock` is the store's own, as a database has one. Runs that are over are to be removed `keep` later."""

    def __init__(self, *, clock: Clock = now, keep: timedelta = timedelta(days=KEEP_DAYS)) -> None:
        super().__init__()
        self.clock, self._keep = clock, keep

    async def create(self, run: Run, *, owner: str, lease: timedelta) -> int | None:
        if run.id in self._rows or run.id in self._given_up:
            return None
        until = self.clock() + lease
        self._rows[run.id] = Row(run.model_copy(update={"inbox": []}), owner, until, inbox=tuple(run.inbox))
        return 1

    async def give_up(self, run_id: str, at: datetime) -> bool:
        if run_id in self._rows:
            return False
        self._given_up.add(run_id)
        return True

    async def claim(self, run_id: str, *, owner: str, lease: timedelta) -> Claimed | None:
        row = self._rows.get(run_id)
        if row is None or row.run.over or run_id in self.unreadable:
            return None
        if row.owner is not None and (row.due_at is None or row.due_at > self.clock()):
            return None
        claimed = replace(row, owner=owner, due_at=self.clock() + lease, epoch=row.epoch + 1)
        self._rows[run_id] = claimed
        return Claimed(claimed.read(), claimed.epoch, self.clock())

    async def read_free(self, run_id: str) -> tuple[Run, int] | None:
        row = self._readable(run_id)
        return None if row is None or row.owner is not None or row.run.over else (row.read(), row.epoch)

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

    async def overdue(self, *, limit: int, apart_from: Sequence[str] = ()) -> AsyncIterator[str]:
        now, rows = self.clock(), self._apart_from(apart_from)
        due = [(row.due_at, row.run.id) for row in rows if row.due_at and row.due_at <= now]
        for _, run_id in sorted(due)[:limit]:
            yield run_id
        for row in rows[:limit]:
            if row.owner is None and row.run.expires_at is not None and row.run.expires_at <= now:
                yield row.run.id

    async def past_deadline(self, *, limit: int, apart_from: Sequence[str] = ()) -> AsyncIterator[Run]:
        now = self.clock()
        found = [
            (deadline, row)
            for row in self._apart_from(apart_from)
            if (deadline := row.run.execution.deadline_at) is not None
            and deadline <= now
            and not row.run.over
            and all(signal.id != deadline_id(row.run.parks) for signal in row.inbox)
        ]
        for _, row in sorted(found, key=lambda pair: pair[0])[:limit]:
            yield row.read()

    async def mark_announced(self, run_id: str, *, decided: int = 0) -> None:
        row = self._rows.get(run_id)
        if row is None or row.owner is not None:
            return
        announced = row.run.over and len(quarantine.decided(row.run)) == decided
        if announced or (row.run.execution.status in QUIET and len(row.inbox) <= row.run.applied):
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
            if known and run_id not in self.unreadable:
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

    async def to_remove(self, *, limit: int) -> list[Owner]:
        found = []
        for row in self._rows.values():
            execution, keep = row.run.execution, self._keep
            released = any(each.status is QuarantineStatus.RELEASED for each in execution.quarantine)
            if released or (execution.content is not None and execution.content.body.ref is not None):
                keep = max(keep, RETRIED_FOR)
            if row.run.over and (ended := quarantine.kept_from(row.run)) and ended <= self.clock() - keep:
                found.append((ended, row.run))
        return [owner_of(run) for _, run in sorted(found, key=lambda pair: pair[0])[:limit]]

    async def remove(self, run_ids: Sequence[str]) -> None:
        for run_id in run_ids:
            if run_id in self._rows and self._rows[run_id].run.over:
                del self._rows[run_id]

    async def is_there(self, run_id: str) -> bool:
        return run_id in self._rows or run_id in self._given_up

    async def merge(self, run_id: str, signal: Signal, *, giver: Run) -> bool:
        row = self._rows.get(run_id)
        if row is None:
            return False
        if any(other.id == signal.id for other in row.inbox):
            return True
        fits = takes(row.run, giver) and has_room(row.inbox, signal)
        return fits and await self.deliver_signal(run_id, signal) is SignalResult.ACCEPTED

    def _fenced(self, run_id: str, epoch: int) -> Row:
        row = self._rows.get(run_id)
        if row is None or row.epoch != epoch:
            raise Fenced(f"execution {run_id} is another worker's by now")
        return row


def _in_scope(execution: Execution, scope: Scope) -> bool:
    return (
        execution.team_id == scope.team
        and scope.member in (None, execution.member_id)
        and scope.execution_id in (None, execution.execution_id)
    )
