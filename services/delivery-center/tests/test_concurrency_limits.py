"""Turns at a place: so many at once, and nobody waits long."""

import asyncio

from delivery_center.attempts.concurrency_limits import ConcurrencyLimits


class Visit:
    """An attempt that lasts until `over`; `came` is whether its turn came."""

    def __init__(self, limits: ConcurrencyLimits, name: str = "slow") -> None:
        self.over, self.known = asyncio.Event(), asyncio.Event()
        self.came: bool | None = None
        self._limits, self._name = limits, name
        self.task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        async with self._limits.slot(self._name) as self.came:
            self.known.set()
            if self.came:
                await self.over.wait()


async def came(visit: Visit) -> bool | None:
    await asyncio.wait_for(visit.known.wait(), 5)
    return visit.came


async def test_so_many_are_there_at_once_and_the_next_comes_when_one_leaves() -> None:
    limits = ConcurrencyLimits(2, max_wait=5)
    one, two, three = Visit(limits), Visit(limits), Visit(limits)
    assert (await came(one), await came(two), three.came) == (True, True, None)
    one.over.set()
    assert await came(three)


async def test_whose_turn_does_not_come_in_time_goes_away() -> None:
    limits = ConcurrencyLimits(1, max_wait=0.01)
    one, two = Visit(limits), Visit(limits)
    assert (await came(one), await came(two)) == (True, False)


async def test_nobody_waits_where_those_before_take_too_long() -> None:
    limits = ConcurrencyLimits(1, max_wait=0.2)
    held = Visit(limits)
    await came(held)
    waited = Visit(limits)
    assert await came(waited) is False
    began = asyncio.get_running_loop().time()
    assert await came(Visit(limits)) is False
    assert asyncio.get_running_loop().time() - began < 0.1


async def test_one_place_holds_up_no_other() -> None:
    limits = ConcurrencyLimits(1, max_wait=5)
    for name in ("slow", "other", "third"):
        assert await came(Visit(limits, name))


async def test_a_burst_at_a_fast_place_is_taken_in_turns() -> None:
    limits, count = ConcurrencyLimits(8), 0

    async def visit() -> None:
        nonlocal count
        async with limits.slot("fast") as mine:
            await asyncio.sleep(0)
            count += mine

    await asyncio.gather(*(visit() for _ in range(96)))
    assert count == 96


async def test_what_is_cancelled_or_fails_leaves_its_turn_to_others() -> None:
    limits = ConcurrencyLimits(1, max_wait=5)
    one, two = Visit(limits), Visit(limits)
    await came(one)
    three = Visit(limits)
    await asyncio.sleep(0)
    two.task.cancel()
    one.task.cancel()
    assert await came(three)
    three.over.set()
    await three.task
    assert limits._targets == {}
