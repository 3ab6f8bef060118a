"""Instants and durations as people read them."""

from datetime import UTC, datetime

MINUTE_S = 60


def moment(at: datetime) -> str:
    """In UTC, to the second."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


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
