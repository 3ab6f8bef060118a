"""The next runs of a clock as text: in its zone and in UTC, with changes of the zone's offset."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from rota.output import say, table
from rota.timestamps import utc_time

MINUTE = timedelta(minutes=1)


def show_schedule(summary: str, upcoming: Sequence[datetime], zone: str) -> None:
    """Print the summary, a table of the instants, and a line for each change of the offset between two of them."""
    say(summary)
    if upcoming:
        columns = ("NEXT RUNS", "UTC") if zone != "UTC" else ("NEXT RUNS (UTC)",)
        table(columns, [(_in_zone(at, zone), utc_time(at))[: len(columns)] for at in upcoming])
    for shift in shifts(upcoming, zone):
        say(shift)


def shifts(upcoming: Sequence[datetime], zone: str) -> list[str]:
    """One sentence for each change of the zone's offset between two runs."""
    found = []
    for one, other in pairwise(at.astimezone(ZoneInfo(zone)) for at in upcoming):
        minutes = ((other.utcoffset() or timedelta()) - (one.utcoffset() or timedelta())) // MINUTE
        if minutes:
            moved = f"go {'forward' if minutes > 0 else 'back'} {abs(minutes)} minutes"
            found.append(f"daylight saving: clocks in {zone} {moved} between {one:%a %F %H:%M} and {other:%a %F %H:%M}")
    return found


def _in_zone(at: datetime, zone: str) -> str:
    there = at.astimezone(ZoneInfo(zone))
    return f"{there:%a %F %H:%M:%S} {there.isoformat()[-6:]}"
