"""What the gateway needs from elsewhere, in its own words. All raise `Transient` when NATS is away."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Protocol

from rota_contracts.messages.agent import AgentReply, CallAgent
from rota_contracts.messages.control import Control, ControlReply, Intervene, InterveneReply, Withdraw, WithdrawReply
from rota_contracts.messages.execution import ExecStatus, TriggerReply
from rota_contracts.messages.plan import ChangePlan, ChangePlanReply
from rota_contracts.messages.robot_state import RobotState
from rota_contracts.messages.trigger import TriggerAdmittedV1, TriggerReceivedV1, TriggerRejectedV1
from rota_contracts.robots.robot import Robot
from trigger_gateway.robots.record import RobotRecord, Subscriber
from trigger_gateway.sources.source import SealedSecret, Source
from trigger_gateway.teams.api_keys import ApiKey


class Teams(Protocol):
    async def add(self, team: str, name: str) -> bool:
        """False if there is a team of this name already."""
        ...

    async def exists(self, team: str) -> bool: ...

    async def paused(self, team: str) -> list[str]:
        """The robots that the team's pause has paused and its resume shall wake."""
        ...

    async def note_paused(self, team: str, members: Sequence[str]) -> None: ...

    async def forget_paused(self, team: str, members: Sequence[str]) -> None: ...


class Removal(Enum):
    """What became of a key that was to be removed."""

    DONE = "done"
    UNKNOWN = "the team has no such key"
    LAST_OWNER = "it stays: the team has no other key of an owner"


class Keys(Protocol):
    async def add(self, key: ApiKey) -> None: ...

    async def find(self, key_id: str) -> ApiKey | None: ...

    async def of_team(self, team: str) -> list[ApiKey]:
        """The oldest first."""
        ...

    async def remove(self, team: str, key_id: str) -> Removal:
        """A team always keeps a key of an owner, also when two are removed at the same moment."""
        ...


class Sources(Protocol):
    async def add(self, source: Source) -> bool:
        """False if the team has a source of this name already."""
        ...

    async def find(self, team: str, name: str) -> Source | None: ...

    async def of_team(self, team: str) -> list[Source]:
        """By name."""
        ...

    async def databases(self) -> list[Source]:
        """Every team's databases, by team and name."""
        ...

    async def replace(self, source: Source, *, expected: Source) -> bool:
        """False if the source isn't as `expected` any more."""
        ...

    async def remove(self, team: str, name: str) -> bool:
        """False if the team has no such source."""
        ...


class RobotRecords(Protocol):
    """The gateway's own truth about robots; a deleted one stays, so that its `rev` goes on growing."""

    async def find(self, team: str, member: str) -> RobotRecord | None:
        """Also one that was deleted."""
        ...

    async def insert(self, record: RobotRecord) -> bool:
        """False if there is a record of this robot already."""
        ...

    async def replace(self, record: RobotRecord, *, expected: RobotRecord) -> bool:
        """False if the record isn't at the `rev` and the last judgement of `expected` any more."""
        ...

    async def note_judged(self, record: RobotRecord, at: datetime) -> bool:
        """Keep the instant of a judgement that changes nothing else; False as for `replace`."""
        ...

    async def mark_synced(self, robot: Robot, *, confirmed: bool) -> None:
        """Everybody knows this `rev`. `confirmed`: its owner is about to be told. Nothing if it has moved on."""
        ...

    async def unsynced(self, limit: int) -> list[RobotRecord]:
        """The longest waiting first."""
        ...

    async def page(self, team: str, *, page: int, page_size: int) -> tuple[list[Robot], int]:
        """The robots that aren't deleted, by member_id, and how many there are in all."""
        ...

    async def subscribers(self, team: str, source: str, *, kind: str = "webhook") -> list[Subscriber]:
        """The robots that aren't deleted and name this source, which is a webhook or a database."""
        ...


class Definitions(Protocol):
    """Where everybody else reads robots."""

    def check(self) -> None:
        """Raise Transient if nothing can be told to anybody now."""
        ...

    async def put(self, robot: Robot) -> None:
        """Make this the robot that is read; nothing if a newer one is there already."""
        ...

    async def announce(self, robot: Robot, *, created: bool) -> None:
        """Say that it has changed, or is gone; the same `rev` is the same fact, however often it is said."""
        ...


class Triggers(Protocol):
    async def publish(self, trigger: TriggerReceivedV1, *, trace: str = "") -> bool:
        """Return once the stream has it; the same trigger_id is the same message. False if it had it just before."""
        ...


Outcome = TriggerAdmittedV1 | TriggerRejectedV1


class Hearing(Protocol):
    async def outcome(self, trigger_id: str, *, within: float) -> Outcome | None:
        """What the scheduler said of the trigger; None if nothing came within so many seconds."""
        ...


class Outcomes(Protocol):
    def hearing(self, team: str, member: str) -> AbstractAsyncContextManager[Hearing]:
        """Hear what becomes of triggers from now on."""
        ...

    async def read(self, team: str, trigger_id: str) -> TriggerReply | None:
        """Ask the scheduler; None if it doesn't answer."""
        ...


class Executions(Protocol):
    """Whoever runs executions. Raises Transient when it doesn't answer."""

    async def control(self, word: Control) -> ControlReply: ...

    async def intervene(self, word: Intervene) -> InterveneReply: ...

    async def status(self, team: str, execution_id: str) -> ExecStatus | None:
        """None if there is none, or if that can't be told now."""
        ...


class Schedule(Protocol):
    """Whoever decides what runs when. Raises Transient when it doesn't answer."""

    async def withdraw(self, what: Withdraw) -> WithdrawReply: ...

    async def change_plan(self, change: ChangePlan) -> ChangePlanReply: ...

    async def find(self, team: str, execution_id: str) -> TriggerReply:
        """How far the execution has come; state `unknown` if there is none."""
        ...

    async def standing(
        self, team: str, members: Sequence[str], *, upcoming: int = 0, within: float | None = None
    ) -> list[RobotState]:
        """How these robots stand, those of them that it knows; `within` so many seconds."""
        ...


class Agents(Protocol):
    async def answer(self, call: CallAgent) -> AgentReply:
        """Raise Transient if there is no answer in time, Permanent if the call is refused."""
        ...


class Signatures(Protocol):
    def verify(self, source: Source, headers: Mapping[str, str], body: bytes) -> None:
        """Return if the sender of a webhook is who it says.

        Raise Unauthenticated for a bearer key that is missing or wrong, Forbidden for a signature that is missing,
        stale or wrong, Transient when the source's secret isn't there.
        """
        ...


class NoSealingKey(Exception):
    """Secrets can't be kept here: ROTA_SECRETS_KEY isn't set."""


class Seals(Protocol):
    def seal(self, secret: str) -> SealedSecret:
        """Raise NoSealingKey if there is no key."""
        ...

    def open(self, secret: SealedSecret) -> str:
        """Raise ValueError if there is no key that opens it."""
        ...


@dataclass(frozen=True)
class Earlier:
    """A request that came before under the same id. `answer` is what was noted of its outcome."""

    digest: str
    answer: str | None = None


class Requests(Protocol):
    """The idempotency keys that requests came with."""

    async def remember(self, request_id: str, digest: str) -> Earlier | None:
        """What this id came with the first time; None if this is the first time."""
        ...

    async def note(self, request_id: str, answer: str) -> None:
        """Keep the outcome of a remembered request, for its repeats."""
        ...


class Leases(Protocol):
    async def lease(self, key: str, window: int, wanted: int, limit: int) -> int:
        """How much of `wanted` is the caller's, of the `limit` that all replicas share in this minute (`window`).

        Raise Transient when that can't be told.
        """
        ...
