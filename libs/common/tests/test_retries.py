"""Backoff: delays, their limit and their jitter."""

from random import Random

import pytest

from rota_common.retries import CAP_S, backoff


@pytest.mark.parametrize(("attempt", "seconds"), [(1, 1), (2, 2), (3, 4), (9, 256), (10, 300), (1_000_000, CAP_S)])
def test_the_wait_doubles_up_to_a_limit(attempt: int, seconds: float) -> None:
    waits = [backoff(attempt, random=Random(seed)) for seed in range(50)]
    assert min(waits) >= 0.8 * seconds
    assert max(waits) <= 1.2 * seconds
    assert len(set(waits)) == 50


@pytest.mark.parametrize("attempt", [0, -1])
def test_an_attempt_below_one_has_the_first_delay(attempt: int) -> None:
    assert 0 < backoff(attempt, random=Random(7)) <= 1.2


def test_base_and_limit_are_the_callers() -> None:
    assert backoff(1, random=Random(7), base=0.2, cap=2) <= 0.24
    assert 1.6 <= backoff(50, random=Random(7), base=0.2, cap=2) <= 2.4
