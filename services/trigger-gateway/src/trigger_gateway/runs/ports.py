"""Ports of runs: triggers and their outcomes, the executor, the scheduler, idempotency keys."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from rota_contracts.messages.control import Control, ControlReply, Intervene, InterveneReply, Withdraw, WithdrawReply
from rota_contracts.messages.execution import ExecStatus, Execution, TriggerReply
from rota_contracts.messages.plan import ChangePlan, ChangePlanReply
from rota_contracts.messages.retry import ListRetryable, RetryablePage
from rota_contracts.messages.trigger import TriggerAdmittedV1, TriggerReceivedV1, TriggerRejectedV1

TRIGGER_LIMIT = 384 * 1024
"""Bytes: the answer about an execution holds its trigger beside its outputs, and a message has 1 MB."""


class Triggers(Protocol):
    async def publish(self, trigger: TriggerReceivedV1, *, trace: str = "") -> bool:
        """Return once the stream has stored it; the same trigger_id is the same message. False for a duplicate.

        Raise Transient when NATS is away, Invalid for a trigger that is too large.
        """
        ...


Outcome = TriggerAdmittedV1 | TriggerRejectedV1


class OutcomeListener(Protocol):
    async def outcome(self, trigger_id: str, *, within: float) -> Outcome | None:
        """The scheduler's decision on the trigger; None if there is none within so many seconds."""
        ...


class Outcomes(Protocol):
    """The scheduler's decisions on triggers."""

    def listen(self, team: str, member: str) -> AbstractAsyncContextManager[OutcomeListener]:
        """Receive the decisions on this robot's triggers from now on. Raise Transient when NATS is away."""
        ...

    async def read(self, team: str, trigger_id: str) -> TriggerReply | None:
        """Ask the scheduler; None if it doesn't answer."""
        ...


class Executions(Protocol):
    """The executor. Raises Transient when it doesn't answer."""

    async def control(self, command: Control) -> ControlReply: ...

    async def intervene(self, intervention: Intervene) -> InterveneReply: ...

    async def find(self, team: str, execution_id: str) -> Execution | None:
        """Its record; None if there is none."""
        ...

    async def status(self, team: str, execution_id: str) -> ExecStatus | None:
        """None if there is none, or if the executor doesn't answer."""
        ...


class Schedule(Protocol):
    """The scheduler. Raises Transient when it doesn't answer."""

    async def withdraw(self, request: Withdraw) -> WithdrawReply: ...

    async def change_plan(self, change: ChangePlan) -> ChangePlanReply: ...

    async def find(self, team: str, execution_id: str, *, with_trigger: bool = False) -> TriggerReply:
        """The state of the execution's trigger; `unknown` if there is none."""
        ...

    async def retryable(self, question: ListRetryable) -> RetryablePage:
        """Executions that were rejected or have failed. Raises Invalid for a wrong cursor."""
        ...


@dataclass(frozen=True)
class EarlierRequest:
    """The first request under an id. `answer` is the recorded outcome."""

    digest: str
    answer: str | None = None


class Requests(Protocol):
    """The idempotency keys of requests."""

    async def remember(self, request_id: str, digest: str) -> EarlierRequest | None:
        """The first request under this id; None if this is the first."""
        ...

    async def recall(self, request_id: str) -> EarlierRequest | None:
        """The first request under this id, if there was one; nothing is remembered."""
        ...

    async def note(self, request_id: str, answer: str) -> None:
        """Record the outcome of a remembered request, for its repeats."""
        ...
