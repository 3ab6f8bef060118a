"""Slots of executions that nobody reports on any more: the executor is asked, and no slot is lost with them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from rota_common.bus.router import Router
from rota_common.runtime.service import Service
from rota_common.testing.patience import PATIENCE_S
from rota_common.testing.samples import a_robot
from rota_contracts import catalog
from rota_contracts.ids import execution_id
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.executor_capacity import CheckSlots, SlotsReply, SlotState
from tests.integration.scheduler.clock_harness import told
from tests.integration.scheduler.harness import RUNTIME, World

ONE = {"quota": {"max": 1, "queue": 3}}
SOON = {"slot_patience": 0.2, "lease": 0.6}


class Executor:
    """Answers what it knows of executions, by their triggers; `asked` counts."""

    def __init__(self, world: World) -> None:
        self.knows: dict[str, dict[str, Any]] = {}
        self.asked = 0
        self._more = asyncio.Condition()
        self._service = Service("executor", world.nats_url, runtime=RUNTIME)
        router = Router()
        router.answer(catalog.CHECK_SLOTS)(self._on_check_slots)
        self._service.include(router)

    async def _on_check_slots(self, question: CheckSlots) -> SlotsReply:
        found = {execution_id(name): slot for name, slot in self.knows.items()}
        slots = [
            SlotState.model_validate({"execution_id": each} | found.get(each, {})) for each in question.execution_ids
        ]
        async with self._more:
            self.asked += 1
            self._more.notify_all()
        return SlotsReply(slots=slots)

    async def until_asked_again(self, times: int = 2) -> None:
        async with self._more:
            wanted = self.asked + times
            await asyncio.wait_for(self._more.wait_for(lambda: self.asked >= wanted), PATIENCE_S)

    @contextlib.asynccontextmanager
    async def alive(self) -> AsyncIterator["Executor"]:
        await self._service.start()
        await self._service.started.wait()
        yield self
        await self._service.stop(1)


@contextlib.asynccontextmanager
async def one_runs(world: World, **knows: Any) -> AsyncIterator[Executor]:
    """t1 holds the robot's only slot and t2 waits for it; of t1 the executor knows this."""
    await world.keep(a_robot(config=ONE))
    executor = Executor(world)
    executor.knows["t1"] = knows
    async with world.scheduler(**SOON):
        await world.trigger("t1")
        await world.slots(1)
        await world.started("t1")
        await world.until("running", "t1")
        await world.trigger("t2")
        await world.admitted(2)
        async with executor.alive():
            yield executor


async def test_the_slot_of_a_run_whose_end_was_lost_is_freed(world: World) -> None:  # SC-09
    async with one_runs(world, status="completed"):
        await world.slots(2)
        read = await world.until("done", "t1")
    assert read.status is ExecStatus.COMPLETED


async def test_a_lost_end_counts_for_the_robot_as_one_that_was_told(world: World) -> None:  # TG-18
    async with one_runs(world, status="failed", error="no model answered"):
        (fact,) = await told(world, catalog.ROBOT_FAILED, 1)
        await world.finished("t1", status="failed", error="no model answered")  # it comes after all
        await world.slots(2)
        await world.until("done", "t1")
    assert (fact.execution_id, fact.message) == (execution_id("t1"), "no model answered")
    assert len(await world.facts(catalog.ROBOT_FAILED)) == 1


async def test_the_slot_of_a_run_that_no_executor_has_is_freed_as_failed(world: World) -> None:  # SC-09
    async with one_runs(world):
        await world.slots(2)
        read = await world.until("done", "t1")
        (fact,) = await told(world, catalog.ROBOT_FAILED, 1)
    assert read.status is ExecStatus.FAILED
    assert (fact.execution_id, fact.message) == (execution_id("t1"), "no executor has it any more")


async def test_what_was_never_begun_keeps_its_slot_though_no_executor_has_it(world: World) -> None:  # SC-09
    """Its request may still lie in the stream."""
    executor = Executor(world)
    async with world.scheduler(**SOON), executor.alive():
        await world.trigger("t1")
        await world.slots(1)
        await executor.until_asked_again()
        assert (await world.read("t1")).state == "admitted"


async def test_a_run_that_goes_on_keeps_its_slot(world: World) -> None:  # SC-09
    async with one_runs(world, status="running") as executor:
        await executor.until_asked_again()
        assert (await world.read("t1")).state == "running"
        assert await world.given_slots() == ["t1"]


async def test_a_lost_report_of_parking_is_made_up_for(world: World) -> None:  # SC-10
    async with one_runs(world, status="waiting", parks=1) as executor:
        await world.until("parked", "t1")
        assert await world.grants(2) == [("t1", 0), ("t2", 0)]
        executor.knows["t2"] = {"status": "running"}
        await executor.until_asked_again()
        assert (await world.read("t1")).state == "parked"


async def test_a_lost_report_that_it_can_go_on_is_made_up_for(world: World) -> None:  # SC-10
    async with one_runs(world, status="waiting", parks=1) as executor:
        await world.until("parked", "t1")
        await world.slots(2)
        executor.knows |= {"t1": {"status": "pending", "parks": 1}, "t2": {"status": "completed"}}
        assert await world.grants(3) == [("t1", 0), ("t2", 0), ("t1", 1)]


async def test_a_lost_report_of_a_beginning_is_made_up_for(world: World) -> None:
    executor = Executor(world)
    executor.knows["t1"] = {"status": "running"}
    async with world.scheduler(**SOON), executor.alive():
        await world.trigger("t1")
        await world.slots(1)
        await world.until("running", "t1")


async def test_no_answer_changes_nothing(world: World) -> None:  # SC-09
    """Nobody is there to be asked; and as soon as somebody is, he is asked."""
    await world.keep(a_robot(config=ONE))
    async with world.scheduler(**SOON):
        await world.trigger("t1")
        await world.slots(1)
        await world.started("t1")
        await world.until("running", "t1")
        await asyncio.sleep(0.8)  # it is due to be asked after several times, which nobody can hear
        assert (await world.read("t1")).state == "running"
        async with Executor(world).alive():
            await world.until("done", "t1")
