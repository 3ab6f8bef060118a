"""The thousand robots of the year and their clocks, without Rota's types, so that the oracle can read them."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import cycle
from random import Random
from typing import Literal

BEGIN = datetime(2024, 2, 25, tzinfo=UTC)
"""In the past, so that its zones' rules can't change any more; in a leap year, shortly before the leap day, so that a
short run includes it. A Sunday. All instants are full or half hours, so that many coincide."""

ROBOTS = 1000
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
Policy = Literal["skip", "once", "all"]

CATCH_UPS: tuple[tuple[Policy, timedelta], ...] = (
    ("skip", DAY),
    ("once", DAY),
    ("all", DAY),
    ("once", HOUR),
    ("all", 90 * HOUR / 60),
    ("once", HOUR / 2),
    ("all", HOUR),
)


@dataclass(frozen=True)
class RobotSpec:
    """A robot's clock. `times` are local to `tz`; no `days`: every day; `every`: elapsed time; neither: a daemon."""

    member: str
    tz: str
    times: tuple[str, ...] = ()
    days: tuple[str, ...] = ()
    every: timedelta | None = None
    policy: Policy = "once"
    max_age: timedelta = DAY

    @property
    def daemon(self) -> bool:
        return not self.times and self.every is None


@dataclass(frozen=True)
class Pattern:
    """A clock that several robots share; `days` None: one or two random days of the week."""

    tz: str
    times: tuple[str, ...] = ()
    days: tuple[str, ...] | None = ()
    every: timedelta | None = None


PLAIN = {
    "Europe/Paris": ("01:00", "13:00"),
    "America/New_York": ("07:00", "19:00"),
    "America/St_Johns": ("08:30", "20:30"),
    "America/Sao_Paulo": ("09:00", "21:00"),
    "Africa/Cairo": ("02:00", "14:00"),
    "Asia/Beirut": ("02:00", "14:00"),
    "Asia/Kolkata": ("05:30", "17:30"),
    "Asia/Almaty": ("05:00", "17:00"),
    "Asia/Shanghai": ("08:00", "20:00"),
    "Pacific/Auckland": ("00:00", "12:00"),
    "Pacific/Apia": ("01:00", "13:00"),
}
"""Zones, and local times that fall on 0 or 12 o'clock UTC while daylight saving is off."""

EDGES = (
    Pattern("Europe/Paris", ("02:30",), ("Sat", "Sun", "Mon")),
    Pattern("Europe/Paris", ("2:30", "03:00"), ("Sun",)),
    Pattern("America/New_York", ("02:30",), ("Sat", "Sun")),
    Pattern("America/New_York", ("01:30",), ("Sun",)),
    Pattern("America/St_Johns", ("02:00", "02:30"), ("Sun",)),
    Pattern("America/St_Johns", ("01:30",), ("Sun",)),
    Pattern("Africa/Cairo", ("00:00", "00:30"), ("Fri",)),
    Pattern("Africa/Cairo", ("23:30",), ("Thu",)),
    Pattern("Asia/Beirut", ("0:00", "00:30"), ("Sun",)),
    Pattern("Asia/Beirut", ("23:30",), ("Sat",)),
    Pattern("Asia/Almaty", ("23:30",), ("Thu",)),
    Pattern("Australia/Lord_Howe", ("02:15",), ("Sun",)),
    Pattern("Australia/Lord_Howe", ("01:45",), ("Sun",)),
    Pattern("Pacific/Auckland", ("02:30",), ("Sat", "Sun")),
)
"""Local times that one day of the year skips or has twice; Almaty put its clocks back on the leap day."""

BUSY = (
    Pattern("Asia/Kolkata", ("13:30", "14:30", "15:30", "16:30", "17:30"), ("Wed",)),
    Pattern("Asia/Shanghai", ("16:00", "17:00", "17:30", "18:00", "19:00"), ("Wed",)),
    Pattern("America/Sao_Paulo", ("06:00", "06:30", "07:00", "09:00"), ("Wed",)),
)
"""Many runs within a few hours of a Wednesday: an outage then misses several of one robot."""

INTERVALS = (
    *((12 * HOUR, 7), (DAY, 28), (36 * HOUR, 21), (2 * DAY, 35), (49 * HOUR, 3), (60 * HOUR, 21)),
    *((3 * DAY, 35), (7 * DAY, 49)),
)
DAEMONS = 12
EACH_EDGE, EACH_BUSY, DAILY = 4, 14, 14


def fleet(seed: int) -> list[RobotSpec]:
    """The same seed makes the same robots."""
    random, catch_ups = Random(f"{seed} fleet"), cycle(CATCH_UPS)
    made = []
    for number, pattern in enumerate(_patterns(random)):
        days = tuple(random.sample(DAYS, random.choice((1, 2)))) if pattern.days is None else pattern.days
        policy, max_age = next(catch_ups)
        made.append(RobotSpec(f"r{number:04}", pattern.tz, pattern.times, days, pattern.every, policy, max_age))
    return made


def _patterns(random: Random) -> Iterator[Pattern]:
    patterns = [Pattern(tz) for tz, _ in zip(cycle(PLAIN), range(DAEMONS), strict=False)]
    patterns += [pattern for pattern in EDGES for _ in range(EACH_EDGE)]
    patterns += [pattern for pattern in BUSY for _ in range(EACH_BUSY)]
    zones = cycle(PLAIN)
    patterns += [Pattern(next(zones), every=every) for every, count in INTERVALS for _ in range(count)]
    for number in range(ROBOTS - len(patterns)):
        tz = next(zones)
        patterns.append(Pattern(tz, (random.choice(PLAIN[tz]),), ("*",) if number < DAILY else None))
    yield from patterns
