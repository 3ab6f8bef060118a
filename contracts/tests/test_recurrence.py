"""The recurrence of clocks, compared with python-dateutil and with known changes of daylight saving."""

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from typing import Any

import pytest
from dateutil import rrule, tz
from hypothesis import given
from hypothesis import strategies as st

from rota_contracts.robots.clock_config import DAYS, Clock
from rota_contracts.robots.recurrence import (
    DAEMON_CEILING,
    DAEMON_FLOOR,
    daemon_pause,
    due_after,
    due_instants,
    in_words,
)

SET = datetime(2026, 1, 1, tzinfo=UTC)
ZONES = (
    "UTC", "Europe/Paris", "America/New_York", "America/St_Johns", "Asia/Shanghai", "Asia/Kolkata", "Asia/Kathmandu",
    "Australia/Lord_Howe", "Africa/Cairo", "Pacific/Apia", "Pacific/Auckland", "America/Santiago",
)  # fmt: skip


def times(*texts: str, **fields: Any) -> Clock:
    return Clock.model_validate({"mode": "times", "times": list(texts), **fields})


def first(clock: Clock, count: int, *, after: str) -> list[str]:
    found = islice(due_instants(clock, datetime.fromisoformat(after), anchor=SET), count)
    return [instant.isoformat() for instant in found]


def expected(clock: Clock, after: datetime, until: datetime) -> list[datetime]:
    """By dateutil: wall times by a rule, the zone's offsets from dateutil's own reader of the zone files."""
    zone = tz.gettz(clock.tz)
    found = set()
    begin = (after - timedelta(days=2)).astimezone(zone).replace(tzinfo=None, hour=0, minute=0, second=0, microsecond=0)
    days = [DAYS.index(day) for day in clock.days if day != "*"] if clock.days and "*" not in clock.days else None
    for text in clock.times:
        hour, minute = map(int, text.split(":"))
        rule = rrule.rrule(rrule.DAILY, dtstart=begin, byweekday=days, byhour=hour, byminute=minute, bysecond=0)
        for wall in rule.between(begin, until.replace(tzinfo=None) + timedelta(days=2), inc=True):
            while not tz.datetime_exists(wall.replace(tzinfo=zone)):
                wall += timedelta(minutes=1)
            found.add(wall.replace(tzinfo=zone, fold=0).astimezone(UTC))
    return sorted(instant for instant in found if after < instant <= until)


@given(
    zone=st.sampled_from(ZONES),
    minutes=st.lists(st.integers(0, 1439), min_size=1, max_size=4),
    days=st.lists(st.sampled_from(DAYS), max_size=4),
    start=st.datetimes(datetime(2024, 1, 1), datetime(2030, 1, 1)),  # noqa: DTZ001  # hypothesis wants them bare
)
def test_the_instants_are_those_of_an_independent_calendar(  # SC-01 SC-02 SC-03 SC-07, DEC-23
    zone: str, minutes: list[int], days: list[str], start: datetime
) -> None:
    clock = times(*(f"{each // 60}:{each % 60:02}" for each in minutes), days=days, tz=zone)
    after = start.replace(tzinfo=UTC, microsecond=0)
    wanted = expected(clock, after, after + timedelta(days=20))
    assert list(islice(due_instants(clock, after, anchor=SET), len(wanted))) == wanted


@pytest.mark.parametrize("zone", ZONES)
def test_in_a_year_of_hours_none_is_missed_and_none_is_doubled(zone: str) -> None:  # SC-03, DEC-23
    clock = times(*(f"{hour:02}:30" for hour in range(24)), tz=zone)
    after, until = datetime(2028, 1, 1, tzinfo=UTC), datetime(2029, 1, 1, tzinfo=UTC)
    found = []
    for instant in due_instants(clock, after, anchor=SET):
        if instant > until:
            break
        found.append(instant)
    assert found == expected(clock, after, until)
    assert all(one < other for one, other in pairwise(found))


@pytest.mark.parametrize(
    ("clock", "after", "due"),
    [
        pytest.param(
            times("02:30", tz="Europe/Paris"), "2026-03-27T12:00+00:00",
            ["2026-03-28T01:30:00+00:00", "2026-03-29T01:00:00+00:00", "2026-03-30T00:30:00+00:00"],
            id="a skipped time is due at the next minute that exists",
        ),
        pytest.param(
            times("02:30", "02:45", "03:00", tz="Europe/Paris"), "2026-03-28T23:00+00:00",
            ["2026-03-29T01:00:00+00:00", "2026-03-30T00:30:00+00:00"],
            id="skipped times that fall together are due once",
        ),
        pytest.param(
            times("02:30", tz="Europe/Paris"), "2026-10-24T12:00+00:00",
            ["2026-10-25T00:30:00+00:00", "2026-10-26T01:30:00+00:00"],
            id="a repeated time is due once, the first time",
        ),
        pytest.param(
            times("00:30", tz="Africa/Cairo"), "2026-04-23T12:00+00:00",
            ["2026-04-23T22:00:00+00:00", "2026-04-24T21:30:00+00:00"],
            id="midnight itself may be skipped",
        ),
        pytest.param(
            times("02:15", tz="Australia/Lord_Howe"), "2026-10-03T00:00+00:00",
            ["2026-10-03T15:30:00+00:00", "2026-10-04T15:15:00+00:00"],
            id="half an hour may be skipped",
        ),
        pytest.param(
            times("09:00", days=["Mon"], tz="Asia/Shanghai"), "2028-02-27T12:00+00:00",
            ["2028-02-28T01:00:00+00:00", "2028-03-06T01:00:00+00:00"],
            id="a leap day is a day",
        ),
        pytest.param(times("9:00", "09:00"), "2026-05-01T00:00+00:00",
            ["2026-05-01T09:00:00+00:00", "2026-05-02T09:00:00+00:00"],
            id="two ways to write a time are one time",
        ),
    ],
)  # fmt: skip
def test_daylight_saving_neither_misses_nor_doubles(clock: Clock, after: str, due: list[str]) -> None:
    assert first(clock, len(due), after=after) == due


def test_an_instant_that_is_due_now_is_not_due_after_now() -> None:
    clock = times("09:00")
    nine = datetime(2026, 5, 1, 9, tzinfo=UTC)
    assert due_after(clock, nine, anchor=SET) == nine + timedelta(days=1)
    assert due_after(clock, nine - timedelta(milliseconds=1), anchor=SET) == nine


@given(
    every=st.integers(1, 10**6),
    away=st.integers(0, 10**9),
    anchor=st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1)),  # noqa: DTZ001  # hypothesis wants them bare
)
def test_an_interval_keeps_its_anchor(every: int, away: int, anchor: datetime) -> None:  # SC-04
    clock, counted = Clock.model_validate({"mode": "interval", "every": f"{every}s"}), anchor.replace(tzinfo=UTC)
    due = due_after(clock, counted + timedelta(milliseconds=away), anchor=counted)
    assert due is not None
    assert (due - counted) % timedelta(seconds=every) == timedelta()
    assert timedelta() < due - (counted + timedelta(milliseconds=away)) <= timedelta(seconds=every)


def test_the_first_run_of_an_interval_is_one_interval_after_its_anchor() -> None:  # SC-04
    clock = Clock.model_validate({"mode": "interval", "every": "2h"})
    assert due_after(clock, SET - timedelta(days=3), anchor=SET) == SET + timedelta(hours=2)
    assert due_after(clock, SET, anchor=SET) == SET + timedelta(hours=2)


def test_a_day_as_an_interval_is_24_hours_also_when_a_day_is_not() -> None:
    clock = Clock.model_validate({"mode": "interval", "every": "1d", "tz": "Europe/Paris"})
    assert first(clock, 2, after="2026-03-28T12:00+00:00") == ["2026-03-29T00:00:00+00:00", "2026-03-30T00:00:00+00:00"]


def test_a_daemon_is_never_due_by_the_clock() -> None:  # SC-05, DEC-18
    assert due_after(Clock.model_validate({"mode": "daemon"}), SET, anchor=SET) is None


def test_a_daemon_that_fails_pauses_longer_and_longer() -> None:  # DEC-18
    pauses = [daemon_pause(failures) for failures in range(40)]
    assert pauses[0] == DAEMON_FLOOR
    assert [two / one for one, two in pairwise(pauses[:9])] == [2] * 8
    assert pauses[-1] == max(pauses) == DAEMON_CEILING


@pytest.mark.parametrize(
    ("clock", "words"),
    [
        (times("9:00", "17:30", tz="Europe/Paris"), "at 09:00 and 17:30 every day, by the time of Europe/Paris"),
        (times("06:00", days=DAYS[:5]), "at 06:00 from Monday to Friday, by the time of UTC"),
        (
            times("6:00", "12:00", "18:00", days=["Sun", "Sat"]),
            "at 06:00, 12:00 and 18:00 on Saturday and Sunday, by the time of UTC",
        ),
        (
            Clock.model_validate({"mode": "interval", "every": "90m"}),
            "every 1 hour and 30 minutes, counted from when the clock was set",
        ),
        (
            Clock.model_validate({"mode": "daemon"}),
            "again and again: each run begins 1 second after the one before has ended",
        ),
    ],
)  # fmt: skip
def test_a_clock_in_words(clock: Clock, words: str) -> None:
    assert in_words(clock) == words
