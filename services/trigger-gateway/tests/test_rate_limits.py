"""Rate limits: reservations, and refusals when a limit is used up."""

import asyncio
from bisect import bisect_left
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from rota_common.errors import Transient
from trigger_gateway.adapters.in_memory_inbound_log import InMemoryRateStore
from trigger_gateway.problems import TooMany
from trigger_gateway.webhooks.rate_limits import KEPT_KEYS, RateLimiter, RateLimits, portion

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
    ("limit", "waiting", "used", "wanted"),
    [
        (100, 1, 0, 1),
        (100, 1, 3, 3),
        (100, 1, 50, 5),
        (19, 1, 9, 1),
        (6000, 1, 900, 300),
        (100, 40, 0, 40),
        (10, 40, 9, 10),
    ],
)
def test_a_reservation_is_as_much_as_was_used_or_waits(limit: int, waiting: int, used: int, wanted: int) -> None:
    assert portion(limit, waiting, used) == wanted


async def test_one_replica_accepts_exactly_the_limit(  # TG-28
) -> None:
    leases, clock = InMemoryRateStore(), Clock()
    one = rates(leases, clock)
    assert [await accepted(one, 1) for _ in range(101)] == [1] * 100 + [0]
    assert leases.asked < 30  # a few reservations that grow, and one that got nothing
    asked = leases.asked
    await accepted(one, 50)
    assert leases.asked == asked


async def test_four_replicas_together_never_exceed_it_and_lose_little() -> None:
    leases, clock = InMemoryRateStore(), Clock()
    replicas = [rates(leases, clock) for _ in range(4)]
    counts = [await accepted(replicas[number % 4], 1) for number in range(400)]
    assert 84 <= sum(counts) <= 100


async def test_no_sixty_seconds_hold_more_than_the_limit() -> None:  # TG-28, DEC-43
    """Also those over the edge of two minutes of the clock, and those of several replicas that lose their shares."""
    leases, clock, random = InMemoryRateStore(), Clock(), Random(43)
    replicas = [rates(leases, clock, address=20) for _ in range(3)]
    taken: list[datetime] = []
    for _ in range(4000):
        clock.at += timedelta(seconds=random.choice([0, 0, 0, 0.2, 1, 7]))
        taken += [clock.at] * await accepted(random.choice(replicas), 1)
    most = max(bisect_left(taken, each + timedelta(seconds=60)) - index for index, each in enumerate(taken))
    assert most <= 20
    assert len(taken) > 20 * (clock.at - NINE).total_seconds() / 60 * 0.6  # and not much fewer


async def test_a_burst_at_the_end_of_a_minute_leaves_nothing_for_the_next_one() -> None:  # DEC-43
    one = rates(InMemoryRateStore(), clock := Clock(), address=60)
    clock.at = NINE + timedelta(seconds=59)
    assert await accepted(one, 60) == 60
    clock.at += timedelta(seconds=1)
    assert await accepted(one, 60) == 0


async def test_a_rare_sender_is_accepted_by_every_replica() -> None:
    leases, clock = InMemoryRateStore(), Clock()
    replicas = [rates(leases, clock, address=60) for _ in range(4)]
    for number in range(600):
        clock.at += timedelta(seconds=1.25)
        assert await accepted(replicas[number % 4], 1) == 1


async def test_a_refusal_names_the_moment_when_there_is_room_again() -> None:
    leases, clock = InMemoryRateStore(), Clock()
    one = rates(leases, clock, address=2)
    clock.at = NINE + timedelta(seconds=42)
    assert await accepted(one, 3) == 2
    clock.at += timedelta(seconds=10)
    with pytest.raises(TooMany) as refused:
        await one.by_address("192.0.2.1")
    assert (refused.value.code, refused.value.after) == (
        "rate_limited",
        53,
    )  # the step that began at :40 counts until :45
    clock.at += timedelta(seconds=52.9)
    asked = leases.asked
    assert await accepted(one, 3) == 0
    assert leases.asked == asked  # it is known that there is none
    clock.at += timedelta(seconds=0.1)
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
