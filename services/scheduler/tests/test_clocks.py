"""Robots' clocks: due runs, missed runs that are made up for, and changes of the robot."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from rota_common.testing.samples import MEMBER, NOON, TEAM, a_robot
from rota_contracts.ids import clock_trigger_id, execution_id
from rota_contracts.messages.trigger import MissReason
from rota_contracts.robots.clock_config import Clock
from rota_contracts.robots.recurrence import DAEMON_FLOOR, DAEMON_TIMEOUT
from scheduler.domain.clock_state import ClockState, end_daemon_run, recheck_daemon, set_clock
from scheduler.domain.clocks import AT_ONCE, CHUNK, ON_TIME, Due, due, pending, trigger_of
from scheduler.domain.robot_summary import summary_of

HOUR, MINUTE, SECOND = timedelta(hours=1), timedelta(minutes=1), timedelta(seconds=1)
HOURLY: dict[str, Any] = {"mode": "interval", "every": "1h"}
DAEMON: dict[str, Any] = {"mode": "daemon"}


def clock(**fields: Any) -> Clock:
    return Clock.model_validate(fields)


def state(
    given: dict[str, Any] | None = None, *, policy: str = "once", max_age: str = "1d", **fields: Any
) -> ClockState:
    """An hourly clock that was set at noon: its first run is due at one."""
    made = clock(**(given or HOURLY), catch_up={"policy": policy, "max_age": max_age})
    base: dict[str, Any] = {"anchor": NOON, "next_run": NOON + HOUR, "check_at": NOON + HOUR, "room": 12}
    return ClockState(TEAM, MEMBER, 1, made, **base | fields)


def hours(*counts: float) -> tuple[datetime, ...]:
    return tuple(NOON + count * HOUR for count in counts)


def missed(found: Due) -> list[tuple[datetime, datetime, int, MissReason]]:
    return [(each.first, each.last, each.count, each.reason) for each in found.missed]


@pytest.mark.parametrize("policy", ["skip", "once", "all"])
@pytest.mark.parametrize("late", [timedelta(), SECOND, ON_TIME])
def test_what_is_on_time_runs_whatever_the_policy(policy: str, late: timedelta) -> None:  # F3
    found = due(state(policy=policy), NOON + HOUR + late)
    assert (found.fires, found.missed) == (hours(1), ())
    assert (found.after.next_run, found.after.check_at) == (NOON + 2 * HOUR, NOON + 2 * HOUR)


AFTER = 10 * HOUR + 30 * MINUTE
"""An outage until half past ten of the tenth hour: ten runs were due, none of them is on time."""


@pytest.mark.parametrize(
    ("policy", "max_age", "fires", "left_out"),
    [
        ("skip", "1d", hours(), [(*hours(1, 10), 10, MissReason.SKIPPED)]),
        ("once", "1d", hours(10), [(*hours(1, 9), 9, MissReason.SUPERSEDED)]),
        ("once", "10m", hours(), [(*hours(1, 10), 10, MissReason.TOO_OLD)]),
        ("all", "1d", hours(*range(1, 11)), []),
        ("all", "4h", hours(7, 8, 9, 10), [(*hours(1, 6), 6, MissReason.TOO_OLD)]),
        ("all", "10m", hours(), [(*hours(1, 10), 10, MissReason.TOO_OLD)]),
    ],
)
def test_what_is_made_up_for_after_an_outage(policy: str, max_age: str, fires: Any, left_out: Any) -> None:  # F3
    found = due(state(policy=policy, max_age=max_age), NOON + AFTER)
    assert found.fires == fires
    assert missed(found) == left_out
    assert found.after.next_run == found.after.check_at == NOON + 11 * HOUR


@pytest.mark.parametrize("policy", ["skip", "once"])
def test_a_run_that_is_on_time_makes_up_for_those_that_are_late(policy: str) -> None:
    found = due(state(policy=policy), NOON + 10 * HOUR + SECOND)
    assert found.fires == hours(10)
    reason = {"skip": MissReason.SKIPPED, "once": MissReason.SUPERSEDED}[policy]
    assert missed(found) == [(*hours(1, 9), 9, reason)]


def test_a_run_that_was_queued_before_its_replica_was_killed_is_not_missed() -> None:  # F3
    queued = set(hours(10))
    assert due(state(policy="once"), NOON + AFTER, queued=queued).fires == ()
    assert missed(due(state(policy="once"), NOON + AFTER, queued=queued)) == [(*hours(1, 9), 9, MissReason.SUPERSEDED)]
    assert missed(due(state(policy="skip"), NOON + AFTER, queued=queued)) == [(*hours(1, 9), 9, MissReason.SKIPPED)]


def test_all_are_made_up_for_as_fast_as_there_is_room() -> None:  # SC-10
    fired: list[datetime] = []
    at, now = state(policy="all"), NOON + AFTER
    for room in (3, 0, 4, 20):
        found = due(at, now, room=room)
        assert found.missed == ()
        fired += found.fires
        at, now = found.after, max(now, found.after.check_at or now)
    assert fired == list(hours(*range(1, 11)))
    assert at.next_run == NOON + 11 * HOUR


def test_so_many_are_made_up_for_in_one_step_and_no_more() -> None:
    found = due(state(clock_every("1m"), policy="all"), NOON + 10 * HOUR, room=10**6)
    assert len(found.fires) == AT_ONCE
    assert (found.after.next_run, found.after.check_at) == (NOON + HOUR + AT_ONCE * MINUTE, NOON + 10 * HOUR)


def clock_every(every: str) -> dict[str, Any]:
    return {"mode": "interval", "every": every}


@pytest.mark.parametrize("policy", ["skip", "once"])
def test_an_outage_of_any_length_is_dealt_with_in_steps(policy: str) -> None:
    at, now, fired, left_out = state(clock_every("1s"), policy=policy), NOON + 10 * HOUR, 0, 0
    while at.next_run is not None and at.next_run <= now:
        found = due(at, now)
        at, fired, left_out = found.after, fired + len(found.fires), left_out + sum(each.count for each in found.missed)
    due_in_all = 9 * 3600 + 1
    assert len(pending(state(clock_every("1s")), now)) == CHUNK < due_in_all
    assert fired + left_out == due_in_all
    assert fired == 1


def test_a_daemon_runs_again_after_its_end_and_not_before() -> None:  # SC-05, DEC-18
    at = state(DAEMON, next_run=NOON, check_at=NOON)
    found = due(at, NOON + SECOND)
    run = execution_id(clock_trigger_id(TEAM, MEMBER, NOON))
    assert (found.fires, found.after.next_run, found.after.running) == ((NOON,), None, run)
    assert found.after.check_at == NOON + SECOND + DAEMON_TIMEOUT
    with pytest.raises(ValueError, match="a running daemon has none"):
        due(found.after, NOON + HOUR)
    later = end_daemon_run(found.after, NOON + HOUR, failed=False)
    assert (later.next_run, later.check_at, later.running) == (
        NOON + HOUR + DAEMON_FLOOR,
        NOON + HOUR + DAEMON_FLOOR,
        None,
    )


def test_a_daemon_is_never_late_it_only_waits() -> None:
    found = due(state(DAEMON, policy="skip", next_run=NOON, check_at=NOON), NOON + 10 * HOUR)
    assert (found.fires, found.missed) == ((NOON,), ())


def test_a_daemons_failures_are_counted_until_a_run_completes() -> None:  # DEC-18
    at = state(DAEMON, next_run=None, running="e1")
    pauses = []
    for failed in (True, True, None, True, False, True):
        at = end_daemon_run(replace(at, running="e1"), NOON, failed=failed)
        assert at.next_run is not None
        pauses.append((at.next_run - NOON) / SECOND)
    assert pauses == [2, 4, 4, 8, 1, 2]


def test_a_daemon_that_was_paused_while_it_ran_does_not_go_on_by_itself() -> None:
    at = end_daemon_run(state(DAEMON, next_run=None, check_at=None, running="e1"), NOON, failed=False)
    assert (at.next_run, at.check_at, at.running) == (None, None, None)


def test_a_daemon_without_a_report_of_its_end_is_checked_again() -> None:
    at = state(clock_with_timeout("10m"), next_run=None, running="e1", check_at=NOON)
    assert recheck_daemon(at, NOON).check_at == NOON + 10 * MINUTE


def clock_with_timeout(timeout: str) -> dict[str, Any]:
    return {**DAEMON, "timeout": timeout}


def set_on(given: Clock, old: ClockState | None = None, *, at: datetime = NOON, **fields: Any) -> ClockState:
    return set_clock(summary_of(a_robot(**{"rev": (old.rev + 1) if old else 1, **fields})), given, old, at)


def test_a_new_clock_is_due_after_it_was_set() -> None:  # SC-04 SC-05
    assert set_on(clock(**HOURLY)).next_run == NOON + HOUR
    assert set_on(clock(mode="times", times=["12:00", "13:00"])).next_run == NOON + HOUR
    assert set_on(clock(**DAEMON)).next_run == NOON


def test_a_change_of_something_else_leaves_the_pace() -> None:  # SC-04
    old = set_on(clock(**HOURLY))
    new = set_on(clock(**HOURLY, timeout="5m"), old, at=NOON + 30 * MINUTE)
    assert (new.next_run, new.anchor, new.rev) == (NOON + HOUR, NOON, 2)


def test_another_interval_is_counted_from_its_change() -> None:
    new = set_on(clock(mode="interval", every="2h"), set_on(clock(**HOURLY)), at=NOON + 30 * MINUTE)
    assert (new.anchor, new.next_run) == (NOON + 30 * MINUTE, NOON + 150 * MINUTE)


def test_what_was_due_when_only_the_policy_was_changed_is_not_forgotten() -> None:
    old = set_on(clock(**HOURLY))
    new = set_on(clock(**HOURLY, catch_up={"policy": "all"}), old, at=NOON + 5 * HOUR)
    assert new.next_run == NOON + HOUR


@pytest.mark.parametrize(
    "stopped",
    [
        {"robot_status": "paused"},
        {"robot_status": "maintenance"},
        {"autonomous_mode": False},
        {"deleted": True},
        {"config": {"triggers": {"clock": {"enabled": False}}}},
    ],
)
def test_a_robot_that_is_stopped_is_not_due_and_keeps_its_anchor(stopped: dict[str, Any]) -> None:  # TG-18
    old = set_on(clock(**HOURLY))
    held = set_on(clock(**HOURLY), old, at=NOON + 10 * MINUTE, **stopped)
    assert (held.next_run, held.check_at) == (None, None)
    again = set_on(clock(**HOURLY), held, at=NOON + 5 * HOUR + MINUTE)
    assert (again.anchor, again.next_run) == (NOON, NOON + 6 * HOUR)


def test_a_robot_in_error_goes_on() -> None:  # TG-18, DEC-15
    failure = {"execution_id": "e1", "at": NOON}
    assert set_on(clock(**HOURLY), error=failure).next_run == NOON + HOUR


def test_a_daemon_that_is_resumed_while_it_runs_is_checked_first() -> None:  # DEC-18
    running = due(set_on(clock(**DAEMON)), NOON).after
    held = set_on(clock(**DAEMON), running, at=NOON + MINUTE, robot_status="paused")
    again = set_on(clock(**DAEMON), held, at=NOON + 2 * MINUTE)
    assert (again.next_run, again.check_at, again.running) == (None, NOON + 2 * MINUTE, running.running)


def test_the_trigger_holds_its_due_time_and_the_current_time() -> None:  # SC-08 CL-05
    at = state(clock_in("Asia/Shanghai"))
    on_time, late = (trigger_of(at, NOON + HOUR, NOON + HOUR + wait) for wait in (SECOND, 3 * HOUR))
    assert on_time.trigger_id == late.trigger_id == clock_trigger_id(TEAM, MEMBER, NOON + HOUR)
    assert on_time.scheduled_at == late.scheduled_at == NOON + HOUR
    assert on_time.input.clock is not None
    assert late.input.clock is not None
    assert (on_time.input.clock.now, late.input.clock.now) == (NOON + HOUR, NOON + 4 * HOUR)
    assert (on_time.input.clock.hour, on_time.input.clock.tz) == (21, "Asia/Shanghai")


def clock_in(zone: str) -> dict[str, Any]:
    return {**HOURLY, "tz": zone}
