"""The queue in memory, held to the same tests as the real one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from rota_common.clock import Clock
from rota_contracts.execution import ExecStatus
from rota_contracts.trigger import RejectReason, TriggerReceivedV1
from scheduler.domain import Board, Entry, Refusal, State
from scheduler.ports import Batch, Decided, Known, LeaseLost


@dataclass(frozen=True)
class Row:
    """One trigger; `entry` is its place in the queue, if it ever had one."""

    trigger: TriggerReceivedV1
    traceparent: str
    state: State
    entry: Entry | None = None
    refusal: Refusal | None = None
    status: ExecStatus | None = None

    @property
    def live(self) -> bool:
        return self.state in (State.QUEUED, State.ADMITTED, State.RUNNING)


class MemoryQueue:
    """`lease` in seconds, judged by `clock`."""

    def __init__(self, *, lease: float, clock: Clock) -> None:
        self._span, self._clock = timedelta(seconds=lease), clock
        self._rows: dict[str, Row] = {}
        self._owner: str | None = None
        self._until: datetime | None = None
        self._epoch = 0

    async def acquire(self, owner: str) -> int | None:
        free = self._until is None or self._until <= self._clock()
        if not free and self._owner != owner:
            return None
        self._epoch += free
        self._owner, self._until = owner, self._clock() + self._span
        return self._epoch

    async def release(self, owner: str) -> None:
        if self._owner == owner:
            self._owner, self._until = None, None

    async def board(self) -> Board:
        board = Board()
        for execution_id, row in self._rows.items():
            if row.live and row.entry is not None:
                (board.queued if row.state is State.QUEUED else board.active)[execution_id] = row.entry
        return board

    async def known(self, ids: Sequence[str]) -> dict[str, Known]:
        return {each: _known(each, self._rows[each]) for each in ids if each in self._rows}

    async def withdrawn(self, team: str, member: str) -> list[Known]:
        return [
            _known(execution_id, row)
            for execution_id, row in self._rows.items()
            if (row.trigger.team_id, row.trigger.member_id) == (team, member)
            if row.refusal is not None and row.refusal.reason is RejectReason.ROBOT_DELETED
        ]

    async def write(self, batch: Batch, *, owner: str, epoch: int) -> None:
        if (self._owner, self._epoch) != (owner, epoch):
            raise LeaseLost(f"epoch {epoch} of the dispatcher's lease is over")
        self._until = self._clock() + self._span
        self._rows |= {each.execution_id: _row(each, batch.at) for each in batch.decided}
        for each in batch.admitted:
            self._change(each, State.ADMITTED, admitted_at=batch.at)
        for each in batch.started:
            self._change(each, State.RUNNING, running=True)
        for ended in batch.ended:
            if ended.execution_id in self._rows and self._rows[ended.execution_id].live:
                row = self._rows[ended.execution_id]
                self._rows[ended.execution_id] = replace(row, state=State.DONE, status=ended.status)
        for each in batch.withdrawn:
            gone = Refusal(RejectReason.ROBOT_DELETED, "the robot was deleted")
            if self._rows[each].live:
                self._rows[each] = replace(self._rows[each], state=State.REJECTED, refusal=gone)

    def _change(self, execution_id: str, state: State, **changes: object) -> None:
        row = self._rows.get(execution_id)
        if row is not None and row.live and row.entry is not None:
            self._rows[execution_id] = replace(row, state=state, entry=replace(row.entry, **changes))  # type: ignore[arg-type]  # the fields are named in `write`


def _row(decided: Decided, at: datetime | None) -> Row:
    trigger, trace = decided.trigger, decided.traceparent
    match decided.verdict:
        case Refusal() as refusal:
            return Row(trigger, trace, State.REJECTED, refusal=refusal)
        case entry:
            state = State.ADMITTED if decided.admitted else State.QUEUED
            return Row(trigger, trace, state, replace(entry, admitted_at=at if decided.admitted else None))


def _known(execution_id: str, row: Row) -> Known:
    return Known(execution_id, row.state, row.trigger, row.traceparent, row.status, row.refusal)
