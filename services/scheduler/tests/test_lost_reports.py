"""Executions without reports: the executor is asked, and no slot is lost with them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from rota_common.bus.router import Router
from rota_common.testing.patience import PATIENCE_S
from rota_common.testing.samples import a_robot
from rota_contracts import catalog
from rota_contracts.ids import execution_id
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.executor_capacity import CheckSlots, SlotsReply, SlotState
from tests.integration.scheduler.clock_harness import published
from tests.integration.scheduler.harness import Harness

ONE = {"quota": {"max": 1, "queue": 3}}
SOON = {"slot_patience": 0.2, "lease": 0.6}


class Executor:
    """Answers what it knows of executions, by their triggers; `asked` counts."""

    def __init__(self, harness: Harness) -> None:
        self.knows: dict[str, dict[str, Any]] = {}
        self.asked = 0
        self._more = asyncio.Condition()
        self._end = harness.end
        self._service = harness.service("executor")
        router = Router()
        router.answer(catalog.CHECK_SLOTS, self._on_check_slots)
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
        await self._end(self._service)


@contextlib.asynccontextmanager
async def one_runs(harness: Harness, **knows: Any) -> AsyncIterator[Executor]:
    """t1 holds the robot's only slot and t2 waits for it; of t1 the executor knows this."""
    await harness.keep(a_robot(config=ONE))
    executor = Executor(harness)
    executor.knows["t1"] = knows
    async with harness.scheduler(**SOON):
        await harness.trigger("t1")
        await harness.slots(1)
        await harness.started("t1")
        await harness.until("running", "t1")
        await harness.trigger("t2")
        await harness.admitted(2)
        async with executor.alive():
            yield executor


async def test_the_slot_of_a_run_whose_end_was_lost_is_freed(harness: Harness) -> None:  # SC-09
    async with one_runs(harness, status="completed"):
        await harness.slots(2)
        read = await harness.until("done", "t1")
    assert read.status is ExecStatus.COMPLETED


async def test_a_lost_end_counts_for_the_robot_like_a_reported_one(harness: Harness) -> None:  # TG-18
    async with one_runs(harness, status="failed", error="no model answered"):
        (fact,) = await published(harness, catalog.ROBOT_FAILED, 1)
        await harness.finished("t1", status="failed", error="no model answered")  # it comes after all
        await harness.slots(2)
        await harness.until("done", "t1")
    assert (fact.execution_id, fact.message) == (execution_id("t1"), "no model answered")
    assert len(await harness.facts(catalog.ROBOT_FAILED)) == 1


async def test_the_slot_of_a_run_that_no_executor_has_is_freed_as_failed(harness: Harness) -> None:  # SC-09
    async with one_runs(harness):
        await harness.slots(2)
        read = await harness.until("done", "t1")
        (fact,) = await published(harness, catalog.ROBOT_FAILED, 1)
    assert read.status is ExecStatus.FAILED
    assert (fact.execution_id, fact.message) == (execution_id("t1"), "no executor has it any more")


async def test_what_was_never_begun_keeps_its_slot_though_no_executor_has_it(harness: Harness) -> None:  # SC-09
    """Its request may still lie in the stream."""
    executor = Executor(harness)
    async with harness.scheduler(**SOON), executor.alive():
        await harness.trigger("t1")
        await harness.slots(1)
        await executor.until_asked_again()
        assert (await harness.read("t1")).state == "admitted"


async def test_a_run_that_goes_on_keeps_its_slot(harness: Harness) -> None:  # SC-09
    async with one_runs(harness, status="running") as executor:
        await executor.until_asked_again()
        assert (await harness.read("t1")).state == "running"
        assert await harness.given_slots() == ["t1"]


async def test_a_lost_report_of_parking_is_made_up_for(harness: Harness) -> None:  # SC-10
    async with one_runs(harness, status="waiting", parks=1) as executor:
        await harness.until("parked", "t1")
        assert await harness.grants(2) == [("t1", 0), ("t2", 0)]
        executor.knows["t2"] = {"status": "running"}
        await executor.until_asked_again()
        assert (await harness.read("t1")).state == "parked"


async def test_a_lost_report_that_it_can_go_on_is_made_up_for(harness: Harness) -> None:  # SC-10
    async with one_runs(harness, status="waiting", parks=1) as executor:
        await harness.until("parked", "t1")
        await harness.slots(2)
        executor.knows |= {"t1": {"status": "pending", "parks": 1}, "t2": {"status": "completed"}}
        assert await harness.grants(3) == [("t1", 0), ("t2", 0), ("t1", 1)]


async def test_a_lost_report_of_a_beginning_is_made_up_for(harness: Harness) -> None:
    executor = Executor(harness)
    executor.knows["t1"] = {"status": "running"}
    async with harness.scheduler(**SOON), executor.alive():
        await harness.trigger("t1")
        await harness.slots(1)
        await harness.until("running", "t1")


async def test_no_answer_changes_nothing(harness: Harness) -> None:  # SC-09
    """No executor is there to be asked; the next one is asked at once."""
    await harness.keep(a_robot(config=ONE))
    async with harness.scheduler(**SOON):
        await harness.trigger("t1")
        await harness.slots(1)
        await harness.started("t1")
        await harness.until("running", "t1")
        await asyncio.sleep(0.8)  # several checks are due, without an executor
        assert (await harness.read("t1")).state == "running"
        async with Executor(harness).alive():
            await harness.until("done", "t1")
