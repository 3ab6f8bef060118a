"""When a clock is due next, for people: in words, by its zone and in UTC, and where its zone's offset changes."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from rota.output import say, table
from rota.timestamps import moment

MINUTE = timedelta(minutes=1)


def show_schedule(words: str, upcoming: Sequence[datetime], zone: str) -> None:
    """The words, a table of the instants, and a line for each change of the offset between two of them."""
    say(words)
    if upcoming:
        columns = ("NEXT RUNS", "UTC") if zone != "UTC" else ("NEXT RUNS (UTC)",)
        table(columns, [(_by_zone(at, zone), moment(at))[: len(columns)] for at in upcoming])
    for shift in shifts(upcoming, zone):
        say(shift)


def shifts(upcoming: Sequence[datetime], zone: str) -> list[str]:
    """Where daylight saving, or a law, moves the clocks of the zone between two runs."""
    told = []
    for one, other in pairwise(at.astimezone(ZoneInfo(zone)) for at in upcoming):
        minutes = ((other.utcoffset() or timedelta()) - (one.utcoffset() or timedelta())) // MINUTE
        if minutes:
            moved = f"go {'forward' if minutes > 0 else 'back'} {abs(minutes)} minutes"
            told.append(f"daylight saving: clocks in {zone} {moved} between {one:%a %F %H:%M} and {other:%a %F %H:%M}")
    return told


def _by_zone(at: datetime, zone: str) -> str:
    there = at.astimezone(ZoneInfo(zone))
    return f"{there:%a %F %H:%M:%S} {there.isoformat()[-6:]}"
