"""Concurrency limits: the number of slots, and how long an attempt waits for one."""

import asyncio

from delivery_center.attempts.concurrency_limits import ConcurrencyLimits


class Attempt:
    """An attempt that lasts until `over`; `acquired` is whether its turn came."""

    def __init__(self, limits: ConcurrencyLimits, name: str = "slow") -> None:
        self.over, self.known = asyncio.Event(), asyncio.Event()
        self.acquired: bool | None = None
        self._limits, self._name = limits, name
        self.task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        async with self._limits.slot(self._name) as self.acquired:
            self.known.set()
            if self.acquired:
                await self.over.wait()


async def acquired(visit: Attempt) -> bool | None:
    await asyncio.wait_for(visit.known.wait(), 5)
    return visit.acquired


async def test_a_waiting_attempt_acquires_a_slot_when_one_is_released() -> None:
    limits = ConcurrencyLimits(2, max_wait=5)
    one, two, three = Attempt(limits), Attempt(limits), Attempt(limits)
    assert (await acquired(one), await acquired(two), three.acquired) == (True, True, None)
    one.over.set()
    assert await acquired(three)


async def test_an_attempt_that_waits_too_long_gets_no_slot() -> None:
    limits = ConcurrencyLimits(1, max_wait=0.01)
    one, two = Attempt(limits), Attempt(limits)
    assert (await acquired(one), await acquired(two)) == (True, False)


async def test_an_attempt_that_expects_a_long_wait_does_not_wait() -> None:
    limits = ConcurrencyLimits(1, max_wait=0.2)
    held = Attempt(limits)
    await acquired(held)
    waited = Attempt(limits)
    assert await acquired(waited) is False
    began = asyncio.get_running_loop().time()
    assert await acquired(Attempt(limits)) is False
    assert asyncio.get_running_loop().time() - began < 0.1


async def test_targets_have_separate_limits() -> None:
    limits = ConcurrencyLimits(1, max_wait=5)
    for name in ("slow", "other", "third"):
        assert await acquired(Attempt(limits, name))


async def test_a_burst_at_a_fast_target_is_sent_in_turns() -> None:
    limits, count = ConcurrencyLimits(8), 0

    async def visit() -> None:
        nonlocal count
        async with limits.slot("fast") as mine:
            await asyncio.sleep(0)
            count += mine

    await asyncio.gather(*(visit() for _ in range(96)))
    assert count == 96


async def test_a_cancelled_attempt_releases_its_slot() -> None:
    limits = ConcurrencyLimits(1, max_wait=5)
    one, two = Attempt(limits), Attempt(limits)
    await acquired(one)
    three = Attempt(limits)
    await asyncio.sleep(0)
    two.task.cancel()
    one.task.cancel()
    assert await acquired(three)
    three.over.set()
    await three.task
    assert limits._targets == {}
