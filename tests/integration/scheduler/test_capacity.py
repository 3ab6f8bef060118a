"""Never more than the executors that are alive can take (SC-09)."""

import asyncio

import pytest

from rota_common.testing.samples import a_robot
from rota_contracts.messages.execution import TriggerState
from tests.integration.scheduler.clock_harness import once
from tests.integration.scheduler.harness import World

WIDE = {"quota": {"max": 20, "queue": 20}}


async def four(world: World) -> None:
    await world.keep(a_robot(config=WIDE, rev=2))
    await once(world, lambda state: state.max_running == 20)
    for number in range(4):
        await world.trigger(f"t{number}")
    await world.admitted(4)


async def test_what_comes_in_while_no_executor_is_alive_waits_and_begins_when_one_is(world: World) -> None:  # SC-09
    world.capacity = None
    async with world.scheduler():
        await four(world)
        assert {(await world.read(f"t{number}")).state for number in range(4)} == {TriggerState.QUEUED}
        assert await world.given_slots() == []
        world.capacity = 9
        await world.slots(4)


async def test_the_executors_can_take_less_than_the_pool(world: World) -> None:  # SC-09
    world.capacity = 2
    async with world.scheduler(pool=10):
        await four(world)
        for done in range(2):
            assert len(await world.slots(2 + done)) == 2 + done
            await world.finished((await world.given_slots())[done])
        await world.slots(4)


async def test_the_pool_can_be_less_than_the_executors_can_take(world: World) -> None:  # SC-09
    async with world.scheduler(pool=3):
        await four(world)
        await world.slots(3)
        assert (await once(world, lambda state: state.running == 3)).queued == 1


async def test_what_several_executors_can_take_counts_together(world: World) -> None:  # SC-09
    world.capacity = 2
    async with world.scheduler():
        await four(world)
        await world.slots(2)
        await world.report(1, "e2")
        await world.slots(3)
        assert (await once(world, lambda state: state.running == 3)).queued == 1
        await world.report(2, "e2")
        await world.slots(4)


async def test_an_executor_that_stops_counts_no_more(world: World) -> None:  # SC-09
    world.capacity = 1
    async with world.scheduler():
        await four(world)
        await world.slots(1)
        world.capacity = 0
        await world.report(0)
        await world.finished((await world.given_slots())[0])
        await once(world, lambda state: state.last_run is not None)
        assert (await once(world, lambda state: state.queued == 3)).running == 0
        world.capacity = 1
        await world.slots(2)


async def test_an_executor_that_falls_silent_counts_no_more(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:  # SC-09
    monkeypatch.setattr("scheduler.capacity.ALIVE_S", 0.5)
    world.capacity = 1
    async with world.scheduler():
        await four(world)
        await world.slots(1)
        world.capacity = None
        await asyncio.sleep(0.7)  # nothing tells that nothing is told
        await world.finished((await world.given_slots())[0])
        await once(world, lambda state: state.last_run is not None)
        assert (await once(world, lambda state: state.queued == 3)).running == 0
        world.capacity = 4
        await world.slots(4)


async def test_whoever_takes_over_knows_the_executors_already(world: World) -> None:  # SC-09
    first = await world.start(lease=2)
    async with world.scheduler(lease=2):
        await four(world)
        await world.slots(4)
        await asyncio.sleep(1)  # ten reports; nothing tells that the other has heard one
        world.capacity = None
        await first.service.stop(2)
        await world.trigger("t4")
        await world.slots(5)  # by what was heard before
