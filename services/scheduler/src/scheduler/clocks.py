"""Robots' clocks: what is due at an instant, what is made up for, and when to look again. Pure (SC-01 to SC-08)."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice, takewhile

from rota_contracts.ids import clock_trigger_id, execution_id
from rota_contracts.messages.trigger import MissReason, TriggerInput, TriggerReceivedV1, TriggerType
from rota_contracts.robots.clock import clock_context
from rota_contracts.robots.clock_config import CatchUpPolicy, Clock, ClockMode, duration
from rota_contracts.robots.recurrence import daemon_pause, daemon_timeout, due_after, due_instants
from scheduler.robot_summary import Key, RobotSummary

ON_TIME = timedelta(minutes=1)
"""The newest run that is due is on time if it is found so late, whatever the policy says of those that were missed."""

AT_ONCE = 100
"""Missed runs of one robot that are made up for in one step, at most."""

CHUNK = 10_000
"""Instants of one robot that are looked at in one step, at most."""


@dataclass(frozen=True)
class ClockState:
    """A robot's clock and how far it has come, at one revision of the robot.

    `check_at`: when to check it next; None while nothing new may start. `next_run`: the first instant that is due and
    not yet queued; None too while a daemon runs. `anchor`: what an interval counts from. `running`: a daemon's
    execution that isn't known to have ended; `failures`: of a daemon, in a row. `room`: executions that the robot may
    have waiting or running. `missed_facts`: how many facts of missed runs there were.
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


@dataclass(frozen=True)
class Missed:
    """Runs that were due and aren't made up for."""

    first: datetime
    last: datetime
    count: int
    reason: MissReason
    message: str


@dataclass(frozen=True)
class Due:
    """What one look at a clock has found: the instants to queue runs for, what is missed, and the clock after it."""

    fires: tuple[datetime, ...]
    missed: tuple[Missed, ...]
    after: ClockState


def set_clock(summary: RobotSummary, clock: Clock, old: ClockState | None, now: datetime) -> ClockState:
    """The clock of a robot that was changed, or is new. A schedule that stays keeps its pace."""
    room = summary.quota.max + summary.quota.queue
    if old is None:
        state = ClockState(summary.team, summary.member, summary.rev, clock, now, room=room)
    else:
        anchor = old.anchor if _pace(old.clock) == _pace(clock) else now
        state = replace(old, rev=summary.rev, clock=clock, anchor=anchor, room=room)
    if not summary.active or not summary.trigger(TriggerType.CLOCK).enabled:
        return replace(state, next_run=None, check_at=None)
    goes_on = old is not None and old.check_at is not None and _schedule(old.clock) == _schedule(clock)
    return state if goes_on else _arm(state, now)


def _pace(clock: Clock) -> tuple[ClockMode, str | None]:
    return clock.mode, clock.every


def _schedule(clock: Clock) -> object:
    return clock.mode, clock.every, clock.times, clock.days, clock.tz


def _arm(state: ClockState, now: datetime) -> ClockState:
    if state.clock.mode is ClockMode.DAEMON:
        if state.running is not None:  # whether it still runs is asked first
            return replace(state, next_run=None, check_at=now)
        return replace(state, next_run=now, check_at=now)
    next_run = due_after(state.clock, now, anchor=state.anchor)
    return replace(state, next_run=next_run, check_at=next_run)


def due(state: ClockState, now: datetime, *, queued: Collection[datetime] = (), room: int = AT_ONCE) -> Due:
    """What is due at `now`, which isn't before `state.check_at`.

    `queued`: instants whose runs are queued already, by somebody who didn't come to move the clock on. `room`: how many
    missed runs may be queued now, where all are to be made up for.
    """
    if state.next_run is None:
        raise ValueError(f"{state.key}: a daemon that runs is asked after, it isn't due")
    if state.clock.mode is ClockMode.DAEMON:
        return _daemon(state, state.next_run, now)
    if now < state.next_run:  # a look ahead of time, because there had been no room
        return Due((), (), replace(state, check_at=state.next_run))
    found = pending(state, now)
    on_time = [instant for instant in found[-1:] if now - instant <= ON_TIME]
    late = found[: len(found) - len(on_time)]
    if not late:
        return Due(tuple(on_time), (), _advance(state, found[-1]))
    if state.clock.catch_up.policy is CatchUpPolicy.ALL:
        return _all(state, late, on_time, now, room)
    return _newest(state, late, on_time, now, queued)


def is_late(state: ClockState, now: datetime) -> bool:
    """Is something due that needs the catch-up policy?"""
    if state.next_run is None or state.clock.mode is ClockMode.DAEMON:
        return False
    second = due_after(state.clock, state.next_run, anchor=state.anchor)
    return now - state.next_run > ON_TIME or (second is not None and second <= now)


def pending(state: ClockState, now: datetime) -> list[datetime]:
    """Every instant that is due by now and not queued yet; the oldest CHUNK of them, if there are more."""
    if state.next_run is None or state.next_run > now:
        return []
    later = due_instants(state.clock, state.next_run, anchor=state.anchor)
    return [state.next_run, *islice(takewhile(lambda each: each <= now, later), CHUNK - 1)]


def ended(state: ClockState, now: datetime, *, failed: bool | None) -> ClockState:
    """A daemon's clock after its run has ended; `failed` None: neither well nor badly."""
    failures = {True: state.failures + 1, False: 0, None: state.failures}[failed]
    state = replace(state, running=None, failures=failures)
    if state.check_at is None or state.clock.mode is not ClockMode.DAEMON:
        return state
    next_run = now + daemon_pause(failures)
    return replace(state, next_run=next_run, check_at=next_run)


def recheck_later(state: ClockState, now: datetime) -> ClockState:
    """A daemon's clock whose run is still under way: look again later."""
    return replace(state, check_at=now + daemon_timeout(state.clock))


def trigger_of(state: ClockState, instant: datetime, now: datetime) -> TriggerReceivedV1:
    """The trigger that the clock is at `instant`. What is made up for is told what time it is, not what it was."""
    seen = now if now - instant > ON_TIME else instant
    return TriggerReceivedV1(
        trigger_id=clock_trigger_id(state.team, state.member, instant),
        team_id=state.team,
        member_id=state.member,
        type=TriggerType.CLOCK,
        input=TriggerInput(clock=clock_context(seen, state.clock.tz)),
        received_at=now,
        robot_rev=state.rev,
        scheduled_at=instant,
    )


def _advance(state: ClockState, past: datetime) -> ClockState:
    next_run = due_after(state.clock, past, anchor=state.anchor)
    return replace(state, next_run=next_run, check_at=next_run)


def _daemon(state: ClockState, instant: datetime, now: datetime) -> Due:
    run = execution_id(clock_trigger_id(state.team, state.member, instant))
    after = replace(state, next_run=None, running=run, check_at=now + daemon_timeout(state.clock))
    return Due((instant,), (), after)


def _all(state: ClockState, late: list[datetime], on_time: list[datetime], now: datetime, room: int) -> Due:
    """Each that isn't too old, the oldest first, as many as there is room for; the others are looked at again."""
    young = _recent(state, late, now)
    missed = _too_old(state, late[: len(late) - len(young)])
    wanted = [*young, *on_time]
    fires = wanted[: max(min(room, AT_ONCE), 0)]
    if fires == wanted:
        return Due(tuple(fires), missed, _advance(state, wanted[-1] if wanted else late[-1]))
    rest = wanted[len(fires)]
    return Due(tuple(fires), missed, replace(state, next_run=rest, check_at=now if fires else now + ON_TIME / 30))


def _newest(
    state: ClockState, late: list[datetime], on_time: list[datetime], now: datetime, queued: Collection[datetime]
) -> Due:
    """One run makes up for all that are late, or none does."""
    after = _advance(state, (on_time or late)[-1])
    there = [instant for instant in late if instant in queued]
    late = [instant for instant in late if instant not in queued]
    if state.clock.catch_up.policy is CatchUpPolicy.SKIP:
        return Due(tuple(on_time), _missed(late, MissReason.SKIPPED, "the robot's catch_up policy is skip"), after)
    if len(there) + len(late) == CHUNK:
        return Due((), _missed(late, MissReason.SUPERSEDED, "a later run makes up for them"), after)
    makes_up = (on_time or there or _recent(state, late, now))[-1:]
    if not makes_up:
        return Due((), _too_old(state, late), after)
    fires = on_time or [instant for instant in makes_up if instant not in there]
    words = f"the run of {makes_up[0].isoformat(timespec='minutes')} makes up for them"
    rest = [instant for instant in late if instant not in fires]
    return Due(tuple(fires), _missed(rest, MissReason.SUPERSEDED, words), after)


def _recent(state: ClockState, late: list[datetime], now: datetime) -> list[datetime]:
    oldest = now - duration(state.clock.catch_up.max_age)
    return [instant for instant in late if instant >= oldest]


def _too_old(state: ClockState, late: list[datetime]) -> tuple[Missed, ...]:
    return _missed(late, MissReason.TOO_OLD, f"they are older than catch_up.max_age, {state.clock.catch_up.max_age}")


def _missed(late: list[datetime], reason: MissReason, why: str) -> tuple[Missed, ...]:
    if not late:
        return ()
    runs = "1 run was" if len(late) == 1 else f"{len(late)} runs were"
    message = f"{runs} due while no scheduler ran: {why}"
    return (Missed(late[0], late[-1], len(late), reason, message),)
