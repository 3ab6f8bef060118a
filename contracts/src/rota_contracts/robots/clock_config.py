"""The clock of a robot: times of day, an interval, or a daemon."""

import re
from datetime import timedelta
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Self
from zoneinfo import available_timezones

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from rota_contracts.model import Part

DURATION_PATTERN = r"^(?=.)(?:([0-9]+)d)?(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+)s)?$"
TIME_PATTERN = r"^(?:[01]?[0-9]|2[0-3]):[0-5][0-9]$"
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
"""As `datetime.weekday()` counts them."""

SPAN_PATTERN = "^({0})-({0})$".format("|".join(DAYS))

LONGEST = timedelta(days=3650)
"""Ten years: a hundred of them, from now or back, are still dates."""


def duration(text: Any) -> timedelta:
    """`30m`, `1h30m`, `2d`, `45s` as a time span; ValueError for anything else, for nothing and for over ten years."""
    match = re.fullmatch(DURATION_PATTERN, text) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f"expected a duration like 30m, 2h or 1h30m, not {text!r}")
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    try:
        span = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
    except OverflowError as error:
        raise ValueError(f"expected a duration shorter than two million years, not {text!r}") from error
    if not span:
        raise ValueError(f"expected a duration longer than nothing, like 30m, not {text!r}")
    if span > LONGEST:
        raise ValueError(f"expected a duration of at most {LONGEST.days}d, like 30m or 7d, not {text!r}")
    return span


def _duration_text(text: Any) -> Any:
    duration(text)
    return text


def _time_text(text: Any) -> Any:
    """Not a text at all: YAML reads `17:30` without quotes as a number."""
    if not isinstance(text, str) or not re.fullmatch(TIME_PATTERN, text):
        raise ValueError(f"expected a time of day like 09:00 or 17:30, not {text!r}")
    return text


def _day_text(text: Any) -> Any:
    if not isinstance(text, str) or not (text in (*DAYS, "*") or re.fullmatch(SPAN_PATTERN, text)):
        raise ValueError(f"expected Mon, Tue, Wed, Thu, Fri, Sat, Sun, a span like Mon-Fri, or *, not {text!r}")
    return text


def _each_day(days: list[str]) -> list[str]:
    """With the days of spans: `Fri-Mon` is four."""
    return [day for text in days for day in _span(text)]


def _span(text: str) -> list[str]:
    first, _, last = text.partition("-")
    if not last:
        return [text]
    start = DAYS.index(first)
    return [DAYS[(start + step) % len(DAYS)] for step in range((DAYS.index(last) - start) % len(DAYS) + 1)]


@cache
def _zones() -> frozenset[str]:
    """Read once: it means walking through a folder of 600 files."""
    return frozenset(available_timezones())


def _zone_text(text: Any) -> Any:
    if not isinstance(text, str) or text not in _zones():
        raise ValueError(f"expected an IANA time zone like Europe/Paris or UTC, not {text!r}")
    return text


def _times_list(given: Any) -> Any:
    return _a_list(given, '["09:00", "17:30"]')


def _days_list(given: Any) -> Any:
    return _a_list(given, '["Mon", "Fri"]')


def _a_list(given: Any, example: str) -> Any:
    if not isinstance(given, (list, tuple)):
        raise ValueError(f"expected a list like {example}, not {given!r}")
    return given


Duration = Annotated[
    str, BeforeValidator(_duration_text), WithJsonSchema({"type": "string", "pattern": DURATION_PATTERN})
]
TimeOfDay = Annotated[str, BeforeValidator(_time_text), WithJsonSchema({"type": "string", "pattern": TIME_PATTERN})]
Day = Annotated[
    str,
    BeforeValidator(_day_text),
    WithJsonSchema({"anyOf": [{"type": "string", "enum": [*DAYS, "*"]}, {"type": "string", "pattern": SPAN_PATTERN}]}),
]
Zone = Annotated[str, BeforeValidator(_zone_text)]
Times = Annotated[list[TimeOfDay], BeforeValidator(_times_list)]
Days = Annotated[list[Day], BeforeValidator(_days_list), AfterValidator(_each_day)]


class ClockMode(StrEnum):
    TIMES = "times"
    INTERVAL = "interval"
    DAEMON = "daemon"


class CatchUpPolicy(StrEnum):
    SKIP = "skip"
    ONCE = "once"
    ALL = "all"


class CatchUp(Part):
    """The policy for runs that were due while no scheduler could start them. Those that are not made up for are
    published as `trigger.missed`."""

    policy: CatchUpPolicy = Field(
        default=CatchUpPolicy.ONCE, description="skip: none of them; once: the newest; all: each, the oldest first"
    )
    max_age: Duration = Field(default="1d", description="runs that were due longer ago are not made up for")


class Clock(Part):
    """When the robot runs by itself."""

    mode: ClockMode = Field(
        description="times: at times of day; interval: every so often; daemon: again as soon as the last run has ended"
    )
    times: Times = Field(default=[], description="mode times: 24-hour, in tz")
    days: Days = Field(default=[], description="mode times: a day or a span like Mon-Fri each; empty or * = every day")
    every: Duration | None = Field(default=None, description="mode interval: the time between two runs, like 2h")
    tz: Zone = Field(default="UTC", description="IANA time zone of times and of the run's clock, like Europe/Paris")
    timeout: Duration | None = Field(default=None, description="longest time of one run")
    catch_up: CatchUp = Field(default=CatchUp(), description="what happens to runs that were missed")

    @model_validator(mode="after")
    def _complete_for_its_mode(self) -> Self:
        if self.mode is ClockMode.TIMES and not self.times:
            raise ValueError('mode times needs times, for example ["09:00", "17:30"]')
        if self.mode is ClockMode.INTERVAL and self.every is None:
            raise ValueError('mode interval needs every, for example "30m"')
        return self
