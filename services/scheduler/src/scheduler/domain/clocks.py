"""The decisions of robots' clocks: due runs, missed runs, and when to check each clock again. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice, takewhile

from rota_contracts.ids import clock_trigger_id
from rota_contracts.messages.trigger import MissReason, TriggerInput, TriggerReceivedV1, TriggerType
from rota_contracts.robots.clock import clock_context
from rota_contracts.robots.clock_config import CatchUpPolicy, ClockMode, duration
from rota_contracts.robots.recurrence import due_after, due_instants
from scheduler.domain.clock_state import (
    Change,
    ClockState,
    Missed,
    advance,
    end_daemon_run,
    recheck_daemon,
    start_daemon_run,
)
from scheduler.domain.queue import OVER, EntryState
from scheduler.domain.robot_summary import Key

ON_TIME = timedelta(minutes=1)
"""The newest due run that is found within this time is on time, and no catch-up policy applies to it."""

AT_ONCE = 100
"""Missed runs of one robot that are made up for in one step, at most."""

CHUNK = 10_000
"""Instants of one robot that one step covers, at most."""

LOOKBACK = 100
"""Late runs of one robot that may be queued already, at most: their replica was killed before it moved the clock."""


@dataclass(frozen=True)
class Decision:
    """The outcome of a tick: triggers to queue, and then clocks to move."""

    triggers: Sequence[TriggerReceivedV1]
    changes: Sequence[Change]


@dataclass(frozen=True)
class Reads:
    """What `decide` needs from the queue: the states of these executions, and how many executions these robots have."""

    executions: Sequence[str]
    robots: Sequence[Key]


@dataclass(frozen=True)
class Due:
    """One clock's check: the instants to queue runs for, the missed runs, and the clock afterwards."""

    fires: tuple[datetime, ...]
    missed: tuple[Missed, ...]
    after: ClockState


def reads_for(states: Sequence[ClockState], now: datetime) -> Reads:
    """Late runs may be queued already, and a daemon's run may be over; a robot that makes up for all needs room."""
    late = [state for state in states if is_late(state, now)]
    running = [state.running for state in states if state.running is not None and state.next_run is None]
    queued = [state.execution_at(instant) for state in late for instant in pending(state, now)[-LOOKBACK:]]
    return Reads([*running, *queued], [state.key for state in late if _catches_up_all(state)])


def decide(
    states: Sequence[ClockState], *, queued: Mapping[str, EntryState], held: Mapping[Key, int], now: datetime
) -> Decision:
    """The triggers and changes of clocks that are to be checked by `now`.

    `queued`: executions that are stored, by id. `held`: how many requests of a robot wait for their first slot.
    """
    triggers, changes = list[TriggerReceivedV1](), list[Change]()
    for state in states:
        if state.next_run is None:
            changes.append(Change(state, _check_daemon(state, queued, now)))
            continue
        there = {each for each in pending(state, now) if state.execution_at(each) in queued} if queued else ()
        found = due(state, now, queued=there, room=state.room - held.get(state.key, 0))
        triggers += [trigger_of(state, instant, now) for instant in found.fires]
        changes.append(Change(state, found.after, found.missed, now))
    return Decision(triggers, changes)


def wait(states: Sequence[ClockState], until: datetime) -> list[Change]:
    """The clocks as they are, to be checked again then."""
    return [Change(state, replace(state, check_at=until)) for state in states]


def due(state: ClockState, now: datetime, *, queued: Collection[datetime] = (), room: int = AT_ONCE) -> Due:
    """The check of one clock at `now`, which isn't before `state.check_at`.

    `queued`: instants whose runs are queued although the clock was not moved. `room`: how many missed runs may be
    queued now, under the policy `all`.
    """
    if state.next_run is None:
        raise ValueError(f"{state.key}: expected a clock with a next run; a running daemon has none")
    if state.clock.mode is ClockMode.DAEMON:
        return Due((state.next_run,), (), start_daemon_run(state, state.next_run, now))
    if now < state.next_run:  # checked early, because there had been no room
        return Due((), (), replace(state, check_at=state.next_run))
    found = pending(state, now)
    on_time = [instant for instant in found[-1:] if now - instant <= ON_TIME]
    late = found[: len(found) - len(on_time)]
    if not late:
        return Due(tuple(on_time), (), advance(state, found[-1]))
    if _catches_up_all(state):
        return _catch_up_all(state, late, on_time, now, room)
    return _catch_up_newest(state, late, on_time, now, queued)


def is_late(state: ClockState, now: datetime) -> bool:
    """Does the catch-up policy apply to a due run of this clock?"""
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


def trigger_of(state: ClockState, instant: datetime, now: datetime) -> TriggerReceivedV1:
    """The trigger of the clock at `instant`. A caught-up run sees the time at which it runs."""
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


def _check_daemon(state: ClockState, queued: Mapping[str, EntryState], now: datetime) -> ClockState:
    run = queued.get(state.running or "")
    return end_daemon_run(state, now, failed=None) if run is None or run in OVER else recheck_daemon(state, now)


def _catches_up_all(state: ClockState) -> bool:
    return state.clock.catch_up.policy is CatchUpPolicy.ALL


def _catch_up_all(state: ClockState, late: list[datetime], on_time: list[datetime], now: datetime, room: int) -> Due:
    """Each that isn't too old, the oldest first, as many as there is room for; the clock is checked again for the
    others."""
    young = _young(state, late, now)
    missed = _too_old(state, late[: len(late) - len(young)])
    wanted = [*young, *on_time]
    fires = wanted[: max(min(room, AT_ONCE), 0)]
    if fires == wanted:
        return Due(tuple(fires), missed, advance(state, wanted[-1] if wanted else late[-1]))
    rest = wanted[len(fires)]
    return Due(tuple(fires), missed, replace(state, next_run=rest, check_at=now if fires else now + ON_TIME / 30))


def _catch_up_newest(
    state: ClockState, late: list[datetime], on_time: list[datetime], now: datetime, queued: Collection[datetime]
) -> Due:
    """One run makes up for all that are late, or none does."""
    after = advance(state, (on_time or late)[-1])
    there = [instant for instant in late if instant in queued]
    late = [instant for instant in late if instant not in queued]
    if state.clock.catch_up.policy is CatchUpPolicy.SKIP:
        return Due(tuple(on_time), _missed(late, MissReason.SKIPPED, "the robot's catch_up policy is skip"), after)
    if len(there) + len(late) == CHUNK:
        return Due((), _missed(late, MissReason.SUPERSEDED, "a later run makes up for them"), after)
    makes_up = (on_time or there or _young(state, late, now))[-1:]
    if not makes_up:
        return Due((), _too_old(state, late), after)
    fires = on_time or [instant for instant in makes_up if instant not in there]
    words = f"the run of {makes_up[0].isoformat(timespec='minutes')} makes up for them"
    rest = [instant for instant in late if instant not in fires]
    return Due(tuple(fires), _missed(rest, MissReason.SUPERSEDED, words), after)


def _young(state: ClockState, late: list[datetime], now: datetime) -> list[datetime]:
    oldest = now - duration(state.clock.catch_up.max_age)
    return [instant for instant in late if instant >= oldest]


def _too_old(state: ClockState, late: list[datetime]) -> tuple[Missed, ...]:
    return _missed(late, MissReason.TOO_OLD, f"they are older than catch_up.max_age, {state.clock.catch_up.max_age}")


def _missed(late: list[datetime], reason: MissReason, why: str) -> tuple[Missed, ...]:
    if not late:
        return ()
    runs = "1 run was" if len(late) == 1 else f"{len(late)} runs were"
    message = f"{runs} due while nothing could be started: {why}"
    return (Missed(late[0], late[-1], len(late), reason, message),)
