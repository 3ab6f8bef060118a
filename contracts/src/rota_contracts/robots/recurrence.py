"""The recurrence of clocks: pure functions from a robot's clock and an instant.

Zones are IANA zones. A local time that daylight saving skips is due at the next minute that exists, one that it repeats
is due once, at its first occurrence. Spans are elapsed time: `every: 1d` is 24 hours, also on a day of 23.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from rota_contracts.robots.clock_config import DAYS, Clock, ClockMode, duration

DAY = timedelta(days=1)
LOOK_AHEAD = 9
"""Days in which a clock of mode times is due at least once: a week, and the edges of its zone."""

DAEMON_FLOOR, DAEMON_CEILING = timedelta(seconds=1), timedelta(minutes=15)
"""A daemon's shortest pause between two runs, and its longest, after many failures."""

DAEMON_TIMEOUT = timedelta(minutes=30)


def due_after(clock: Clock, after: datetime, *, anchor: datetime) -> datetime | None:
    """The first instant (UTC) after `after` at which this clock is due. None for a daemon: its runs follow one another.

    `anchor` is the instant that an interval counts from; its first run is one interval later.
    """
    return next(due_instants(clock, after, anchor=anchor), None)


def due_instants(clock: Clock, after: datetime, *, anchor: datetime) -> Iterator[datetime]:
    """All instants after `after`, in order, without end; none for a daemon."""
    match clock.mode:
        case ClockMode.TIMES:
            return _times(clock, after)
        case ClockMode.INTERVAL:
            return _interval(duration(clock.every or ""), after, anchor)
        case ClockMode.DAEMON:
            return iter(())


def daemon_pause(failures: int) -> timedelta:
    """The pause between the end of a daemon's run and the next; each consecutive failure doubles it."""
    return min(DAEMON_FLOOR * (1 << min(failures, 20)), DAEMON_CEILING)


def daemon_timeout(clock: Clock) -> timedelta:
    """The time after which a daemon's run without a known end is looked up."""
    return duration(clock.timeout) if clock.timeout else DAEMON_TIMEOUT


def _interval(every: timedelta, after: datetime, anchor: datetime) -> Iterator[datetime]:
    count = max((after - anchor) // every + 1, 1)
    while True:
        yield (anchor + count * every).astimezone(UTC)
        count += 1


def _times(clock: Clock, after: datetime) -> Iterator[datetime]:
    zone = ZoneInfo(clock.tz)
    weekdays, times = _weekdays(tuple(clock.days)), _minutes(tuple(clock.times))
    day = after.astimezone(zone).date() - DAY
    last = after
    while True:
        if day.weekday() in weekdays:
            for instant in sorted({_instant(day, minute, zone) for minute in times}):
                if instant > last:  # a skipped time may fall on another one: due once
                    last = instant
                    yield instant
        day += DAY


@lru_cache(maxsize=4096)
def _weekdays(days: tuple[str, ...]) -> frozenset[int]:
    """Monday is 0."""
    return frozenset(range(7)) if not days or "*" in days else frozenset(DAYS.index(day) for day in days)


@lru_cache(maxsize=4096)
def _minutes(times: tuple[str, ...]) -> tuple[int, ...]:
    """Minutes after midnight: `9:00` and `09:00` are the same."""
    return tuple(sorted({int(hour) * 60 + int(minute) for hour, _, minute in (text.partition(":") for text in times)}))


def _instant(day: date, minute: int, zone: ZoneInfo) -> datetime:
    wall = datetime(day.year, day.month, day.day, minute // 60, minute % 60)  # noqa: DTZ001  # it gets its zone below
    instant = wall.replace(tzinfo=zone).astimezone(UTC)
    if instant.astimezone(zone).replace(tzinfo=None) == wall:
        return instant
    return _after_gap(wall, zone)


def _after_gap(wall: datetime, zone: ZoneInfo) -> datetime:
    """The first minute that exists after a wall time that doesn't: where the zone's offset changes."""
    before, after = (wall.replace(tzinfo=zone, fold=fold).utcoffset() or timedelta() for fold in (0, 1))
    naive = wall.replace(tzinfo=UTC)
    low, high = naive - after, naive - before  # the change is after `low`, and not after `high`
    while high - low > timedelta(minutes=1):
        middle = low + (high - low) // 2
        middle -= timedelta(seconds=middle.second, microseconds=middle.microsecond)
        if middle <= low:
            break
        low, high = (low, middle) if middle.astimezone(zone).utcoffset() == after else (middle, high)
    return high


def in_words(clock: Clock) -> str:
    """The clock in words, for people."""
    match clock.mode:
        case ClockMode.TIMES:
            times = _joined([f"{minute // 60:02}:{minute % 60:02}" for minute in _minutes(tuple(clock.times))])
            return f"at {times} {_days_in_words(clock)}, by the time of {clock.tz}"
        case ClockMode.INTERVAL:
            return f"every {_span_in_words(duration(clock.every or ''))}, counted from when the clock was set"
        case ClockMode.DAEMON:
            return f"again and again: each run begins {_span_in_words(DAEMON_FLOOR)} after the one before has ended"


def _days_in_words(clock: Clock) -> str:
    weekdays = _weekdays(tuple(clock.days))
    if len(weekdays) == 7:
        return "every day"
    if weekdays == frozenset(range(5)):
        return "from Monday to Friday"
    return f"on {_joined([f'{date(2024, 1, 1 + day):%A}' for day in sorted(weekdays)])}"  # which was a Monday


def _span_in_words(span: timedelta) -> str:
    minutes, seconds = divmod(int(span.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = ((days, "day"), (hours, "hour"), (minutes, "minute"), (seconds, "second"))
    return _joined([f"{count} {unit}{'s' if count > 1 else ''}" for count, unit in parts if count])


def _joined(words: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
