"""The scheduler's ports: its stores, and the robots' definitions."""

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from rota_common.page_cursor import PageCursor
from rota_common.stores.team_documents import TeamDocuments
from rota_contracts.messages.control import Withdraw, WithdrawReply
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.goal_merge import ListWaiting, MergeInto, Waiting
from rota_contracts.messages.plan import PlanItem
from rota_contracts.messages.retry import ListRetryable, Retryable
from rota_contracts.messages.trigger import TriggerReceivedV1
from rota_contracts.robots.robot import Robot
from scheduler.domain.batch import Batch, CancelRequest, StoredTrigger
from scheduler.domain.clock_state import Change, ClockState, MissedFact
from scheduler.domain.plan import Plan
from scheduler.domain.queue import QueueState, Refusal
from scheduler.domain.robot_summary import Key, RobotSummary


class Repeated(Exception):
    """A trigger that was decided is stored already."""


class LeaseLost(Exception):
    """Another replica holds the dispatcher's lease; nothing of the batch was written."""


class PlansChanged(Exception):
    """A plan of the batch was changed since it was read; nothing of the batch was written."""


class RobotDefinitions(Protocol):
    """Robots' definitions as the gateway stores them."""

    async def find(self, team: str, member: str) -> Robot | None:
        """The robot, also a deleted one; None if there never was one. Raises ValueError for an invalid definition."""
        ...

    def follow(self, *, seconds: float) -> AsyncGenerator[bytes | None]:
        """Every definition, as JSON, then None, then each that changes. Ends after `seconds`, and when the connection
        was interrupted."""
        ...


class Robots(Protocol):
    """Summaries of all robots."""

    async def find(self, team: str, member: str, *, rev: int | None = None) -> RobotSummary | None:
        """The robot, at this revision or a later one if there is one; also a deleted one."""
        ...

    async def stopped(self, keys: Collection[Key]) -> set[Key]:
        """Those of these robots at which nothing new may start; one that can't be read is among them."""
        ...


class Queue(Protocol):
    """The queue, and the lease that makes one replica its dispatcher."""

    async def acquire(self, owner: str) -> int | None:
        """Take or renew the lease, judged by the database's clock; its epoch, or None while another holds it or
        the database is too busy to say."""
        ...

    async def release(self, owner: str) -> None:
        """Let another replica take over at once."""
        ...

    async def load(self) -> QueueState:
        """All that is queued, admitted, running or parked."""
        ...

    async def stored(self, ids: Sequence[str]) -> dict[str, StoredTrigger]:
        """Those of these executions that are stored, and that this version can read. Nothing else that is read from
        the queue holds any that it can't."""
        ...

    async def look_up(self, ids: Sequence[str]) -> tuple[dict[str, StoredTrigger], set[str]]:
        """As `stored`, and the ids of those that are stored and can't be read."""
        ...

    async def add_due(self, triggers: Sequence[TriggerReceivedV1]) -> None:
        """Store these, due by the clock, for the dispatcher; one that is stored already stays as it is."""
        ...

    async def undecided(self, limit: int) -> list[StoredTrigger]:
        """Triggers due by the clock without a decision yet, longest due first."""
        ...

    async def open_counts(self, keys: Sequence[Key]) -> dict[Key, int]:
        """How many executions of each robot wait or hold a slot, with or without a decision."""
        ...

    async def waiting_counts(self, keys: Sequence[Key]) -> dict[Key, int]:
        """How many requests of people and clocks wait for their first slot, with or without a decision."""
        ...

    async def unpublished(self) -> list[StoredTrigger]:
        """Triggers decided or cancelled without a message that would come again, whose facts may not be published."""
        ...

    async def mark_published(self, ids: Sequence[str]) -> None: ...

    async def refuse(self, trigger: TriggerReceivedV1, refusal: Refusal, at: datetime) -> StoredTrigger:
        """Store a trigger that no batch takes as rejected, without its input; one that is stored stays as it is."""
        ...

    async def write(self, batch: Batch, *, owner: str, epoch: int) -> None:
        """All of the batch, or nothing. Raises LeaseLost when `epoch` isn't the lease's any more, PlansChanged when one
        of its plans was changed, Repeated when one of its triggers is stored already, Transient when the next try may
        work."""
        ...


class Clocks(Protocol):
    """The robots' clocks."""

    async def revs(self) -> dict[Key, int]:
        """The revision that set each robot's clock."""
        ...

    async def find(self, keys: Sequence[Key]) -> dict[Key, ClockState]: ...

    async def write(self, changes: Sequence[Change]) -> int:
        """Each by itself, where the clock still is in its old state; how many were."""
        ...

    async def remove(self, revs: Mapping[Key, int]) -> None:
        """Those set by these revisions, or earlier ones."""
        ...

    async def due(self, now: datetime, limit: int) -> list[ClockState]:
        """Those to check by now, longest due first."""
        ...

    async def unpublished(self, limit: int) -> list[MissedFact]: ...

    async def mark_published(self, facts: Sequence[MissedFact]) -> None: ...


@dataclass(frozen=True)
class RobotActivity:
    """A robot's executions: those with a slot, how many wait and are parked, and the last finished one."""

    running: Sequence[str] = ()
    queued: int = 0
    parked: int = 0
    last_run: datetime | None = None
    last_status: ExecStatus | None = None


class RobotQueues(Protocol):
    """The queue by robot."""

    async def read(self, keys: Sequence[Key]) -> dict[Key, RobotActivity]: ...

    async def waiting(self, question: ListWaiting) -> list[Waiting]:
        """Executions that wait for their first slot, the oldest first."""
        ...

    async def merge(self, question: MergeInto) -> bool:
        """Add goals to an execution that waits for its first slot; False if none of this id waits any more."""
        ...


class EndedTriggers(Protocol):
    """Triggers that were rejected, or whose executions have ended."""

    async def retryable(self, question: ListRetryable, *, after: PageCursor | None) -> list[Retryable]:
        """Those rejected or failed, but for those that a person stopped; the earliest end first, then by id."""
        ...


class CancelRequests(Protocol):
    """Requests to cancel what waits. Any replica stores one; the dispatcher handles it, in the batch that cancels."""

    async def ask(self, question: Withdraw) -> str:
        """Store the request for the dispatcher; its id."""
        ...

    async def asked(self) -> list[CancelRequest]:
        """The requests that are not out of date, oldest first."""
        ...

    async def is_open(self, request_id: str) -> bool:
        """Is the request still unhandled?"""
        ...

    async def outcome(self, question: Withdraw, since: datetime) -> WithdrawReply:
        """The executions that a person stopped before they began: the one named, or all in scope stopped after `since`;
        and those that are admitted and have not begun."""
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
        """Planned items, soonest first; those that wait for a robot's next cycle last."""
        ...

    async def due(self, now: datetime, limit: int) -> list[Plan]:
        """Planned items that are due, longest due first."""
        ...

    async def call(self, robots: Sequence[Key], now: datetime) -> None:
        """A cycle of these robots begins: their items without a time are due."""
        ...

    async def timeless(self, limit: int) -> list[Key]:
        """Robots that have items without a time."""
        ...

    async def postpone(self, plan: Plan, until: datetime) -> None:
        """Not due before then, unless it was changed meanwhile."""
        ...

    async def unpublished(self, before: datetime, limit: int) -> list[Plan]:
        """Those with facts older than `before` that may not be published."""
        ...

    async def mark_published(self, plan: Plan) -> None:
        """The facts of this revision are published."""
        ...


@dataclass(frozen=True, kw_only=True)
class Adapters:
    """Everything outside the scheduler that it needs, besides the bus."""

    definitions: RobotDefinitions
    queue: Queue
    plans: Plans
    clocks: Clocks
    cancel_requests: CancelRequests
    robot_queues: RobotQueues
    ended: EndedTriggers
    team_documents: TeamDocuments
