"""The state of a robot's clock, and how it follows its robot and its daemon's runs. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from rota_contracts.ids import clock_trigger_id, execution_id
from rota_contracts.messages.trigger import MissReason, TriggerType
from rota_contracts.robots.clock_config import Clock, ClockMode
from rota_contracts.robots.recurrence import daemon_pause, daemon_timeout, due_after
from scheduler.domain.robot_summary import Key, RobotSummary


@dataclass(frozen=True)
class ClockState:
    """A robot's clock and how far it has come, at one revision of the robot.

    `check_at`: when to check it next; None while nothing new may start. `next_run`: the first instant that is due and
    not yet queued; None too while a daemon runs. `anchor`: what an interval counts from. `running`: a daemon's
    execution whose end is not known; `failures`: of a daemon, consecutive. `room`: requests that may wait for a slot of
    the robot. `missed_facts`: how many facts of missed runs there were.
    """

    team: str
    member: str
    rev: int
    clock: Clock
    anchor: datetime
    next_run: datetime | None = None
    check_at: datetime | None = None
    running: str | None = None
    failures: int = 0
    room: int = 0
    missed_facts: int = 0

    @property
    def key(self) -> Key:
        return self.team, self.member

    def execution_at(self, instant: datetime) -> str:
        """The id of the execution that this clock starts at `instant`."""
        return execution_id(clock_trigger_id(self.team, self.member, instant))


@dataclass(frozen=True)
class Missed:
    """Due runs that are not made up for."""

    first: datetime
    last: datetime
    count: int
    reason: MissReason
    message: str


@dataclass(frozen=True)
class MissedFact:
    """A stored fact of missed runs that may not be published; `number` counts those of one robot."""

    key: Key
    number: int
    missed: Missed
    at: datetime


@dataclass(frozen=True)
class Change:
    """A clock's step from one state to the next; `old` None: it is new. `missed`: the runs that the step leaves out."""

    old: ClockState | None
    new: ClockState
    missed: Sequence[Missed] = ()
    at: datetime | None = None


def set_clock(summary: RobotSummary, clock: Clock, old: ClockState | None, now: datetime) -> ClockState:
    """The clock of a changed or new robot. An unchanged schedule keeps its rhythm."""
    room = max(summary.quota.queue, 1)
    if old is None:
        state = ClockState(summary.team, summary.member, summary.rev, clock, now, room=room)
    else:
        anchor = old.anchor if _rhythm(old.clock) == _rhythm(clock) else now
        state = replace(old, rev=summary.rev, clock=clock, anchor=anchor, room=room)
    if not summary.active or not summary.trigger(TriggerType.CLOCK).enabled:
        return replace(state, next_run=None, check_at=None)
    goes_on = old is not None and old.check_at is not None and _schedule(old.clock) == _schedule(clock)
    return state if goes_on else _arm(state, now)


def end_daemon_run(state: ClockState, now: datetime, *, failed: bool | None) -> ClockState:
    """A daemon's clock after the end of its run; `failed` None: neither completed nor failed."""
    failures = {True: state.failures + 1, False: 0, None: state.failures}[failed]
    state = replace(state, running=None, failures=failures)
    if state.check_at is None or state.clock.mode is not ClockMode.DAEMON:
        return state
    next_run = now + daemon_pause(failures)
    return replace(state, next_run=next_run, check_at=next_run)


def recheck_daemon(state: ClockState, now: datetime) -> ClockState:
    """A daemon's clock while its run goes on: to check again after its timeout."""
    return replace(state, check_at=now + daemon_timeout(state.clock))


def start_daemon_run(state: ClockState, instant: datetime, now: datetime) -> ClockState:
    """A daemon's clock once its run at `instant` is queued."""
    run = state.execution_at(instant)
    return replace(state, next_run=None, running=run, check_at=now + daemon_timeout(state.clock))


def advance(state: ClockState, past: datetime) -> ClockState:
    """The clock at its first instant after `past`."""
    next_run = due_after(state.clock, past, anchor=state.anchor)
    return replace(state, next_run=next_run, check_at=next_run)


def _rhythm(clock: Clock) -> tuple[ClockMode, str | None]:
    return clock.mode, clock.every


def _schedule(clock: Clock) -> object:
    return clock.mode, clock.every, clock.times, clock.days, clock.tz


def _arm(state: ClockState, now: datetime) -> ClockState:
    if state.clock.mode is not ClockMode.DAEMON:
        return advance(state, now)
    if state.running is not None:  # it may still run: that is checked first
        return replace(state, next_run=None, check_at=now)
    return replace(state, next_run=now, check_at=now)
