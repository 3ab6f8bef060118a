"""Rate limits: reservations, and refusals when a limit is used up."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from rota_common.errors import Transient
from trigger_gateway.adapters.in_memory_inbound_log import InMemoryRateStore
from trigger_gateway.problems import TooMany
from trigger_gateway.webhooks.rate_limits import KEPT_KEYS, RateLimiter, RateLimits, portion, seconds_left, window_of

NINE = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.at = NINE

    def __call__(self) -> datetime:
        return self.at


def rates(leases: InMemoryRateStore, clock: Clock, *, address: int = 100, source: int = 100) -> RateLimiter:
    return RateLimiter(store=leases, clock=clock, limits=RateLimits(per_address=address, per_source=source))


async def accepted(one: RateLimiter, times: int, address: str = "192.0.2.1") -> int:
    results = await asyncio.gather(*(one.by_address(address) for _ in range(times)), return_exceptions=True)
    assert {type(each) for each in results} <= {type(None), TooMany}
    return sum(each is None for each in results)


@pytest.mark.parametrize(
    ("limit", "waiting", "wanted"), [(100, 1, 5), (19, 1, 1), (1, 1, 1), (6000, 1, 300), (100, 40, 40), (10, 40, 10)]
)
def test_a_reservation_is_a_share_of_the_limit_or_as_much_as_waits(limit: int, waiting: int, wanted: int) -> None:
    assert portion(limit, waiting) == wanted


@pytest.mark.parametrize(("second", "left"), [(0.0, 60), (0.4, 60), (1.0, 59), (59.0, 1), (59.9, 1)])
def test_the_seconds_to_the_next_minute_are_never_too_few(second: float, left: int) -> None:
    at = NINE + timedelta(seconds=second)
    assert seconds_left(at) == left
    assert window_of(at + timedelta(seconds=left)) == window_of(at) + 1


async def test_one_replica_accepts_exactly_the_limit(  # TG-28
) -> None:
    leases, clock = InMemoryRateStore(), Clock()
    one = rates(leases, clock)
    assert [await accepted(one, 1) for _ in range(101)] == [1] * 100 + [0]
    assert leases.asked == 21  # twenty leases, and one that got nothing
    await accepted(one, 50)
    assert leases.asked == 21


async def test_four_replicas_together_never_exceed_it_and_lose_little() -> None:
    leases, clock = InMemoryRateStore(), Clock()
    replicas = [rates(leases, clock) for _ in range(4)]
    counts = [await accepted(replicas[number % 4], 1) for number in range(400)]
    assert 84 <= sum(counts) <= 100


async def test_the_next_minute_starts_afresh_and_a_refusal_names_its_start() -> None:
    leases, clock = InMemoryRateStore(), Clock()
    one = rates(leases, clock, address=2)
    clock.at = NINE + timedelta(seconds=42)
    assert await accepted(one, 3) == 2
    with pytest.raises(TooMany) as refused:
        await one.by_address("192.0.2.1")
    assert (refused.value.code, refused.value.after) == ("rate_limited", 18)
    clock.at += timedelta(seconds=18)
    assert await accepted(one, 3) == 2


async def test_addresses_and_sources_are_counted_apart() -> None:
    one = rates(InMemoryRateStore(), Clock(), address=2, source=2)
    assert await accepted(one, 5, "192.0.2.1") == await accepted(one, 5, "192.0.2.2") == 2
    await one.by_source("acme", "leads", None)
    await one.by_source("acme", "crm", None)
    await one.by_sender("acme", "leads", "192.0.2.1", 1)
    with pytest.raises(TooMany):
        await one.by_sender("acme", "leads", "192.0.2.1", 1)
    await one.by_sender("acme", "leads", "192.0.2.3", 1)


async def test_a_sources_own_limit_counts_instead_of_the_gateways() -> None:
    one = rates(InMemoryRateStore(), Clock(), source=100)
    await one.by_source("acme", "leads", 1)
    with pytest.raises(TooMany, match="at most 1 requests"):
        await one.by_source("acme", "leads", 1)


async def test_checking_a_source_counts_nothing_and_raises_by_what_is_known() -> None:  # DEC-7
    leases = InMemoryRateStore()
    one = rates(leases, Clock(), source=1)
    for _ in range(5):
        one.check_source("acme", "leads", None)
    assert leases.asked == 0
    await one.by_source("acme", "leads", None)
    with pytest.raises(TooMany):
        await one.by_source("acme", "leads", None)
    with pytest.raises(TooMany):
        one.check_source("acme", "leads", None)
    one.check_source("acme", "crm", None)


async def test_without_a_limit_no_store_is_asked() -> None:
    leases = InMemoryRateStore()
    assert await accepted(rates(leases, Clock(), address=0), 500) == 500
    assert leases.asked == 0


async def test_requests_that_wait_for_a_reservation_fail_together_and_the_next_tries_again() -> None:
    leases = InMemoryRateStore()
    one, leases.away = rates(leases, Clock()), True
    failed = await asyncio.gather(*(one.by_address("a") for _ in range(9)), return_exceptions=True)
    assert [type(each) for each in failed] == [Transient] * 9
    assert leases.asked == 1
    leases.away = False
    assert await accepted(one, 1, "a") == 1


async def test_a_cancelled_request_leaves_the_reservation_to_the_others() -> None:
    one = rates(InMemoryRateStore(), Clock(), address=2)
    first, second = (asyncio.create_task(one.by_address("a")) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await second
    assert first.cancelled() or first.exception() is None


async def test_many_addresses_do_not_fill_the_memory() -> None:
    one = rates(InMemoryRateStore(), Clock(), address=1)
    for number in range(KEPT_KEYS + 500):
        await one.by_address(str(number))
    assert len(one._budgets) == KEPT_KEYS
    with pytest.raises(TooMany):  # what was forgotten here is still counted for all
        await one.by_address("0")
