"""What the scheduler needs from outside, in its own words."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from rota_contracts.ids import execution_id
from rota_contracts.messages.control import Withdraw, WithdrawReply
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.goal_merge import ListWaiting, MergeInto, Waiting
from rota_contracts.messages.plan import PlanItem
from rota_contracts.messages.trigger import TriggerReceivedV1
from scheduler.domain import Entry, EntryState, QueueState, Refusal
from scheduler.plan import Plan
from scheduler.robot_summary import Key, RobotSummary


class LeaseLost(Exception):
    """Another replica dispatches by now; nothing of the batch was written."""


class PlansChanged(Exception):
    """What was to be started isn't planned any more as it was read; nothing of the batch was written."""


@dataclass(frozen=True)
class Decided:
    """A trigger and what was decided about it; `admitted`: it got its slot at once. `from_clock`: it is in the queue
    already, as due by the clock."""

    trigger: TriggerReceivedV1
    traceparent: str
    verdict: Entry | Refusal
    admitted: bool = False
    from_clock: bool = False

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
    """What waited and will not start, and why."""

    execution_id: str
    refusal: Refusal


@dataclass(frozen=True)
class CancelRequest:
    """A person's word to take back what waits."""

    request_id: str
    question: Withdraw


@dataclass
class Batch:
    """What one turn of the dispatcher writes, all of it or nothing.

    `moved` is keyed by execution and says it all about those; `answered` are the ids of the asks that it deals with.
    `plans` are started by it.
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


@dataclass(frozen=True)
class StoredTrigger:
    """A trigger as it is stored."""

    execution_id: str
    state: EntryState
    trigger: TriggerReceivedV1
    traceparent: str
    status: ExecStatus | None = None
    refusal: Refusal | None = None
    parks: int = 0


class Robots(Protocol):
    """The cards of all robots."""

    async def find(self, team: str, member: str, *, rev: int | None = None) -> RobotSummary | None:
        """The robot, at this revision or a later one if there is one; also one that was deleted."""
        ...


class Queue(Protocol):
    """The queue, and the lease that makes one replica its dispatcher."""

    async def acquire(self, owner: str) -> int | None:
        """Take or renew the lease, judged by the database's clock; its epoch, or None while another holds it."""
        ...

    async def release(self, owner: str) -> None:
        """Let another replica take over at once."""
        ...

    async def load(self) -> QueueState:
        """All that is queued, admitted, running or parked."""
        ...

    async def stored(self, ids: Sequence[str]) -> dict[str, StoredTrigger]:
        """Those of these executions that are stored."""
        ...

    async def add_due(self, triggers: Sequence[TriggerReceivedV1]) -> None:
        """Keep these, which are due by the clock, for the dispatcher; one that is stored already stays as it is."""
        ...

    async def undecided(self, limit: int) -> list[StoredTrigger]:
        """What is due by the clock and not decided about, longest due first."""
        ...

    async def open_counts(self, keys: Sequence[Key]) -> dict[Key, int]:
        """How many executions these robots have that wait or hold a slot, decided about or not."""
        ...

    async def unpublished(self) -> list[StoredTrigger]:
        """What was decided about, or taken back, without a message that would come again, and may not be announced."""
        ...

    async def mark_published(self, ids: Sequence[str]) -> None:
        """These were announced."""
        ...

    async def write(self, batch: Batch, *, owner: str, epoch: int) -> None:
        """All of the batch, or nothing: raises LeaseLost when `epoch` isn't the lease's any more, PlansChanged when a
        plan in it isn't as it was, Transient when it may work at the next try."""
        ...


@dataclass(frozen=True)
class RobotActivity:
    """What a robot does: the executions that hold a slot, how many wait and are parked, and the last that is over."""

    running: Sequence[str] = ()
    queued: int = 0
    parked: int = 0
    last_run: datetime | None = None
    last_status: ExecStatus | None = None


class RobotQueues(Protocol):
    """What robots do, and what of theirs waits."""

    async def read(self, keys: Sequence[Key]) -> dict[Key, RobotActivity]:
        """Of each of these robots."""
        ...

    async def waiting(self, question: ListWaiting) -> list[Waiting]:
        """What waits for its first slot, the oldest first."""
        ...

    async def merge(self, question: MergeInto) -> bool:
        """Let one that waits for its first slot reach these goals too; False if none of this id waits any more."""
        ...


class CancelRequests(Protocol):
    """Asks to take back what waits. Any replica is asked; the dispatcher answers, in the batch that does it."""

    async def ask(self, question: Withdraw) -> str:
        """Keep the question for the dispatcher; its id."""
        ...

    async def asked(self) -> list[CancelRequest]:
        """The questions that somebody may still wait for, oldest first."""
        ...

    async def is_open(self, request_id: str) -> bool:
        """Has the dispatcher not dealt with it yet?"""
        ...

    async def outcome(self, question: Withdraw, since: datetime) -> WithdrawReply:
        """What a person's word stopped before it began: the execution that is named, or all in question that were
        stopped after `since`; and what has its slot and hasn't begun."""
        ...


class Plans(Protocol):
    """The plan queue."""

    async def find(self, key: str) -> Plan | None: ...

    async def add(self, plan: Plan) -> bool:
        """False if there is one of this key already."""
        ...

    async def change(self, plan: Plan) -> bool:
        """Put it in place of the revision before; False if that isn't the stored one any more."""
        ...

    async def listed(self, team: str, member: str | None, limit: int) -> list[PlanItem]:
        """What is planned, soonest first; what waits for a robot's next cycle last."""
        ...

    async def due(self, now: datetime, limit: int) -> list[Plan]:
        """What is planned and due, longest due first."""
        ...

    async def call(self, robots: Sequence[tuple[str, str]], now: datetime) -> None:
        """A cycle of these robots (team, member) begins: what they have planned without a time is due."""
        ...

    async def postpone(self, plan: Plan, until: datetime) -> None:
        """Not due before then, unless it was changed meanwhile."""
        ...

    async def unpublished(self, before: datetime, limit: int) -> list[Plan]:
        """Those with facts older than `before` that may not have been published."""
        ...

    async def mark_published(self, plan: Plan) -> None:
        """The facts that this revision has were published."""
        ...
