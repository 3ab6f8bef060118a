"""The oracle of the simulated year, held to well-known dates. SC-01 to SC-08."""

import ast
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tests.clock_year import fleet, oracle
from tests.clock_year.fleet import BEGIN, DAY, HOUR, Policy, RobotSpec
from tests.clock_year.oracle import Oracle, due, made_up

MINUTE = timedelta(minutes=1)


def days_runs(text: str, tz: str, year: int, month: int, day: int) -> list[str]:
    """The instants (UTC) of the day before, of this day and of the one after."""
    zone = ZoneInfo(tz)
    noon = datetime(year, month, day, 12, tzinfo=zone)
    found = due(RobotSpec("r", tz, times=(text,)), noon.astimezone(UTC) - 3 * DAY, noon.astimezone(UTC) + 3 * DAY)
    near = [instant for instant in found if abs(instant.astimezone(zone).date() - noon.date()) <= DAY]
    return [f"{instant:%d %H:%M}" for instant in near]


@pytest.mark.parametrize(
    ("tz", "text", "date", "expected"),
    [
        ("Europe/Paris", "02:30", (2024, 3, 31), ["30 01:30", "31 01:00", "01 00:30"]),  # skipped: 03:00 is next
        ("Europe/Paris", "02:30", (2024, 10, 27), ["26 00:30", "27 00:30", "28 01:30"]),  # twice: the first
        ("America/New_York", "02:30", (2024, 3, 10), ["09 07:30", "10 07:00", "11 06:30"]),
        ("America/New_York", "01:30", (2024, 11, 3), ["02 05:30", "03 05:30", "04 06:30"]),
        ("Africa/Cairo", "00:00", (2024, 4, 26), ["24 22:00", "25 22:00", "26 21:00"]),  # the day begins at 01:00
        ("Africa/Cairo", "00:30", (2024, 4, 26), ["24 22:30", "25 22:00", "26 21:30"]),
        ("Africa/Cairo", "23:30", (2024, 10, 31), ["30 20:30", "31 20:30", "01 21:30"]),
        ("Asia/Beirut", "00:30", (2024, 3, 31), ["29 22:30", "30 22:00", "31 21:30"]),
        ("Australia/Lord_Howe", "02:15", (2024, 10, 6), ["04 15:45", "05 15:30", "06 15:15"]),  # half an hour
        ("Australia/Lord_Howe", "01:45", (2024, 4, 7), ["05 14:45", "06 14:45", "07 15:15"]),
        ("Pacific/Auckland", "02:30", (2024, 9, 29), ["27 14:30", "28 14:00", "29 13:30"]),
        ("Asia/Almaty", "23:30", (2024, 2, 29), ["28 17:30", "29 17:30", "01 18:30"]),  # put back on the leap day
        ("Asia/Kolkata", "05:30", (2024, 2, 29), ["28 00:00", "29 00:00", "01 00:00"]),
    ],
)
def test_a_time_of_day_is_due_once_on_a_day_that_has_23_or_25_hours(
    tz: str, text: str, date: tuple[int, int, int], expected: list[str]
) -> None:
    assert days_runs(text, tz, *date) == expected


def test_two_times_that_fall_on_one_instant_are_due_once() -> None:
    spec = RobotSpec("r", "Europe/Paris", times=("02:30", "03:00"), days=("Sun",))
    begin = datetime(2024, 3, 30, tzinfo=UTC)
    assert due(spec, begin, begin + 2 * DAY) == [datetime(2024, 3, 31, 1, tzinfo=UTC)]


def test_days_of_the_week_are_those_of_the_robots_zone() -> None:
    spec = RobotSpec("r", "Pacific/Apia", times=("07:00",), days=("Thu",))
    assert due(spec, BEGIN, BEGIN + 7 * DAY) == [datetime(2024, 2, 28, 18, tzinfo=UTC)]  # there it is Thursday 29


def test_an_interval_counts_elapsed_time_from_its_anchor() -> None:
    spec = RobotSpec("r", "Europe/Paris", every=25 * HOUR)
    assert due(spec, BEGIN, BEGIN + 3 * DAY) == [BEGIN + 25 * HOUR, BEGIN + 50 * HOUR]


def test_the_two_sources_of_zones_agree_on_the_whole_year() -> None:
    """Otherwise a difference would be a bug of neither."""
    zones = {name: (oracle.zone_of(name), ZoneInfo(name)) for name in fleet.PLAIN}
    hours = [BEGIN + count * HOUR + MINUTE for count in range(376 * 24)]
    assert not [
        f"{name} at {each}"
        for name, (mine, theirs) in zones.items()
        for each in hours
        if each.astimezone(mine).utcoffset() != each.astimezone(theirs).utcoffset()
    ]


NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
HOURLY = [NOON - 2 * HOUR, NOON - HOUR, NOON]


@pytest.mark.parametrize(
    ("policy", "max_age", "reading", "fired"),
    [
        ("skip", DAY, NOON, [NOON]),
        ("skip", DAY, NOON + MINUTE, [NOON]),  # so late is on time
        ("skip", DAY, NOON + MINUTE + timedelta(seconds=1), []),
        ("once", DAY, NOON, [NOON]),  # it makes up for the others
        ("once", DAY, NOON + 3 * MINUTE, [NOON]),
        ("once", 30 * MINUTE, NOON + 31 * MINUTE, []),
        ("once", 30 * MINUTE, NOON + 30 * MINUTE, [NOON]),
        ("all", DAY, NOON + 3 * MINUTE, HOURLY),
        ("all", HOUR, NOON, [NOON - HOUR, NOON]),
        ("all", HOUR, NOON + MINUTE, [NOON]),
        ("all", HOUR, NOON + 3 * HOUR, []),
    ],
)
def test_a_policy_decides_what_is_made_up_for(
    policy: Policy, max_age: timedelta, reading: datetime, fired: list[datetime]
) -> None:
    spec = RobotSpec("r", "UTC", times=("00:00",), policy=policy, max_age=max_age)
    assert made_up(spec, HOURLY, reading) == fired


def test_what_was_due_before_the_clock_went_back_is_not_due_again() -> None:
    following = Oracle([RobotSpec("r", "Asia/Kolkata", every=6 * HOUR)], BEGIN, BEGIN + DAY)
    first = BEGIN + 6 * HOUR
    assert following.advance(first).fires == [("r", first)]
    assert not following.advance(first - 10 * MINUTE).fires
    assert not following.advance(first).fires
    assert following.next_due("r") == BEGIN + 12 * HOUR


def test_every_instant_of_a_robot_fires_or_is_skipped() -> None:
    spec = RobotSpec("r", "Asia/Kolkata", every=HOUR, policy="skip")
    following = Oracle([spec], BEGIN, BEGIN + DAY)
    verdict = following.advance(BEGIN + 4 * HOUR)
    assert [instant for _, instant in verdict.fires] == [BEGIN + 4 * HOUR]
    assert [instant for _, instant in verdict.skipped] == [BEGIN + count * HOUR for count in (1, 2, 3)]


def test_the_oracle_imports_nothing_of_the_code_under_test() -> None:
    for module in (oracle, fleet):
        tree = ast.parse(Path(str(module.__file__)).read_text())
        imported = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        imported += [name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names]
        assert imported
        assert not [name for name in imported if name.startswith(("rota", "scheduler", "zoneinfo"))]
