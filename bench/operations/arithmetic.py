"""Pure functions from what was counted to what is shown."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

DAY_S = 86_400
MIB = 1024**2
KEPT_DAYS = {
    "rota_gateway": 30,
    "rota_scheduler": 14,
    "rota_executor": 90,
    "rota_delivery": 90,
    "rota_learner": 30,
}
"""Days that what a run leaves in a database is kept, with the settings of docker-compose.yml. What is in none of
these stays, or has a size that it doesn't exceed."""

SHARE = 0.5
"""Of the highest rate, that a node is planned for."""


def percentile(values: Sequence[float], share: float) -> float:
    """The nearest rank: the smallest value that this share of all doesn't exceed."""
    ordered = sorted(values)
    return ordered[max(0, -int(-len(ordered) * share // 1) - 1)]


def rate_within(instants: Sequence[float], since: float, until: float) -> float:
    return sum(since <= each < until for each in instants) / (until - since)


def grew(waiting: Sequence[int], rate: float) -> bool:
    """Whether more waited in the last quarter than in the first: by more than a second's events, and by half."""
    quarter = max(1, len(waiting) // 4)
    first, last = median(waiting[:quarter]), median(waiting[-quarter:])
    return last > 1.5 * first and last > first + rate


def growth(before: Mapping[str, Any], after: Mapping[str, Any], per: float) -> dict[str, Any]:
    """What each number grew by, divided by `per`; folded mappings alike."""
    found: dict[str, Any] = {}
    for name, value in after.items():
        old = before.get(name, {} if isinstance(value, Mapping) else 0)
        found[name] = growth(old, value, per) if isinstance(value, Mapping) else (value - old) / per
    return found


def limit_for(used: float) -> float:
    """The processor that one replica is limited to: a third of what it used, so that two of them leave some over."""
    return max(0.1, round(used / 3, 2))


def robots_carried(rate: float, runs_a_day: float) -> int:
    """Robots with so many runs a day that a node carries at SHARE of the rate (runs a second)."""
    return int(rate * SHARE * DAY_S / runs_a_day)


def rate_of_slots(slots: int, seconds: float) -> float:
    """The runs a second that so many slots allow when each run takes so many seconds."""
    return slots / seconds


def disk_at_rest(bytes_a_run: Mapping[str, float], runs_a_day: float) -> float:
    """Bytes that the databases of KEPT_DAYS hold at so many runs a day, once the oldest expire."""
    return sum(size * runs_a_day * KEPT_DAYS[name] for name, size in bytes_a_run.items() if name in KEPT_DAYS)
