"""The decisions of one turn of the dispatcher: incoming events against a snapshot of the stores."""

import asyncio
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from rota_common.errors import Unreadable
from rota_contracts.envelope import Event
from rota_contracts.ids import execution_id
from rota_contracts.messages.control import Withdraw
from rota_contracts.messages.execution import ExecutionFinishedV1, ExecutionStartedV1, excerpt
from rota_contracts.messages.parking import ExecutionParkedV1, ExecutionResumableV1
from rota_contracts.messages.robot_facts import RobotDeletedV1
from rota_contracts.messages.team_facts import TeamRemovedV1
from rota_contracts.messages.trigger import RejectReason, TriggerReceivedV1, TriggerType
from scheduler.domain.admission import WAITS_AT_MOST, consider, enqueue
from scheduler.domain.batch import Batch, Cancelled, CancelRequest, Decided, Ended, Moved, StoredTrigger
from scheduler.domain.queue import Entry, EntryState, QueueState, Refusal
from scheduler.domain.robot_summary import ROBOT_DELETED, Key, RobotSummary
from scheduler.ports import Queue, Robots

Report = ExecutionStartedV1 | ExecutionParkedV1 | ExecutionResumableV1 | ExecutionFinishedV1
ReportEvent = (
    Event[ExecutionStartedV1] | Event[ExecutionParkedV1] | Event[ExecutionResumableV1] | Event[ExecutionFinishedV1]
)
EXPIRED = Refusal(RejectReason.EXPIRED, f"it has waited for {WAITS_AT_MOST.days} days, longer than triggers are kept")
IncomingEvent = Event[TriggerReceivedV1] | ReportEvent | Event[RobotDeletedV1] | Event[TeamRemovedV1]


@dataclass(frozen=True)
class Intake:
    """The input of one turn: messages, cancel requests, triggers due by the clock, and entries that waited too long."""

    events: Sequence[IncomingEvent] = ()
    cancel_requests: Sequence[CancelRequest] = ()
    due: Sequence[StoredTrigger] = ()
    expired: Sequence[Entry] = ()

    def __bool__(self) -> bool:
        return bool(self.events or self.cancel_requests or self.due or self.expired)

    def parts(self) -> Iterator["Intake"]:
        """Each of them alone, in the same order."""
        yield from (Intake(events=[each]) for each in self.events)
        yield from (Intake(cancel_requests=[each]) for each in self.cancel_requests)
        yield from (Intake(due=[each]) for each in self.due)
        yield from (Intake(expired=[each]) for each in self.expired)

    def triggers(self) -> list[TriggerReceivedV1]:
        return [event.data for event in self.events if isinstance(event.data, TriggerReceivedV1)]


@dataclass(frozen=True)
class Snapshot:
    """The data that a turn needs: triggers that are stored already, the robots' current summaries, and the robots of
    waiting entries at which nothing new may start. `unreadable`: triggers that are stored by another version."""

    stored: dict[str, StoredTrigger]
    robots: dict[Key, RobotSummary | BaseException | None]
    unreadable: frozenset[str] = frozenset()
    stopped: Collection[Key] = field(default_factory=frozenset)

    def problem(self, trigger: TriggerReceivedV1) -> BaseException | None:
        """Why no decision about this trigger is possible, if its robot, or what is stored of it, could not be read."""
        if (wanted := execution_id(trigger.trigger_id)) in self.unreadable:
            return Unreadable(f"execution {wanted} was queued by another version: this one can't read it")
        robot = self.robots.get((trigger.team_id, trigger.member_id))
        return robot if isinstance(robot, BaseException) else None

    def repeated(self, events: Sequence[IncomingEvent]) -> list[StoredTrigger]:
        """Earlier decisions about these events' triggers: they may not be published."""
        ids = (execution_id(event.data.trigger_id) for event in events if isinstance(event.data, TriggerReceivedV1))
        return [self.stored[each] for each in dict.fromkeys(ids) if self.knows(each)]

    def knows(self, execution_id: str) -> bool:
        """Was it decided about before?"""
        return execution_id in self.stored and not self.stored[execution_id].buried


async def read_snapshot(
    intake: Intake, queue: Queue, robots: Robots, queue_state: QueueState, *, look: bool = False
) -> Snapshot:
    """`look`: at what is stored of these triggers. Repeats are found by the execution's id, which derives from the
    trigger's and is stored in the database; without a look, by the write that raises Repeated."""
    received = intake.triggers()
    revs: dict[Key, int] = {}
    for trigger in [*received, *(stored.trigger for stored in intake.due)]:
        owner = trigger.team_id, trigger.member_id
        revs[owner] = max(revs.get(owner, 0), trigger.robot_rev or 0)
    found = await asyncio.gather(
        *(robots.find(team, member, rev=rev) for (team, member), rev in revs.items()), return_exceptions=True
    )
    ids = [execution_id(trigger.trigger_id) for trigger in received] if look else []
    stored, unreadable = await queue.look_up(ids) if ids else ({}, set())
    stopped = await robots.stopped({*revs, *queue_state.waiting_robots()})
    return Snapshot(stored, dict(zip(revs, found, strict=True)), frozenset(unreadable), stopped)


def decide(intake: Intake, snapshot: Snapshot, queue_state: QueueState, *, pool: int, now: datetime) -> Batch:
    """The batch to write; `queue_state` is changed to the state after it. Slots are given last, when all is counted."""
    batch = Batch(at=now)
    for event in intake.events:
        match event.data:
            case TriggerReceivedV1() as trigger:
                _decide_trigger(trigger, event.traceparent, snapshot, queue_state, batch, now, pool)
            case RobotDeletedV1(team_id=team, member_id=member):
                deleted = Refusal(RejectReason.ROBOT_DELETED, ROBOT_DELETED)
                _cancel(Withdraw(team_id=team, member_id=member), deleted, queue_state, batch)
            case TeamRemovedV1(team_id=team):
                queue_state.remove_team(team)
            case report:
                _apply_report(report, queue_state, batch, now)
    for stored in intake.due:
        _decide_due(stored, snapshot, queue_state, batch, now, pool)
    for request in intake.cancel_requests:
        _cancel(request.question, stop_refusal(request.question.reason), queue_state, batch)
        batch.answered.append(request.request_id)
    for entry in intake.expired:
        queue_state.remove(entry.execution_id)
        batch.cancelled.append(Cancelled(entry.execution_id, EXPIRED))
    batch.give_slots(queue_state, pool=pool, now=now, stopped=snapshot.stopped)
    return batch


def robots_woken(batch: Batch, repeated: Sequence[StoredTrigger]) -> list[Key]:
    """The robots for which a clock's trigger was accepted."""
    woken = [each.trigger for each in batch.decided if each.accepted]
    woken += [each.trigger for each in repeated if each.refusal is None]
    return sorted({(each.team_id, each.member_id) for each in woken if each.type is TriggerType.CLOCK})


def stop_refusal(reason: str) -> Refusal:
    return Refusal(RejectReason.STOPPED, f"it was stopped before it began{f': {reason}' if reason else ''}")


def _decide_trigger(
    trigger: TriggerReceivedV1,
    traceparent: str,
    snapshot: Snapshot,
    queue_state: QueueState,
    batch: Batch,
    now: datetime,
    pool: int,
) -> None:
    wanted = execution_id(trigger.trigger_id)
    if snapshot.knows(wanted) or any(decided.execution_id == wanted for decided in batch.decided):
        return
    verdict = _verdict(trigger, snapshot, queue_state, now, pool)
    batch.decided.append(Decided(trigger, traceparent, verdict, redriven=wanted in snapshot.stored))


def _decide_due(
    stored: StoredTrigger, snapshot: Snapshot, queue_state: QueueState, batch: Batch, now: datetime, pool: int
) -> None:
    """A trigger whose robot can't be read at this moment stays due. One whose robot's definition is invalid is
    rejected: it isn't dead-lettered as a message is, and would block the others."""
    problem = snapshot.problem(stored.trigger)
    if isinstance(problem, ValueError):
        text = f"the robot's definition can't be read: {excerpt(str(problem))}"
        verdict: Entry | Refusal = Refusal(RejectReason.NO_ROBOT, text)
    elif problem is not None:
        return
    else:
        verdict = _verdict(stored.trigger, snapshot, queue_state, now, pool)
    batch.decided.append(Decided(stored.trigger, stored.traceparent, verdict, from_clock=True))


def _verdict(
    trigger: TriggerReceivedV1, snapshot: Snapshot, queue_state: QueueState, now: datetime, pool: int
) -> Entry | Refusal:
    summary = snapshot.robots[trigger.team_id, trigger.member_id]
    if isinstance(summary, BaseException):
        raise AssertionError("expected a trigger whose robot was read") from summary
    verdict = consider(trigger, summary, now=now)
    if summary is None or isinstance(verdict, Refusal):
        return verdict
    return enqueue(verdict, summary.quota, queue_state, pool=pool, now=now, stopped=snapshot.stopped)


def _apply_report(report: Report, queue_state: QueueState, batch: Batch, now: datetime) -> None:
    """An executor's report on an execution. A late report, or one of an unknown execution, changes nothing."""
    moved: Moved | None = None
    match report:
        case ExecutionStartedV1(execution_id=each, grant=grant):
            if queue_state.start(each, grant):
                batch.started.append(each)
        case ExecutionParkedV1(execution_id=each, parks=parks):
            entry = queue_state.park(each, parks)
            moved = Moved(entry, EntryState.PARKED) if entry else None
        case ExecutionResumableV1(execution_id=each, parks=parks):
            entry = queue_state.resume(each, parks, now)
            moved = Moved(entry, EntryState.QUEUED) if entry else None
        case ExecutionFinishedV1(execution_id=each, status=status):
            queue_state.remove(each)
            batch.moved.pop(each, None)
            batch.ended.append(Ended(each, status))
    if moved is not None:
        batch.moved[moved.entry.execution_id] = moved


def _cancel(scope: Withdraw, refusal: Refusal, queue_state: QueueState, batch: Batch) -> None:
    """Cancel what waits and has not begun; an execution that has begun, even if it waits again, the executor stops."""
    cancelled = {
        entry.execution_id for entry in queue_state.queued.values() if not entry.parks and _in_scope(entry, scope)
    }
    decided = {each.execution_id for each in batch.decided}
    for each in sorted(cancelled):
        queue_state.remove(each)
        if each not in decided:
            batch.cancelled.append(Cancelled(each, refusal))
    batch.decided = [
        replace(each, verdict=refusal) if each.execution_id in cancelled else each for each in batch.decided
    ]


def _in_scope(entry: Entry, scope: Withdraw) -> bool:
    return (
        entry.team == scope.team_id
        and scope.member_id in (None, entry.member)
        and scope.execution_id in (None, entry.execution_id)
    )
