"""The clock of a definition: accepted forms, and errors with an example."""

from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from rota_contracts.robots.clock_config import Clock, duration


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("45s", timedelta(seconds=45)),
        ("30m", timedelta(minutes=30)),
        ("1h30m", timedelta(minutes=90)),
        ("2d", timedelta(days=2)),
        ("1d2h3m4s", timedelta(days=1, hours=2, minutes=3, seconds=4)),
    ],
)
def test_durations(text: str, span: timedelta) -> None:
    assert duration(text) == span


@pytest.mark.parametrize("text", ["", "30", "m", "30 m", "-1h", "1.5h", "30m1h", "30m\n", "٣m"])
def test_an_invalid_duration_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="expected a duration like 30m, 2h or 1h30m"):
        duration(text)


def test_a_duration_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="longer than nothing"):
        duration("0h0m")


def test_a_duration_beyond_the_calendar_is_refused() -> None:
    with pytest.raises(ValueError, match="shorter than two million years"):
        duration("9999999999999d")


# SC-01 to SC-06
@pytest.mark.parametrize(
    "clock",
    [
        {"mode": "times", "times": ["06:00", "18:00"], "days": ["Mon", "Fri"], "tz": "Asia/Shanghai", "timeout": "30m"},
        {"mode": "times", "times": ["9:00"], "days": ["*"]},
        {"mode": "interval", "every": "2h"},
        {"mode": "daemon", "timeout": "10m"},
    ],
)
def test_clocks_of_the_specification(clock: dict[str, Any]) -> None:
    assert Clock.model_validate(clock).model_dump(mode="json", exclude_unset=True) == clock


def test_a_span_of_days_is_stored_day_by_day() -> None:
    clock = {"mode": "times", "times": ["09:00"], "days": ["Fri-Mon", "Wed", "Thu-Thu"]}
    assert Clock.model_validate(clock).days == ["Fri", "Sat", "Sun", "Mon", "Wed", "Thu"]


# SC-01 to SC-06
@pytest.mark.parametrize(
    ("clock", "field", "example"),
    [
        ({"mode": "times"}, (), '"09:00"'),
        ({"mode": "interval"}, (), '"30m"'),
        ({"mode": "times", "times": ["24:00"]}, ("times", 0), "09:00"),
        ({"mode": "times", "times": ["09:00", "9am"]}, ("times", 1), "09:00"),
        ({"mode": "times", "times": ["09:00\n"]}, ("times", 0), "09:00"),
        ({"mode": "times", "times": ["09:00"], "days": ["Monday"]}, ("days", 0), "Mon, Tue"),
        ({"mode": "times", "times": ["09:00"], "days": ["Mon-Fri", "Mo-Fri"]}, ("days", 1), "Mon-Fri"),
        ({"mode": "times", "times": ["09:00"], "tz": "Shanghai"}, ("tz",), "Europe/Paris"),
        ({"mode": "interval", "every": "2 hours"}, ("every",), "30m"),
        ({"mode": "daemon", "timeout": "soon"}, ("timeout",), "30m"),
        ({"mode": "hourly"}, ("mode",), "daemon"),
    ],
)
def test_a_wrong_clock_is_refused_with_its_field_and_an_example(
    clock: dict[str, Any], field: tuple[str | int, ...], example: str
) -> None:
    with pytest.raises(ValidationError) as refusal:
        Clock.model_validate(clock)
    (error,) = refusal.value.errors()
    assert error["loc"] == field
    assert example in error["msg"]
