"""What the executor needs from outside, in its own words."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any, Protocol

from executor.agents.connectors import Connector
from executor.domain.conversation.chat import ModelReply, Tool
from executor.domain.run import JournalEntry, Run, Signal
from executor.domain.situation.recent import RecentRuns
from rota_common.errors import Transient
from rota_contracts.messages.agent import AgentReply
from rota_contracts.messages.conversation import ToolUse
from rota_contracts.messages.execution import ExecutionPage, ListExecutions
from rota_contracts.messages.executor_capacity import SlotState
from rota_contracts.messages.learning import UnderWay
from rota_contracts.messages.process import ProcessCall
from rota_contracts.messages.trigger import Message
from rota_contracts.robots.robot import Robot


@dataclass(frozen=True)
class Prompt:
    """One call of a model, which may answer with calls of `tools`. `step_id` is the same each time this very call is
    made. `facts` say in data what the messages say in words; only rehearsal reads them."""

    messages: Sequence[Message]
    connector: Connector
    timeout: float
    step_id: str
    options: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    tools: Sequence[Tool] = ()


class Model(Protocol):
    async def complete(self, prompt: Prompt) -> ModelReply:
        """The model's answer. Transient for timeouts, rate limits and outages; Permanent for refused requests."""
        ...


class NotBegun(Transient):
    """A call surely didn't reach the other side: it may be made again."""


class ToolFailed(Exception):
    """A tool or a process was called, and failed or gave no answer; the text says what it said."""


class Tools(Protocol):
    """The MCP servers that are set up here."""

    async def list(self, robot: Robot) -> Sequence[Tool]:
        """The tools this robot may use (EX-26), of those of its servers that are set up here; by name.

        Raises Transient when a server can't be reached."""
        ...

    async def call(self, use: ToolUse, *, timeout: float | None = None) -> str:
        """Call `use.tool` of `use.server` once; what it answers, as text. Raises NotBegun, or ToolFailed."""
        ...


class Processes(Protocol):
    """Processes of the teams, answered by anyone on NATS."""

    async def call(self, name: str, call: ProcessCall, *, timeout: float) -> str | None:
        """Call it once; what it answers, as text (JSON where it is JSON), or None: it promises its result for later.
        Raises NotBegun, or ToolFailed."""
        ...


class Fenced(Exception):
    """Somebody else holds the run by now; what this worker still wanted to write must not be written."""


@dataclass(frozen=True)
class Scope:
    """Which executions a word is for: one, all of a robot, or all of a team."""

    team: str
    member: str | None = None
    execution_id: str | None = None


class SignalResult(Enum):
    """Has a word reached a run? `BEFORE`: it, or another with its id, was there; `OVER`: nobody will hear it."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    FINISHED = "finished"


class Runs(Protocol):
    """The ledger. A claim gives the right to write, until it ends; its `epoch` fences: every write names it and raises
    Fenced when it isn't the current one any more. Words for a run go into an inbox of its own, which writes never
    touch: an intervention and a finished step can't overwrite each other. A run that is read or written comes back
    with the words that it hasn't heard yet; what it has decided since is appended to its trail with the write."""

    async def create(self, run: Run, *, owner: str, until: datetime) -> int | None:
        """Insert a new run, claimed, with the words that wait for it; its epoch, or None if there is one with this
        id."""
        ...

    async def claim(self, run_id: str, *, owner: str, until: datetime, now: datetime) -> tuple[Run, int] | None:
        """The run and the epoch of this worker's claim; None if there is none, it is over, or another's claim lives."""
        ...

    async def read_free(self, run_id: str) -> tuple[Run, int] | None:
        """A run that nobody holds and that isn't over, with the epoch to `release` it under; None otherwise."""
        ...

    async def find(self, run_id: str) -> Run | None: ...

    async def save(self, run: Run, epoch: int) -> Run:
        """Write and keep the claim."""
        ...

    async def release(self, run: Run, epoch: int, *, check_at: datetime | None) -> Run:
        """Write and let go, which ends the epoch; `check_at` is when a sweeper must look at it."""
        ...

    async def finish(self, run: Run, epoch: int, *, check_at: datetime | None) -> Run | None:
        """`release` a run that is over; None, and nothing is written, if it was told something that it hasn't heard."""
        ...

    async def renew(self, run_id: str, epoch: int, *, until: datetime) -> None: ...

    def overdue(self, now: datetime, *, limit: int) -> AsyncIterator[str]:
        """Ids of runs that somebody should have looked at by now, or whose promised results are given up."""
        ...

    def past_deadline(self, now: datetime, *, limit: int) -> AsyncIterator[Run]:
        """Runs whose deadline is over, and to whom nobody has said so."""
        ...

    async def mark_announced(self, run_id: str) -> None:
        """Everybody knows that this run is over, or parked and told nothing since: nobody needs to look at it."""
        ...

    async def send_signal(self, scope: Scope, word: Signal) -> list[Run]:
        """Put a word into the inbox of each run in scope that isn't over, once; those runs, and those that have it
        already. One that nobody would look at is to be looked at now."""
        ...

    async def deliver_signal(self, run_id: str, word: Signal) -> SignalResult:
        """Put a word into the inbox of one run, which is to be looked at now if nobody holds it."""
        ...

    async def by_callback(self, callback_id: str) -> Run | None:
        """The run that has made the call with this callback."""
        ...

    async def merge_targets(self, run: Run, *, limit: int) -> Sequence[UnderWay]:
        """The robot's runs that began before this one and can take on its goals (`preparing.accepts_goals`), newest
        first."""
        ...

    async def merge(self, run_id: str, word: Signal, *, giver: Run) -> bool:
        """`bring` a word with `giver`'s goals to one of its `takers`, as long as it still is one; True also if it was
        there before."""
        ...

    async def slots(self, run_ids: Sequence[str]) -> Sequence[SlotState]:
        """What has become of these runs, in this order; without a status if there is none."""
        ...

    async def under_way(self, team: str, member: str, *, limit: int) -> list[str]:
        """Ids of this robot's runs that aren't over, oldest first."""
        ...

    async def recent(self, run: Run, *, earliest: datetime, limit: int) -> RecentRuns:
        """The robot's other runs, `limit` of each kind, back to its last report, but not beyond `earliest`. Those that
        aren't in standard mode change nothing outside, and are left out."""
        ...

    async def trail(self, run_id: str) -> list[JournalEntry]:
        """All that was decided in a run, oldest first."""
        ...

    async def list(self, wanted: ListExecutions) -> ExecutionPage: ...


class Calls(Protocol):
    """Answers of agent calls by call id, kept for a while, and who is at work on those that have none yet."""

    async def claim(self, call_id: str, *, owner: str, until: datetime, now: datetime) -> AgentReply | bool:
        """The answer, if there is one. Else whether the call is `owner`'s to answer until then: False while another
        claim lives, be it the owner's own."""
        ...

    async def renew(self, call_id: str, *, owner: str, until: datetime) -> None:
        """Prolong the claim, if it is still this owner's."""
        ...

    async def release(self, call_id: str, *, owner: str) -> None:
        """Let go of a call that can't be answered now: whoever asks next claims it at once."""
        ...

    async def remember(self, call_id: str, answer: AgentReply, *, at: datetime) -> AgentReply:
        """The first answer wins, whoever claims the call by now: returns the one that is stored."""
        ...
