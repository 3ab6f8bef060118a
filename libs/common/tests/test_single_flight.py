"""Single flight: calls for one key that overlap share one run."""

import asyncio

import pytest

from rota_common.single_flight import SingleFlight


class Work:
    def __init__(self) -> None:
        self.runs, self.fails = 0, False
        self.gate = asyncio.Event()
        self.flights: SingleFlight[str, int] = SingleFlight()

    async def run(self) -> int:
        self.runs += 1
        number = self.runs
        await self.gate.wait()
        if self.fails:
            raise ValueError("no")
        return number

    async def __call__(self, key: str = "a") -> int:
        if (under_way := self.flights.join(key)) is not None:
            return await under_way
        return await self.flights.start(key, self.run())


async def test_calls_for_one_key_share_a_run_and_other_keys_have_their_own() -> None:
    work = Work()
    calls = [asyncio.create_task(work(key)) for key in "aaab"]
    await asyncio.sleep(0)
    work.gate.set()
    assert await asyncio.gather(*calls) == [1, 1, 1, 2]
    assert await work("a") == 3


async def test_a_failure_is_raised_to_each_caller_and_the_next_call_runs_again() -> None:
    work = Work()
    work.fails = True
    work.gate.set()
    results = await asyncio.gather(*(work() for _ in range(3)), return_exceptions=True)
    assert ([type(each) for each in results], work.runs) == ([ValueError] * 3, 1)
    with pytest.raises(ValueError, match="no"):
        await work()
    assert work.runs == 2


async def test_a_cancelled_caller_leaves_the_run_to_the_others() -> None:
    work = Work()
    first, second = asyncio.create_task(work()), asyncio.create_task(work())
    await asyncio.sleep(0)
    first.cancel()
    work.gate.set()
    assert await second == 1
    assert first.cancelled()
