"""The queue and its cancel requests in memory."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import uuid4

from rota_common.clock import Clock
from rota_common.runtime.traces import derived
from rota_contracts.ids import execution_id
from rota_contracts.messages.control import Withdraw, WithdrawReply
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.trigger import RejectReason, TriggerInput, TriggerReceivedV1
from scheduler.adapters.in_memory_plans import InMemoryPlans
from scheduler.domain.batch import Batch, CancelRequest, Decided, Moved, StoredTrigger
from scheduler.domain.queue import OVER, Entry, EntryState, QueueState, Refusal
from scheduler.domain.robot_summary import Key
from scheduler.ports import LeaseLost, PlansChanged, Repeated

WAITING = (EntryState.DUE, EntryState.QUEUED)
HELD = (EntryState.DUE, EntryState.QUEUED, EntryState.ADMITTED, EntryState.RUNNING)


@dataclass(frozen=True)
class Row:
    """One trigger; `entry` is None if it was never accepted."""

    trigger: TriggerReceivedV1
    traceparent: str
    state: EntryState
    entry: Entry | None = None
    refusal: Refusal | None = None
    status: ExecStatus | None = None
    ended_at: datetime | None = None

    @property
    def live(self) -> bool:
        return self.state not in (EntryState.DUE, *OVER)


class InMemoryQueue:
    """`lease` in seconds, judged by `clock`. `unreadable`: executions that another version queued."""

    def __init__(self, *, lease: float, clock: Clock, plans: InMemoryPlans | None = None) -> None:
        self._span, self._clock = timedelta(seconds=lease), clock
        self.rows: dict[str, Row] = {}
        self.unreadable: set[str] = set()
        self.cancel_requests: dict[str, tuple[datetime, Withdraw]] = {}
        self._plans = plans or InMemoryPlans()
        self._unpublished: set[str] = set()
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

    async def load(self) -> QueueState:
        queue_state = QueueState()
        for each, row in self.rows.items():
            if row.live and row.entry is not None and each not in self.unreadable:
                queue_state.put(row.entry, row.state)
        return queue_state

    async def stored(self, ids: Sequence[str]) -> dict[str, StoredTrigger]:
        return (await self.look_up(ids))[0]

    async def look_up(self, ids: Sequence[str]) -> tuple[dict[str, StoredTrigger], set[str]]:
        there = [each for each in ids if each in self.rows]
        readable = {each: _stored_trigger(each, self.rows[each]) for each in there if each not in self.unreadable}
        return readable, self.unreadable.intersection(there)

    async def add_due(self, triggers: Sequence[TriggerReceivedV1]) -> None:
        for each in triggers:
            self.rows.setdefault(execution_id(each.trigger_id), Row(each, derived(each.trigger_id), EntryState.DUE))

    async def undecided(self, limit: int) -> list[StoredTrigger]:
        due = [(each, row) for each, row in self._readable() if row.state is EntryState.DUE]
        due.sort(key=lambda one: (one[1].trigger.scheduled_at, one[0]))
        return [_stored_trigger(each, row) for each, row in due][:limit]

    async def open_counts(self, keys: Sequence[Key]) -> dict[Key, int]:
        rows = [row for row in self.rows.values() if row.state in HELD]
        return Counter(key for row in rows if (key := (row.trigger.team_id, row.trigger.member_id)) in keys)

    async def waiting_counts(self, keys: Sequence[Key]) -> dict[Key, int]:
        rows = [row for row in self.rows.values() if row.state in WAITING and not row.trigger.type.is_event]
        first = [row for row in rows if row.entry is None or not row.entry.has_begun]
        return Counter(key for row in first if (key := (row.trigger.team_id, row.trigger.member_id)) in keys)

    async def unpublished(self) -> list[StoredTrigger]:
        return [_stored_trigger(each, self.rows[each]) for each in sorted(self._unpublished - self.unreadable)]

    async def mark_published(self, ids: Sequence[str]) -> None:
        self._unpublished -= set(ids)

    async def refuse(self, trigger: TriggerReceivedV1, refusal: Refusal, at: datetime) -> StoredTrigger:
        key, bare = execution_id(trigger.trigger_id), trigger.model_copy(update={"input": TriggerInput()})
        row = Row(bare, derived(trigger.trigger_id), EntryState.REJECTED, refusal=refusal, ended_at=at)
        return _stored_trigger(key, self.rows.setdefault(key, row))

    async def write(self, batch: Batch, *, owner: str, epoch: int) -> None:
        if (self._owner, self._epoch) != (owner, epoch):
            raise LeaseLost(f"epoch {epoch} of the dispatcher's lease is over")
        self._until = self._clock() + self._span
        new = [each.execution_id for each in batch.decided if not each.from_clock and not each.redriven]
        if repeated := [each for each in new if each in self.rows]:
            raise Repeated(f"stored already: {', '.join(repeated)}")
        if not self._plans.replace(batch.plans):
            raise PlansChanged("one of the plans was changed since it was read")
        self._write(batch)
        for answered in batch.answered:
            self.cancel_requests.pop(answered, None)

    def _readable(self) -> list[tuple[str, Row]]:
        return [(each, row) for each, row in self.rows.items() if each not in self.unreadable]

    def _write(self, batch: Batch) -> None:
        self._decide(batch)
        for moved in batch.moved.values():
            self._move(moved)
        for each in set(batch.admitted) - batch.moved.keys():
            self._change(each, EntryState.ADMITTED, admitted_at=batch.at)
        for each in set(batch.started) - batch.moved.keys():
            self._change(each, EntryState.RUNNING, running=True)
        for ended in batch.ended:
            self._end(ended.execution_id, state=EntryState.DONE, status=ended.status, ended_at=batch.at)
        for gone in batch.cancelled:
            if self._end(gone.execution_id, state=EntryState.REJECTED, refusal=gone.refusal, ended_at=batch.at):
                self._unpublished.add(gone.execution_id)

    def _decide(self, batch: Batch) -> None:
        for decided in batch.decided:
            if not decided.from_clock or self.rows[decided.execution_id].state is EntryState.DUE:
                self.rows[decided.execution_id] = _row(decided, batch.at)
        self._unpublished |= {decided.execution_id for decided in batch.decided if decided.from_clock}

    def _move(self, moved: Moved) -> None:
        row = self.rows.get(moved.entry.execution_id)
        if row is not None and row.live:
            self.rows[moved.entry.execution_id] = replace(row, state=moved.state, entry=moved.entry)

    def _end(self, execution_id: str, **changes: object) -> bool:
        row = self.rows.get(execution_id)
        if row is None or not row.live:
            return False
        self.rows[execution_id] = replace(row, **changes)  # type: ignore[arg-type]  # the fields are named in `write`
        return True

    def _change(self, execution_id: str, state: EntryState, **changes: object) -> None:
        row = self.rows.get(execution_id)
        if row is not None and row.live and row.entry is not None:
            self.rows[execution_id] = replace(row, state=state, entry=replace(row.entry, **changes))  # type: ignore[arg-type]  # the fields are named in `write`


def _row(decided: Decided, at: datetime | None) -> Row:
    trigger, trace = decided.trigger, decided.traceparent
    match decided.verdict:
        case Refusal() as refusal:
            return Row(trigger, trace, EntryState.REJECTED, refusal=refusal, ended_at=at)
        case entry:
            state = EntryState.ADMITTED if decided.admitted else EntryState.QUEUED
            return Row(trigger, trace, state, replace(entry, admitted_at=at if decided.admitted else None))


def _stored_trigger(execution_id: str, row: Row) -> StoredTrigger:
    parks = row.entry.parks if row.entry else 0
    return StoredTrigger(execution_id, row.state, row.trigger, row.traceparent, row.status, row.refusal, parks)


class InMemoryCancelRequests:
    """A request is valid for `stale` seconds."""

    def __init__(self, queue: InMemoryQueue, *, clock: Clock, stale: float = 10) -> None:
        self._queue, self._clock = queue, clock
        self._stale = timedelta(seconds=stale)

    async def ask(self, question: Withdraw) -> str:
        request_id = uuid4().hex
        self._queue.cancel_requests[request_id] = self._clock(), question
        return request_id

    async def asked(self) -> list[CancelRequest]:
        since = self._clock() - self._stale
        return [
            CancelRequest(each, question) for each, (at, question) in self._queue.cancel_requests.items() if at > since
        ]

    async def is_open(self, request_id: str) -> bool:
        return request_id in self._queue.cancel_requests

    async def outcome(self, question: Withdraw, since: datetime) -> WithdrawReply:
        meant = {each: row for each, row in self._queue.rows.items() if _meant(each, row, question)}
        return WithdrawReply(
            execution_ids=sorted(each for each, row in meant.items() if _stopped(row, question, since)),
            admitted=sorted(
                each
                for each, row in meant.items()
                if row.state is EntryState.ADMITTED and row.entry and not row.entry.parks
            ),
        )


def _stopped(row: Row, question: Withdraw, since: datetime) -> bool:
    stopped = row.refusal is not None and row.refusal.reason is RejectReason.STOPPED
    return stopped and (question.execution_id is not None or (row.ended_at is not None and row.ended_at >= since))


def _meant(execution_id: str, row: Row, question: Withdraw) -> bool:
    owned = (question.member_id in (None, row.trigger.member_id)) and row.trigger.team_id == question.team_id
    return owned and question.execution_id in (None, execution_id)
