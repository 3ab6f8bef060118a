"""Which runs are due, counted apart from Rota: local times by dateutil's rules and its own copy of the zones.

Nothing of Rota is imported here. A local time that doesn't exist is looked for minute by minute, so that this is no
second edition of the code under test.
"""

import heapq
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache

from dateutil import tz
from dateutil.rrule import DAILY, rrule
from dateutil.zoneinfo import get_zonefile_instance

from tests.clock_year.fleet import DAYS, Given

Run = tuple[str, datetime]
"""A robot (its member id) and the instant at which it is due."""

ON_TIME = timedelta(seconds=60)
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
AHEAD = 9 * DAY
"""Instants are known for so long after the end, so that every robot has a next one."""


@dataclass(frozen=True)
class Verdict:
    """What must come of the instants that became due: these runs, and these made known as missed."""

    fires: list[Run]
    skipped: list[Run]


class Oracle:
    """Follows the scheduler's clock from reading to reading. The first runs of intervals are one interval after
    `begin`; nothing is due at `begin` itself."""

    def __init__(self, robots: Iterable[Given], begin: datetime, end: datetime) -> None:
        self._robots = {given.member: given for given in robots if not given.daemon}
        self._due = {member: deque(due(given, begin, end + AHEAD)) for member, given in self._robots.items()}
        self._first = [(instants[0], member) for member, instants in self._due.items()]
        heapq.heapify(self._first)
        every = (instant for instants in self._due.values() for instant in instants)
        self.instants = sorted({instant for instant in every if instant <= end})

    def advance(self, reading: datetime) -> Verdict:
        """The clock shows `reading`, for the first time or after it went back."""
        verdict = Verdict([], [])
        while self._first[0][0] <= reading:
            _, member = heapq.heappop(self._first)
            waiting, passed = self._due[member], []
            while waiting[0] <= reading:
                passed.append(waiting.popleft())
            heapq.heappush(self._first, (waiting[0], member))
            fired = made_up(self._robots[member], passed, reading)
            verdict.fires.extend((member, instant) for instant in fired)
            verdict.skipped.extend((member, instant) for instant in passed if instant not in fired)
        return verdict

    def next_due(self, member: str) -> datetime:
        """The instant that this robot waits for."""
        return self._due[member][0]


def made_up(given: Given, passed: Sequence[datetime], reading: datetime) -> list[datetime]:
    """Which of the instants that became due at this reading must run, whether on time or caught up."""
    on_time = [instant for instant in passed if reading - instant <= ON_TIME]
    young = [instant for instant in passed if ON_TIME < reading - instant <= given.max_age]
    caught_up = {"skip": [], "once": [] if on_time else young[-1:], "all": young}[given.policy]
    return caught_up + on_time


def due(given: Given, begin: datetime, end: datetime) -> list[datetime]:
    """All instants (UTC) after `begin`, up to `end`."""
    found = _interval(given.every, begin, end) if given.every else _times(given, begin, end)
    return sorted({instant for instant in found if begin < instant <= end})


def _interval(every: timedelta, begin: datetime, end: datetime) -> Iterator[datetime]:
    instant = begin
    while instant <= end:
        instant += every
        yield instant


def _times(given: Given, begin: datetime, end: datetime) -> Iterator[datetime]:
    zone = zone_of(given.tz)
    weekdays = [DAYS.index(day) for day in given.days if day != "*"] or None
    first, last = (edge.replace(tzinfo=None) + by for edge, by in ((begin, -2 * DAY), (end, 2 * DAY)))
    for text in given.times:
        hour, minute = map(int, text.split(":"))
        for local in rrule(DAILY, first.replace(hour=hour, minute=minute), until=last, byweekday=weekdays):
            yield instant_of(local, zone)


def instant_of(local: datetime, zone: tzinfo) -> datetime:
    """The first occurrence of a local time; of one that doesn't exist, the next minute that does."""
    while not tz.datetime_exists(local, zone):
        local += MINUTE
    return local.replace(tzinfo=zone, fold=0).astimezone(UTC)


@cache
def zone_of(name: str) -> tzinfo:
    """From the archive inside dateutil: not from the files that Python's own `zoneinfo` reads."""
    zone: tzinfo | None = get_zonefile_instance().get(name)
    if zone is None:
        raise ValueError(f"expected a zone that dateutil knows, not {name}")
    return zone
