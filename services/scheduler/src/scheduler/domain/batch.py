"""The records of one turn of the dispatcher, and of the triggers that the queue stores."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import datetime

from rota_contracts.ids import execution_id
from rota_contracts.messages.control import Withdraw
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.goal_merge import Waiting
from rota_contracts.messages.trigger import RejectReason, TriggerReceivedV1, TriggerType
from scheduler.domain.plan import Plan
from scheduler.domain.queue import Entry, EntryState, QueueState, Refusal, pick
from scheduler.domain.robot_summary import Key


@dataclass(frozen=True)
class Decided:
    """A trigger and the decision about it. `admitted`: it got its slot at once. `from_clock`: the queue holds it
    already, as due; `redriven`: as buried."""

    trigger: TriggerReceivedV1
    traceparent: str
    verdict: Entry | Refusal
    admitted: bool = False
    from_clock: bool = False
    redriven: bool = False

    @property
    def execution_id(self) -> str:
        return execution_id(self.trigger.trigger_id)

    @property
    def accepted(self) -> bool:
        return isinstance(self.verdict, Entry)


@dataclass(frozen=True)
class Ended:
    execution_id: str
    status: ExecStatus


@dataclass(frozen=True)
class Moved:
    """An entry that was parked or queued again, as it is at the end of the turn."""

    entry: Entry
    state: EntryState


@dataclass(frozen=True)
class Cancelled:
    """A queued entry that will not start, and the reason."""

    execution_id: str
    refusal: Refusal


@dataclass(frozen=True)
class CancelRequest:
    """A person's request to cancel queued executions."""

    request_id: str
    question: Withdraw


@dataclass
class Batch:
    """The changes of one turn, written all or none.

    `moved` is keyed by execution and holds the final state of each; `answered` are the ids of the cancel requests that
    the turn handles; `plans` are started by it.
    """

    decided: list[Decided] = field(default_factory=list)
    admitted: list[str] = field(default_factory=list)
    started: list[str] = field(default_factory=list)
    moved: dict[str, Moved] = field(default_factory=dict)
    ended: list[Ended] = field(default_factory=list)
    cancelled: list[Cancelled] = field(default_factory=list)
    answered: list[str] = field(default_factory=list)
    plans: list[Plan] = field(default_factory=list)
    at: datetime | None = None

    def __bool__(self) -> bool:
        changes = (self.decided, self.admitted, self.started, self.moved, self.ended, self.cancelled)
        return any((*changes, self.answered, self.plans))

    def give_slots(self, queue_state: QueueState, *, pool: int, now: datetime, stopped: Collection[Key] = ()) -> None:
        """Free slots go to the next entries, also to those that this batch queues."""
        picked = pick(queue_state, pool=pool, now=now, stopped=stopped)
        chosen = {entry.execution_id: queue_state.admit(entry.execution_id, now) for entry in picked}
        self.decided = [replace(each, admitted=each.execution_id in chosen) for each in self.decided]
        self.admitted = sorted(chosen.keys() - {each.execution_id for each in self.decided})
        for each in chosen.keys() & self.moved.keys():
            self.moved[each] = Moved(chosen[each], EntryState.ADMITTED)


@dataclass(frozen=True)
class StoredTrigger:
    """A trigger as the queue stores it."""

    execution_id: str
    state: EntryState
    trigger: TriggerReceivedV1
    traceparent: str
    status: ExecStatus | None = None
    refusal: Refusal | None = None
    parks: int = 0

    @property
    def buried(self) -> bool:
        """Its message is a dead letter; it is decided about if it is sent back."""
        return self.refusal is not None and self.refusal.reason is RejectReason.FAILED


def waiting_of(execution_id: str, trigger: TriggerReceivedV1, queued_at: datetime) -> Waiting:
    """An execution that waits for its first slot, as a running one is shown it."""
    return Waiting(execution_id=execution_id, type=trigger.type, about=_about(trigger), queued_at=queued_at)


def _about(trigger: TriggerReceivedV1) -> str:
    given = trigger.input
    match trigger.type:
        case TriggerType.CLOCK:
            return f"the clock, due at {trigger.scheduled_at.isoformat()}" if trigger.scheduled_at else "the clock"
        case TriggerType.HUMAN:
            words = " ".join(" ".join(message.text().split()) for message in given.messages)
            return f"a person: {words[:200]}"
        case _:
            return ": ".join(filter(None, [given.source, given.event_type])) or "an event"
