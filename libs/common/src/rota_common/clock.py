"""The clock: the only place that reads the machine's time; everything else takes a `Clock` as an argument."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def now() -> datetime:
    """The current instant, in UTC, to the millisecond (MongoDB keeps no more)."""
    instant = datetime.now(UTC)
    return instant.replace(microsecond=instant.microsecond // 1000 * 1000)
