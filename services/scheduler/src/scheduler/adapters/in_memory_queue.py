"""The queue and what is to be taken back from it, in memory, held to the same tests as the real one."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import uuid4

from rota_common.clock import Clock
from rota_contracts.ids import execution_id
from rota_contracts.messages.control import Withdraw, WithdrawReply
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.trigger import RejectReason, TriggerReceivedV1
from scheduler.adapters.in_memory_plans import MemoryPlans
from scheduler.domain import OVER, Board, Entry, Refusal, State
from scheduler.ports import Batch, Decided, Known, LeaseLost, Moved, PlansChanged, WithdrawRequest
from scheduler.robot_summary import Key

HELD = (State.DUE, State.QUEUED, State.ADMITTED, State.RUNNING)


@dataclass(frozen=True)
class Row:
    """One trigger; `entry` is its place in the queue, if it ever had one."""

    trigger: TriggerReceivedV1
    traceparent: str
    state: State
    entry: Entry | None = None
    refusal: Refusal | None = None
    status: ExecStatus | None = None
    ended_at: datetime | None = None

    @property
    def live(self) -> bool:
        return self.state not in (State.DUE, *OVER)


class MemoryQueue:
    """`lease` in seconds, judged by `clock`."""

    def __init__(self, *, lease: float, clock: Clock, plans: MemoryPlans | None = None) -> None:
        self._span, self._clock = timedelta(seconds=lease), clock
        self.rows: dict[str, Row] = {}
        self.asks: dict[str, tuple[datetime, Withdraw]] = {}
        self._plans = plans or MemoryPlans()
        self._untold: set[str] = set()
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
        for row in self.rows.values():
            if row.live and row.entry is not None:
                board.put(row.entry, row.state)
        return board

    async def known(self, ids: Sequence[str]) -> dict[str, Known]:
        return {each: _known(each, self.rows[each]) for each in ids if each in self.rows}

    async def clocked(self, triggers: Sequence[TriggerReceivedV1]) -> None:
        for each in triggers:
            self.rows.setdefault(execution_id(each.trigger_id), Row(each, "", State.DUE))

    async def undecided(self, limit: int) -> list[Known]:
        due = [(each, row) for each, row in self.rows.items() if row.state is State.DUE]
        due.sort(key=lambda one: (one[1].trigger.scheduled_at, one[0]))
        return [_known(each, row) for each, row in due][:limit]

    async def held(self, keys: Sequence[Key]) -> dict[Key, int]:
        rows = [row for row in self.rows.values() if row.state in HELD]
        return Counter(key for row in rows if (key := (row.trigger.team_id, row.trigger.member_id)) in keys)

    async def untold(self) -> list[Known]:
        return [_known(each, self.rows[each]) for each in sorted(self._untold)]

    async def told(self, ids: Sequence[str]) -> None:
        self._untold -= set(ids)

    async def write(self, batch: Batch, *, owner: str, epoch: int) -> None:
        if (self._owner, self._epoch) != (owner, epoch):
            raise LeaseLost(f"epoch {epoch} of the dispatcher's lease is over")
        self._until = self._clock() + self._span
        if not self._plans.replace(batch.plans):
            raise PlansChanged("one of the plans was changed since it was read")
        self._write(batch)
        for answered in batch.answered:
            self.asks.pop(answered, None)

    def _write(self, batch: Batch) -> None:
        self._decide(batch)
        for moved in batch.moved.values():
            self._place(moved)
        for each in set(batch.admitted) - batch.moved.keys():
            self._change(each, State.ADMITTED, admitted_at=batch.at)
        for each in set(batch.started) - batch.moved.keys():
            self._change(each, State.RUNNING, running=True)
        for ended in batch.ended:
            self._end(ended.execution_id, state=State.DONE, status=ended.status, ended_at=batch.at)
        for gone in batch.taken_back:
            if self._end(gone.execution_id, state=State.REJECTED, refusal=gone.refusal, ended_at=batch.at):
                self._untold.add(gone.execution_id)

    def _decide(self, batch: Batch) -> None:
        for decided in batch.decided:
            if not decided.clocked or self.rows[decided.execution_id].state is State.DUE:
                self.rows[decided.execution_id] = _row(decided, batch.at)
        self._untold |= {decided.execution_id for decided in batch.decided if decided.clocked}

    def _place(self, moved: Moved) -> None:
        row = self.rows.get(moved.entry.execution_id)
        if row is not None and row.live:
            self.rows[moved.entry.execution_id] = replace(row, state=moved.state, entry=moved.entry)

    def _end(self, execution_id: str, **changes: object) -> bool:
        row = self.rows.get(execution_id)
        if row is None or not row.live:
            return False
        self.rows[execution_id] = replace(row, **changes)  # type: ignore[arg-type]  # the fields are named in `write`
        return True

    def _change(self, execution_id: str, state: State, **changes: object) -> None:
        row = self.rows.get(execution_id)
        if row is not None and row.live and row.entry is not None:
            self.rows[execution_id] = replace(row, state=state, entry=replace(row.entry, **changes))  # type: ignore[arg-type]  # the fields are named in `write`


def _row(decided: Decided, at: datetime | None) -> Row:
    trigger, trace = decided.trigger, decided.traceparent
    match decided.verdict:
        case Refusal() as refusal:
            return Row(trigger, trace, State.REJECTED, refusal=refusal, ended_at=at)
        case entry:
            state = State.ADMITTED if decided.admitted else State.QUEUED
            return Row(trigger, trace, state, replace(entry, admitted_at=at if decided.admitted else None))


def _known(execution_id: str, row: Row) -> Known:
    parks = row.entry.parks if row.entry else 0
    return Known(execution_id, row.state, row.trigger, row.traceparent, row.status, row.refusal, parks)


class MemoryWithdrawals:
    """Over the queue in memory; an ask is stale `stale` seconds after it was made."""

    def __init__(self, queue: MemoryQueue, *, clock: Clock, stale: float = 10) -> None:
        self._queue, self._clock, self._stale = queue, clock, timedelta(seconds=stale)

    async def ask(self, question: Withdraw) -> str:
        ask_id = uuid4().hex
        self._queue.asks[ask_id] = self._clock(), question
        return ask_id

    async def asked(self) -> list[WithdrawRequest]:
        since = self._clock() - self._stale
        return [WithdrawRequest(each, question) for each, (at, question) in self._queue.asks.items() if at > since]

    async def is_open(self, ask_id: str) -> bool:
        return ask_id in self._queue.asks

    async def outcome(self, question: Withdraw, since: datetime) -> WithdrawReply:
        meant = {each: row for each, row in self._queue.rows.items() if _meant(each, row, question)}
        return WithdrawReply(
            execution_ids=sorted(each for each, row in meant.items() if _stopped(row, question, since)),
            admitted=sorted(
                each for each, row in meant.items() if row.state is State.ADMITTED and row.entry and not row.entry.parks
            ),
        )


def _stopped(row: Row, question: Withdraw, since: datetime) -> bool:
    stopped = row.refusal is not None and row.refusal.reason is RejectReason.STOPPED
    return stopped and (question.execution_id is not None or (row.ended_at is not None and row.ended_at >= since))


def _meant(execution_id: str, row: Row, question: Withdraw) -> bool:
    whose = (question.member_id in (None, row.trigger.member_id)) and row.trigger.team_id == question.team_id
    return whose and question.execution_id in (None, execution_id)
