"""Instants and durations as people read them, and instants as they write them."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import typer

from rota_common.clock import now
from rota_contracts.robots.clock_config import duration

MINUTE_S = 60


def moment(at: datetime) -> str:
    """In UTC, to the second."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def local(at: datetime, zone: str) -> str:
    """By the time of an IANA zone, to the minute, and the zone's name."""
    return f"{at.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M} {zone}"


def instant(text: str) -> datetime:
    """An instant that somebody has typed, with its offset. BadParameter for anything else."""
    at = wall_time(text)
    if at.tzinfo is None:
        raise typer.BadParameter(f"expected an offset too, like 2026-03-02T09:00:00+01:00 or …Z, not {text!r}")
    return at


def ago(text: str) -> datetime:
    """An instant that somebody has typed, or how long before now it was, like 1h. BadParameter for anything else."""
    try:
        return now() - duration(text)
    except ValueError:
        pass
    try:
        return instant(text)
    except typer.BadParameter as error:
        shapes = "how long ago, like 1h or 2d, or a time with its offset, like 2026-03-02T09:00:00+01:00"
        raise typer.BadParameter(f"expected {shapes}, not {text!r}") from error


def wall_time(text: str) -> datetime:
    """A date, a date and time, or an instant that somebody has typed. BadParameter for anything else."""
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise typer.BadParameter(f"expected a time like 2026-03-02T09:00:00+01:00, not {text!r}") from error


def took(started: datetime | None, finished: datetime | None) -> str:
    """How long something took: `340 ms`, `12.3 s`, `5 min 3 s`; `under way` while it has no end."""
    if started is None:
        return "not begun"
    if finished is None:
        return "under way"
    seconds = (finished - started).total_seconds()
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < MINUTE_S:
        return f"{seconds:.1f} s"
    return f"{int(seconds) // MINUTE_S} min {int(seconds) % MINUTE_S} s"
