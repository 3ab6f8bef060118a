"""Never more than the executors that are alive can take (SC-09)."""

import asyncio

import pytest

from rota_common.testing.samples import a_robot
from rota_contracts.messages.execution import TriggerState
from tests.integration.scheduler.clock_harness import once
from tests.integration.scheduler.harness import Harness

WIDE = {"quota": {"max": 20, "queue": 20}}


async def four(harness: Harness) -> None:
    await harness.keep(a_robot(config=WIDE, rev=2))
    await once(harness, lambda state: state.max_running == 20)
    for number in range(4):
        await harness.trigger(f"t{number}")
    await harness.admitted(4)


async def test_what_comes_in_while_no_executor_is_alive_waits_and_begins_when_one_is(harness: Harness) -> None:  # SC-09
    harness.capacity = None
    async with harness.scheduler():
        await four(harness)
        assert {(await harness.read(f"t{number}")).state for number in range(4)} == {TriggerState.QUEUED}
        assert await harness.given_slots() == []
        harness.capacity = 9
        await harness.slots(4)


async def test_the_executors_can_take_less_than_the_pool(harness: Harness) -> None:  # SC-09
    harness.capacity = 2
    async with harness.scheduler(pool=10):
        await four(harness)
        for done in range(2):
            assert len(await harness.slots(2 + done)) == 2 + done
            await harness.finished((await harness.given_slots())[done])
        await harness.slots(4)


async def test_the_pool_can_be_less_than_the_executors_can_take(harness: Harness) -> None:  # SC-09
    async with harness.scheduler(pool=3):
        await four(harness)
        await harness.slots(3)
        assert (await once(harness, lambda state: state.running == 3)).queued == 1


async def test_what_several_executors_can_take_counts_together(harness: Harness) -> None:  # SC-09
    harness.capacity = 2
    async with harness.scheduler():
        await four(harness)
        await harness.slots(2)
        await harness.report(1, "e2")
        await harness.slots(3)
        assert (await once(harness, lambda state: state.running == 3)).queued == 1
        await harness.report(2, "e2")
        await harness.slots(4)


async def test_an_executor_that_stops_counts_no_more(harness: Harness) -> None:  # SC-09
    harness.capacity = 1
    async with harness.scheduler():
        await four(harness)
        await harness.slots(1)
        harness.capacity = 0
        await harness.report(0)
        await harness.finished((await harness.given_slots())[0])
        await once(harness, lambda state: state.last_run is not None)
        assert (await once(harness, lambda state: state.queued == 3)).running == 0
        harness.capacity = 1
        await harness.slots(2)


async def test_an_executor_that_falls_silent_counts_no_more(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:  # SC-09
    monkeypatch.setattr("scheduler.dispatching.capacity.ALIVE_S", 0.5)
    harness.capacity = 1
    async with harness.scheduler():
        await four(harness)
        await harness.slots(1)
        harness.capacity = None
        await asyncio.sleep(0.7)  # an absence has no event
        await harness.finished((await harness.given_slots())[0])
        await once(harness, lambda state: state.last_run is not None)
        assert (await once(harness, lambda state: state.queued == 3)).running == 0
        harness.capacity = 4
        await harness.slots(4)


async def test_a_new_dispatcher_knows_the_executors_already(harness: Harness) -> None:  # SC-09
    first = await harness.start(lease=2)
    async with harness.scheduler(lease=2):
        await four(harness)
        await harness.slots(4)
        await asyncio.sleep(1)  # ten reports; the other replica has no event for them
        harness.capacity = None
        await first.service.stop(2)
        await harness.trigger("t4")
        await harness.slots(5)  # by the earlier reports
