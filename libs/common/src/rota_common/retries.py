"""Backoff: the delay before the next attempt."""

from random import Random

BASE_S = 1.0
CAP_S = 300.0
JITTER = 0.2


def backoff(attempt: int, *, random: Random, base: float = BASE_S, cap: float = CAP_S) -> float:
    """Seconds before the next attempt, after `attempt` (1, 2, …) have failed: base · 2^(attempt-1), ± 20 %."""
    delay = min(cap, base * float(2 ** min(attempt - 1, 32)))
    return delay * random.uniform(1 - JITTER, 1 + JITTER)
