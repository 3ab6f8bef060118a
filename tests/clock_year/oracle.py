"""The oracle: due runs, computed independently of Rota by dateutil's rules and its own copy of the zones.

Nothing of Rota is imported. A local time that doesn't exist is searched minute by minute, so that this doesn't repeat
the code under test.
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

from tests.clock_year.fleet import DAYS, RobotSpec

Run = tuple[str, datetime]
"""A robot (its member id) and the instant at which it is due."""

ON_TIME = timedelta(seconds=60)
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
AHEAD = 9 * DAY
"""Instants are computed this long past the end, so that every robot has a next one."""


@dataclass(frozen=True)
class Verdict:
    """The expected outcome of the instants that became due: runs that fire, and runs reported as missed."""

    fires: list[Run]
    skipped: list[Run]


class Oracle:
    """Follows the scheduler's clock by its readings. The first run of an interval is one interval after `begin`;
    nothing is due at `begin` itself."""

    def __init__(self, robots: Iterable[RobotSpec], begin: datetime, end: datetime) -> None:
        self._robots = {spec.member: spec for spec in robots if not spec.daemon}
        self._due = {member: deque(due(spec, begin, end + AHEAD)) for member, spec in self._robots.items()}
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
        """The robot's next instant."""
        return self._due[member][0]


def made_up(spec: RobotSpec, passed: Sequence[datetime], reading: datetime) -> list[datetime]:
    """The instants, of those that became due at this reading, that must run: on time or caught up."""
    on_time = [instant for instant in passed if reading - instant <= ON_TIME]
    young = [instant for instant in passed if ON_TIME < reading - instant <= spec.max_age]
    caught_up = {"skip": [], "once": [] if on_time else young[-1:], "all": young}[spec.policy]
    return caught_up + on_time


def due(spec: RobotSpec, begin: datetime, end: datetime) -> list[datetime]:
    """All instants (UTC) after `begin`, up to `end`."""
    found = _interval(spec.every, begin, end) if spec.every else _times(spec, begin, end)
    return sorted({instant for instant in found if begin < instant <= end})


def _interval(every: timedelta, begin: datetime, end: datetime) -> Iterator[datetime]:
    instant = begin
    while instant <= end:
        instant += every
        yield instant


def _times(spec: RobotSpec, begin: datetime, end: datetime) -> Iterator[datetime]:
    weekdays = [DAYS.index(day) for day in spec.days if day != "*"] or None
    first, last = (edge.replace(tzinfo=None) + by for edge, by in ((begin, -2 * DAY), (end, 2 * DAY)))
    for text in spec.times:
        hour, minute = map(int, text.split(":"))
        for local in rrule(DAILY, first.replace(hour=hour, minute=minute), until=last, byweekday=weekdays):
            yield instant_of(local, spec.tz)


@cache
def instant_of(local: datetime, zone_name: str) -> datetime:
    """The first occurrence of a local time; if it doesn't exist, the next minute that does."""
    zone = zone_of(zone_name)
    while not tz.datetime_exists(local, zone):
        local += MINUTE
    return local.replace(tzinfo=zone, fold=0).astimezone(UTC)


@cache
def zone_of(name: str) -> tzinfo:
    """From the archive inside dateutil, not from the files that `zoneinfo` reads."""
    zone: tzinfo | None = get_zonefile_instance().get(name)
    if zone is None:
        raise ValueError(f"expected a zone that dateutil knows, got {name}")
    return zone
