"""Ports: the executor's needs from outside, in its own terms."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from typing import NamedTuple, Protocol

from executor.call_port import Calls
from executor.decision_port import DecisionQueries
from executor.definition_port import Definitions, NoDefinitions
from executor.domain.run import JournalEntry, Run, Signal
from executor.domain.situation.recent import RecentRuns
from executor.file_ports import Blobs, Files, WebPages, WebPictures
from executor.hook_port import Hook
from executor.model_port import Model
from executor.spending.budget_port import Budget, Prices
from executor.tool_ports import Processes, Tools
from rota_common.page_cursor import PageCursor
from rota_common.spans.export_spans import Receiver
from rota_common.stores.blobs import Owner
from rota_common.stores.team_documents import TeamDocuments
from rota_common.team_secrets import CachedSecrets, TeamSecrets
from rota_contracts.messages.definition import CountRuns, RunCounts
from rota_contracts.messages.execution import ExecutionPage, ListExecutions
from rota_contracts.messages.executor_capacity import SlotState
from rota_contracts.messages.learning import UnderWay
from rota_contracts.messages.spend import ReadSpend, SpendReply
from rota_contracts.robots.robot import Robot

COUNTED = 10_000
"""Runs that a list counts, and that a page number can reach; beyond them lists go on by cursor."""


class Robots(Protocol):
    async def find(self, team: str, member: str) -> Robot | None:
        """The robot as it is now, deleted ones too (`deleted` is set); None if there never was one."""
        ...

    async def known(self, team: str, member: str, *, rev: int | None = None) -> Robot | None:
        """The same from memory, which a change reaches a moment later; at this revision or a later one if there is
        one."""
        ...


class Fenced(Exception):
    """Another worker holds the run by now: this one must write nothing more."""


@dataclass(frozen=True)
class Scope:
    """The executions that a signal is for: one, all of a robot, or all of a team."""

    team: str
    member: str | None = None
    execution_id: str | None = None


class SignalResult(Enum):
    """`DUPLICATE`: a signal with this id was there before. `FINISHED`: the run is over and accepts none."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    FINISHED = "finished"


class RunQueries(DecisionQueries, Protocol):
    """Stored runs, to read. A run is read with the signals that it hasn't applied yet.

    One that another version wrote, and this one can't read, raises Unreadable where it is asked for by id, and is left
    out of everything else.
    """

    async def find(self, run_id: str) -> Run | None: ...

    async def list(self, wanted: ListExecutions, *, after: PageCursor | None) -> ExecutionPage:
        """Newest first. At most `COUNTED` are counted, and none after a cursor."""
        ...

    async def journal(self, run_id: str) -> Sequence[JournalEntry]:
        """Everything that was decided in a run, oldest first."""
        ...

    async def signals(self, run_id: str) -> Sequence[Signal]:
        """All signals of a run, applied or not, in their order."""
        ...

    async def slots(self, run_ids: Sequence[str]) -> Sequence[SlotState]:
        """The state of these runs, in this order; without a status if there is no such run."""
        ...

    async def by_callback(self, callback_id: str) -> Run | None:
        """The run whose call has this callback."""
        ...

    async def under_way(self, team: str, member: str, *, limit: int) -> Sequence[str]:
        """Ids of this robot's runs that aren't over, oldest first."""
        ...

    async def recent(self, run: Run, *, earliest: datetime, limit: int) -> RecentRuns:
        """The robot's other runs, `limit` of each kind, back to its last report, but not beyond `earliest`. Only runs
        in standard mode: the others change nothing outside."""
        ...

    def at_ceiling(self, *, limit: int) -> AsyncIterator[Run]:
        """Parked runs that wait for room below a ceiling, oldest first."""
        ...

    async def count(self, wanted: CountRuns) -> RunCounts:
        """How the runs of these sets of definitions have ended, without those in other modes than the standard one."""
        ...

    async def spend(self, wanted: ReadSpend, *, limit: int) -> SpendReply:
        """The sums of runs that began since then."""
        ...

    async def merge_targets(self, run: Run, *, limit: int) -> Sequence[UnderWay]:
        """The robot's runs that began before this one and can take its goals (`prepare.accepts_goals`), newest
        first."""
        ...


class Claimed(NamedTuple):
    """`epoch`: of this claim; `at`: when it began, by the store's clock."""

    run: Run
    epoch: int
    at: datetime


class Runs(RunQueries, Protocol):
    """Runs, to work on and to signal.

    A claim gives the right to write until it ends. Its `epoch` fences: every write names it, and raises Fenced when it
    isn't the current one any more. Signals go into a run's inbox, which those writes never touch, so a signal and a
    finished step can't overwrite each other. A write returns the run with the signals that it hasn't applied yet, and
    appends its unsaved journal entries.

    The store's own clock decides when a claim ends, when a run is due and when what it waits for has expired: the
    replicas' clocks may differ.
    """

    async def create(self, run: Run, *, owner: str, lease: timedelta) -> int | None:
        """Insert a new run, claimed, with its inbox; returns its epoch, or None if there is one with this id."""
        ...

    async def give_up(self, run_id: str, at: datetime) -> bool:
        """A run that never begins: it can't be created any more. False if there is one with this id."""
        ...

    async def claim(self, run_id: str, *, owner: str, lease: timedelta) -> Claimed | None:
        """None if there is none, it is over, or another claim is alive."""
        ...

    async def read_free(self, run_id: str) -> tuple[Run, int] | None:
        """A run that is unclaimed and not over, with the epoch to `release` it under; None otherwise."""
        ...

    async def save(self, run: Run, epoch: int) -> Run:
        """Write and keep the claim."""
        ...

    async def release(self, run: Run, epoch: int, *, check_in: timedelta | None) -> Run:
        """Write and end the claim: `read_free` reads this next, one epoch on. It is checked after `check_in`."""
        ...

    async def finish(self, run: Run, epoch: int, *, check_in: timedelta | None) -> Run | None:
        """`release` a run that is over; None, and nothing is written, if its inbox has a signal to apply."""
        ...

    async def renew(self, run_id: str, epoch: int, *, lease: timedelta) -> None: ...

    def overdue(self, *, limit: int, apart_from: Sequence[str] = ()) -> AsyncIterator[str]:
        """Ids of runs to check by now, or whose promised results or approvals have expired."""
        ...

    def past_deadline(self, *, limit: int, apart_from: Sequence[str] = ()) -> AsyncIterator[Run]:
        """Runs whose deadline is over, without the signal for it."""
        ...

    async def mark_announced(self, run_id: str, *, decided: int = 0) -> None:
        """It is published that this run is over, with `decided` decisions about its quarantine, or parked without a new
        signal: no sweeper needs to check it."""
        ...

    async def send_signal(self, scope: Scope, signal: Signal) -> Sequence[Run]:
        """Put a signal into the inbox of each run in scope that isn't over, once. Returns those runs, and those that
        have it already. Runs that no sweeper would check are checked now.

        A run whose inbox is full (`signals.limits`) isn't among them; a stop always has room, and one is enough."""
        ...

    async def deliver_signal(self, run_id: str, signal: Signal) -> SignalResult:
        """Put a signal into the inbox of one run, which is checked now if it is unclaimed."""
        ...

    async def to_remove(self, *, limit: int) -> Sequence[Owner]:
        """Runs that have been over for as long as they are kept, oldest first. One whose delivery is a long text stays
        at least as long as a delivery may be retried (`RETRIED_FOR`)."""
        ...

    async def remove(self, run_ids: Sequence[str]) -> None: ...

    async def is_there(self, run_id: str) -> bool:
        """Also one that another version wrote."""
        ...

    async def merge(self, run_id: str, signal: Signal, *, giver: Run) -> bool:
        """`deliver_signal` with `giver`'s goals to one of its `merge_targets`, as long as it still is one; True also
        for a duplicate."""
        ...


def no_secrets() -> TeamSecrets:
    """No team has any."""

    async def read(team: str, names: Collection[str]) -> Mapping[str, str]:
        return {}

    return CachedSecrets(read)


def _none_known(team: str) -> Collection[str]:
    return ()


async def _nothing() -> None: ...


@dataclass(frozen=True, kw_only=True)
class Adapters:
    """`recording_*` stand in for tools and processes in runs that aren't in standard mode. `hooks`: the platform's, in
    their order. `servers`: the MCP servers that are set up, and their teams; None = not known. `spans`: where they are
    exported to, if anywhere. `known_secrets`: the values of a team's secrets that were read here. `close` once the use
    cases have stopped."""

    runs: Runs
    calls: Calls
    blobs: Blobs
    files: Files
    pictures: WebPictures
    pages: WebPages
    robots: Robots
    model: Model
    rehearsal: Model
    tools: Tools
    processes: Processes
    recording_tools: Tools
    recording_processes: Processes
    budget: Budget
    prices: Prices
    team_documents: TeamDocuments
    definitions: Definitions = field(default_factory=NoDefinitions)
    secrets: TeamSecrets = field(default_factory=no_secrets)
    hooks: Sequence[Hook] = ()
    servers: Mapping[str, frozenset[str]] | None = None
    spans: Receiver | None = None
    known_secrets: Callable[[str], Collection[str]] = _none_known
    close: Callable[[], Awaitable[None]] = _nothing
