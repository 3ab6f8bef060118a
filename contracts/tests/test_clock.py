"""The clock context of a robot."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfoNotFoundError

import pytest

from rota_contracts.robots.clock import ClockContext, clock_context


def context(day: str, hour: int = 12, tz: str = "UTC") -> ClockContext:
    return clock_context(datetime.fromisoformat(day).replace(hour=hour, tzinfo=UTC), tz)


# CL-05
@pytest.mark.parametrize(
    ("day", "start", "end", "quarter"),
    [
        ("2026-01-01", True, False, False),
        ("2026-01-03", True, False, False),
        ("2026-01-04", False, False, False),
        ("2026-01-28", False, False, False),
        ("2026-01-29", False, True, False),
        ("2026-01-31", False, True, False),
        ("2026-02-25", False, False, False),
        ("2026-02-26", False, True, False),
        ("2024-02-26", False, False, False),  # a leap year has one day more
        ("2024-02-27", False, True, False),
        ("2024-02-29", False, True, False),
        ("2026-03-28", False, False, False),
        ("2026-03-29", False, True, True),
        ("2026-04-30", False, True, False),
        ("2026-06-28", False, True, True),
        ("2026-06-27", False, False, False),
        ("2026-09-30", False, True, True),
        ("2026-12-31", False, True, True),
    ],
)
def test_the_edges_of_months_and_quarters(day: str, *, start: bool, end: bool, quarter: bool) -> None:
    made = context(day)
    assert (made.is_month_start, made.is_month_end, made.is_quarter_end) == (start, end, quarter)


# CL-05
@pytest.mark.parametrize(
    ("day", "name", "weekend"),
    [
        ("2026-03-06", "Friday", False),
        ("2026-03-07", "Saturday", True),
        ("2026-03-08", "Sunday", True),
        ("2026-03-09", "Monday", False),
    ],
)
def test_days_of_the_week(day: str, name: str, *, weekend: bool) -> None:
    made = context(day)
    assert (made.day_of_week, made.is_weekend) == (name, weekend)


# CL-05, SC-03
def test_the_context_is_in_the_robot_s_zone() -> None:
    made = context("2026-03-31", hour=23, tz="Asia/Shanghai")
    assert (made.hour, made.day_of_month, made.day_of_week, made.tz) == (7, 1, "Wednesday", "Asia/Shanghai")
    assert (made.is_month_start, made.is_month_end, made.is_quarter_end) == (True, False, False)


def test_daylight_saving_moves_the_hour() -> None:
    assert [context(day, tz="Europe/Paris").hour for day in ("2026-03-28", "2026-03-29")] == [13, 14]


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(ZoneInfoNotFoundError):
        context("2026-03-31", tz="Mars/Olympus")
