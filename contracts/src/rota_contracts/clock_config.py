"""When a robot wakes by itself (SC-01 to SC-06), checked when it is written."""

import re
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Self
from zoneinfo import available_timezones

from pydantic import AfterValidator, Field, WithJsonSchema, model_validator

from rota_contracts.model import Part

_DURATION = r"^(?=.)(?:([0-9]+)d)?(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+)s)?$"
_TIME = r"^(?:[01]?[0-9]|2[0-3]):[0-5][0-9]$"
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
"""As `datetime.weekday()` counts them."""


def duration(text: str) -> timedelta:
    """`30m`, `1h30m`, `2d`, `45s` as a time span; ValueError for anything else and for nothing at all."""
    match = re.fullmatch(_DURATION, text)
    if match is None:
        raise ValueError(f"expected a duration like 30m, 2h or 1h30m, not {text!r}")
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    try:
        span = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
    except OverflowError as error:
        raise ValueError(f"expected a duration shorter than two million years, not {text!r}") from error
    if not span:
        raise ValueError(f"expected a duration longer than nothing, like 30m, not {text!r}")
    return span


def _duration_text(text: str) -> str:
    duration(text)
    return text


def _time_text(text: str) -> str:
    if not re.fullmatch(_TIME, text):
        raise ValueError(f"expected a time of day like 09:00 or 17:30, not {text!r}")
    return text


def _day_text(text: str) -> str:
    if text not in (*DAYS, "*"):
        raise ValueError(f"expected Mon, Tue, Wed, Thu, Fri, Sat, Sun or *, not {text!r}")
    return text


def _zone_text(text: str) -> str:
    if text not in available_timezones():
        raise ValueError(f"expected an IANA time zone like Europe/Paris or UTC, not {text!r}")
    return text


Duration = Annotated[str, AfterValidator(_duration_text), WithJsonSchema({"type": "string", "pattern": _DURATION})]
TimeOfDay = Annotated[str, AfterValidator(_time_text), WithJsonSchema({"type": "string", "pattern": _TIME})]
Day = Annotated[str, AfterValidator(_day_text), WithJsonSchema({"type": "string", "enum": [*DAYS, "*"]})]
Zone = Annotated[str, AfterValidator(_zone_text)]


class ClockMode(StrEnum):
    TIMES = "times"
    INTERVAL = "interval"
    DAEMON = "daemon"


class CatchUpPolicy(StrEnum):
    SKIP = "skip"
    ONCE = "once"
    ALL = "all"


class CatchUp(Part):
    """What happens to runs that were due while no scheduler could start them. What isn't made up for is a visible
    `trigger.missed`."""

    policy: CatchUpPolicy = Field(
        default=CatchUpPolicy.ONCE, description="skip: none of them; once: the newest; all: each, the oldest first"
    )
    max_age: Duration = Field(default="1d", description="what was due longer ago is not made up for")


class Clock(Part):
    mode: ClockMode
    times: list[TimeOfDay] = Field(default=[], description="mode times: 24-hour, in tz")
    days: list[Day] = Field(default=[], description="mode times: empty or * = every day")
    every: Duration | None = Field(default=None, description="mode interval")
    tz: Zone = "UTC"
    timeout: Duration | None = Field(default=None, description="longest time of one run")
    catch_up: CatchUp = CatchUp()

    @model_validator(mode="after")
    def _complete_for_its_mode(self) -> Self:
        if self.mode is ClockMode.TIMES and not self.times:
            raise ValueError('mode times needs times, for example ["09:00", "17:30"]')
        if self.mode is ClockMode.INTERVAL and self.every is None:
            raise ValueError('mode interval needs every, for example "30m"')
        return self
