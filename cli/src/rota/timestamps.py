"""Instants and durations as text, and the parsing of typed ones."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import typer

MINUTE_S = 60


def now() -> datetime:
    """The current instant, in UTC."""
    return datetime.now(UTC)


def utc_time(at: datetime) -> str:
    """In UTC, to the second."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def utc_text(text: str | None) -> str:
    """An instant of the API as `utc_time` prints it, with its zone; empty for none."""
    return f"{utc_time(datetime.fromisoformat(text))} UTC" if text else ""


def local_time(at: datetime, zone: str) -> str:
    """In an IANA zone, to the minute, followed by the zone's name."""
    return f"{at.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M} {zone}"


def parse_instant(text: str) -> datetime:
    """A typed time with its offset. BadParameter for anything else."""
    at = parse_time(text)
    if at.tzinfo is None:
        raise typer.BadParameter(f"expected an offset too, like 2026-03-02T09:00:00+01:00 or …Z, not {text!r}")
    return at


def parse_past(text: str) -> datetime:
    """A typed time with its offset, or a duration before now, like 1h. BadParameter for anything else."""
    from rota_contracts.robots.clock_config import duration

    try:
        return now() - duration(text)
    except ValueError:
        pass
    try:
        return parse_instant(text)
    except typer.BadParameter as error:
        shapes = "a duration, like 1h or 2d, or a time with its offset, like 2026-03-02T09:00:00+01:00"
        raise typer.BadParameter(f"expected {shapes}, not {text!r}") from error


def parse_time(text: str) -> datetime:
    """A typed date, date and time, or instant. BadParameter for anything else."""
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise typer.BadParameter(f"expected a time like 2026-03-02T09:00:00+01:00, not {text!r}") from error


def duration_text(started: datetime | None, finished: datetime | None) -> str:
    """`340 ms`, `12.3 s`, `5 min 3 s`; `running` without an end, `not started` without a start."""
    if started is None:
        return "not started"
    if finished is None:
        return "running"
    seconds = (finished - started).total_seconds()
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < MINUTE_S:
        return f"{seconds:.1f} s"
    return f"{int(seconds) // MINUTE_S} min {int(seconds) % MINUTE_S} s"
