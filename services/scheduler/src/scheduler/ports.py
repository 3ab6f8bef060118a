"""What the scheduler needs from outside, in its own words."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from rota_contracts.execution import ExecStatus
from rota_contracts.ids import execution_id
from rota_contracts.trigger import TriggerReceivedV1
from scheduler.domain import Board, Entry, Refusal, State


class LeaseLost(Exception):
    """Another replica dispatches by now; nothing of the batch was written."""


@dataclass(frozen=True)
class Decided:
    """A trigger and what was decided about it; `admitted`: it got its slot at once."""

    trigger: TriggerReceivedV1
    traceparent: str
    verdict: Entry | Refusal
    admitted: bool = False

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


@dataclass
class Batch:
    """What one turn of the dispatcher writes, all of it or nothing."""

    decided: list[Decided] = field(default_factory=list)
    admitted: list[str] = field(default_factory=list)
    started: list[str] = field(default_factory=list)
    ended: list[Ended] = field(default_factory=list)
    withdrawn: list[str] = field(default_factory=list)
    at: datetime | None = None

    def __bool__(self) -> bool:
        return any((self.decided, self.admitted, self.started, self.ended, self.withdrawn))


@dataclass(frozen=True)
class Known:
    """A trigger as it is stored."""

    execution_id: str
    state: State
    trigger: TriggerReceivedV1
    traceparent: str
    status: ExecStatus | None = None
    refusal: Refusal | None = None


class Queue(Protocol):
    """The queue, and the lease that makes one replica its dispatcher."""

    async def acquire(self, owner: str) -> int | None:
        """Take or renew the lease, judged by the database's clock; its epoch, or None while another holds it."""
        ...

    async def release(self, owner: str) -> None:
        """Let another replica take over at once."""
        ...

    async def board(self) -> Board:
        """All that is queued, admitted or running."""
        ...

    async def known(self, ids: Sequence[str]) -> dict[str, Known]:
        """Those of these executions that are stored."""
        ...

    async def withdrawn(self, team: str, member: str) -> list[Known]:
        """What waited for this robot when it was deleted."""
        ...

    async def write(self, batch: Batch, *, owner: str, epoch: int) -> None:
        """All of the batch, or nothing: raises LeaseLost when `epoch` isn't the lease's any more, Transient when it may
        work at the next try."""
        ...
