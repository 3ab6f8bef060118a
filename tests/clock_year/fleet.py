"""The thousand robots of the simulated year: their clocks in plain words, as the oracle understands them."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import cycle
from random import Random
from typing import Literal

BEGIN = datetime(2024, 2, 25, tzinfo=UTC)
"""A year that is over, because its zones' rules can't change any more; a leap year; and shortly before the leap day, so
that a short run has it too. A Sunday. All instants come on full or half hours, so that many come together."""

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
class Given:
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
class Habit:
    """What some robots have in common; `days` of None: one or two days of the week, which differ."""

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
    Habit("Europe/Paris", ("02:30",), ("Sat", "Sun", "Mon")),
    Habit("Europe/Paris", ("2:30", "03:00"), ("Sun",)),
    Habit("America/New_York", ("02:30",), ("Sat", "Sun")),
    Habit("America/New_York", ("01:30",), ("Sun",)),
    Habit("America/St_Johns", ("02:00", "02:30"), ("Sun",)),
    Habit("America/St_Johns", ("01:30",), ("Sun",)),
    Habit("Africa/Cairo", ("00:00", "00:30"), ("Fri",)),
    Habit("Africa/Cairo", ("23:30",), ("Thu",)),
    Habit("Asia/Beirut", ("0:00", "00:30"), ("Sun",)),
    Habit("Asia/Beirut", ("23:30",), ("Sat",)),
    Habit("Asia/Almaty", ("23:30",), ("Thu",)),
    Habit("Australia/Lord_Howe", ("02:15",), ("Sun",)),
    Habit("Australia/Lord_Howe", ("01:45",), ("Sun",)),
    Habit("Pacific/Auckland", ("02:30",), ("Sat", "Sun")),
)
"""Local times that one day of the year doesn't have, or has twice; Almaty put its clocks back on the leap day."""

BUSY = (
    Habit("Asia/Kolkata", ("13:30", "14:30", "15:30", "16:30", "17:30"), ("Wed",)),
    Habit("Asia/Shanghai", ("16:00", "17:00", "17:30", "18:00", "19:00"), ("Wed",)),
    Habit("America/Sao_Paulo", ("06:00", "06:30", "07:00", "09:00"), ("Wed",)),
)
"""Many runs within a few hours of a Wednesday: an outage then misses several of one robot."""

INTERVALS = (
    *((12 * HOUR, 7), (DAY, 28), (36 * HOUR, 21), (2 * DAY, 35), (49 * HOUR, 3), (60 * HOUR, 21)),
    *((3 * DAY, 35), (7 * DAY, 49)),
)
DAEMONS = 12
EACH_EDGE, EACH_BUSY, DAILY = 4, 14, 14


def fleet(seed: int) -> list[Given]:
    """The same seed makes the same robots."""
    random, catch_ups = Random(f"{seed} fleet"), cycle(CATCH_UPS)
    made = []
    for number, habit in enumerate(_habits(random)):
        days = tuple(random.sample(DAYS, random.choice((1, 2)))) if habit.days is None else habit.days
        policy, max_age = next(catch_ups)
        made.append(Given(f"r{number:04}", habit.tz, habit.times, days, habit.every, policy, max_age))
    return made


def _habits(random: Random) -> Iterator[Habit]:
    habits = [Habit(tz) for tz, _ in zip(cycle(PLAIN), range(DAEMONS), strict=False)]
    habits += [habit for habit in EDGES for _ in range(EACH_EDGE)]
    habits += [habit for habit in BUSY for _ in range(EACH_BUSY)]
    zones = cycle(PLAIN)
    habits += [Habit(next(zones), every=every) for every, count in INTERVALS for _ in range(count)]
    for number in range(ROBOTS - len(habits)):
        tz = next(zones)
        habits.append(Habit(tz, (random.choice(PLAIN[tz]),), ("*",) if number < DAILY else None))
    yield from habits
