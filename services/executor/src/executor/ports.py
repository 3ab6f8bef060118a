"""What the executor needs from outside, in its own words."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from executor.agent.words import Said, Tool
from executor.connectors import Connector
from executor.run import Run
from rota_common.errors import Transient
from rota_contracts.agent import AgentAnswered
from rota_contracts.execution import ExecutionsListed, ListExecutions
from rota_contracts.process import ProcessCall
from rota_contracts.robot import Robot
from rota_contracts.trigger import Message
from rota_contracts.turns import ToolUse


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
    async def complete(self, prompt: Prompt) -> Said:
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

    async def call(self, name: str, call: ProcessCall, *, timeout: float) -> str:
        """Call it once; what it answers, as text (JSON where it is JSON). Raises NotBegun, or ToolFailed."""
        ...


class Fenced(Exception):
    """Somebody else holds the run by now; what this worker still wanted to write must not be written."""


class Runs(Protocol):
    """The ledger. A claim gives the right to write, until it ends; its `epoch` fences: every write names it and raises
    Fenced when it isn't the current one any more. Control goes into an inbox of its own, which writes never touch: an
    intervention and a finished step can't overwrite each other."""

    async def create(self, run: Run, *, owner: str, until: datetime) -> int | None:
        """Insert a new run, claimed; its epoch, or None if there is one with this id."""
        ...

    async def claim(self, run_id: str, *, owner: str, until: datetime, now: datetime) -> tuple[Run, int] | None:
        """The run and the epoch of this worker's claim; None if there is none, it is over, or another's claim lives."""
        ...

    async def peek(self, run_id: str) -> tuple[Run, int] | None:
        """A run that nobody holds and that isn't over, with the epoch to `release` it under; None otherwise."""
        ...

    async def find(self, run_id: str) -> Run | None: ...

    async def save(self, run: Run, epoch: int) -> Run:
        """Write and keep the claim; returns the run with what came into its inbox meanwhile."""
        ...

    async def release(self, run: Run, epoch: int, *, look_at: datetime | None) -> Run:
        """Write and let go, which ends the epoch; `look_at` is when a sweeper must look at it."""
        ...

    async def renew(self, run_id: str, epoch: int, *, until: datetime) -> None: ...

    def overdue(self, now: datetime, *, limit: int) -> AsyncIterator[str]:
        """Ids of runs that somebody should have looked at by now."""
        ...

    async def told(self, run_id: str) -> None:
        """Everybody knows that this run is over: nobody needs to look at it any more."""
        ...

    async def cancel_all(self, team: str, member: str, reason: str) -> list[str]:
        """Note in the inbox of every run of this robot that it is to stop; the ids of those it stops or has stopped."""
        ...

    async def list(self, wanted: ListExecutions) -> ExecutionsListed: ...


class Calls(Protocol):
    """Answers of agent calls by call id, kept for a while."""

    async def find(self, call_id: str) -> AgentAnswered | None: ...

    async def remember(self, call_id: str, answer: AgentAnswered, *, at: datetime) -> AgentAnswered:
        """The first answer wins: returns the one that is stored."""
        ...
