"""The dispatcher over a queue in memory: what it writes, tells and answers for."""

import asyncio

import pytest
from services.scheduler.tests.harness import OWNER, Desk, as_event, finished, started

from rota_common.errors import Transient
from rota_common.testing.samples import MEMBER, SetClock, a_robot, a_trigger
from rota_contracts.messages.robot_facts import RobotDeletedV1
from rota_contracts.messages.trigger import RejectReason
from scheduler.adapters.in_memory_queue import MemoryQueue
from scheduler.domain import State
from scheduler.ports import Batch, LeaseLost


async def test_a_trigger_is_written_then_told_then_answered() -> None:  # TG-05 SC-11
    async with Desk().running() as desk:
        await desk.take(a_trigger("t1"))
        assert (await desk.state("t1"), desk.told.requested_ids) == (State.ADMITTED, ["t1"])


async def test_what_came_in_together_is_decided_together() -> None:  # SC-10
    async with Desk().running() as desk:
        await desk.take(*(a_trigger(f"t{n}") for n in range(14)))
        states = [await desk.state(f"t{n}") for n in range(14)]
    assert states == [State.ADMITTED] * 2 + [State.QUEUED] * 10 + [State.REJECTED] * 2
    assert desk.told.rejected == [("t12", RejectReason.QUEUE_FULL), ("t13", RejectReason.QUEUE_FULL)]


async def test_a_trigger_that_comes_twice_at_once_is_decided_once() -> None:  # SC-12
    async with Desk().running() as desk:
        await desk.take(a_trigger("t1"), a_trigger("t1"))
        assert desk.told.requested_ids == ["t1"]
        assert len((await desk.queue.board()).active) == 1


async def test_a_trigger_that_comes_again_is_told_again_and_not_decided_again() -> None:  # SC-12
    async with Desk().running() as desk:
        await desk.take(a_trigger("t1"))
        desk.robots.kept[MEMBER] = a_robot(robot_status="paused")
        await desk.take(a_trigger("t1"))
    assert (desk.told.requested_ids, desk.told.rejected) == (["t1", "t1"], [])


async def test_a_refusal_that_comes_again_is_told_again() -> None:
    async with Desk().running() as desk:
        desk.robots.kept.clear()
        await desk.take(a_trigger("t1"))
        await desk.take(a_trigger("t1"))
    assert desk.told.rejected == [("t1", RejectReason.NO_ROBOT)] * 2


async def test_an_end_frees_the_slot_for_the_next() -> None:  # SC-10
    async with Desk().running() as desk:
        await desk.take(*(a_trigger(f"t{n}") for n in range(4)))
        await desk.take(started("t0"), finished("t0"))
        assert desk.told.requested_ids == ["t0", "t1", "t2"]
        assert [await desk.state(f"t{n}") for n in range(4)] == ["done", "admitted", "admitted", "queued"]


async def test_an_end_that_comes_twice_frees_one_slot() -> None:
    async with Desk().running() as desk:
        await desk.take(*(a_trigger(f"t{n}") for n in range(5)))
        await desk.take(finished("t0"))
        await desk.take(finished("t0"))
        assert len((await desk.queue.board()).active) == 2


async def test_an_end_that_overtakes_its_beginning_is_the_end() -> None:
    async with Desk().running() as desk:
        await desk.take(a_trigger("t1"))
        await desk.take(finished("t1"), started("t1"))
        assert await desk.state("t1") is State.DONE


async def test_the_pool_is_shared_by_all_robots() -> None:  # SC-09
    async with Desk(pool=3).running() as desk:
        for name in "bcd":
            desk.robots.kept[name] = a_robot(member_id=name)
        await desk.take(*(a_trigger(f"{name}{n}", member_id=name) for name in "bcd" for n in range(2)))
        assert len((await desk.queue.board()).active) == 3
        await desk.take(finished(desk.told.requested_ids[0]))
        assert len((await desk.queue.board()).active) == 3


async def test_what_waits_for_a_deleted_robot_is_rejected_and_what_runs_is_left() -> None:  # TG-20
    async with Desk().running() as desk:
        await desk.take(*(a_trigger(f"t{n}") for n in range(4)))
        await desk.take(RobotDeletedV1(rev=2, **OWNER))
        assert [await desk.state(f"t{n}") for n in range(4)] == ["admitted", "admitted", "rejected", "rejected"]
    assert desk.told.rejected == [("t2", RejectReason.ROBOT_DELETED), ("t3", RejectReason.ROBOT_DELETED)]


async def test_a_rejection_that_was_not_told_is_told_by_whoever_dispatches_next() -> None:  # TG-20
    async with Desk().running() as desk:
        await desk.take(*(a_trigger(f"t{n}") for n in range(3)))
        desk.told.away = True
        with pytest.raises(ConnectionError):
            await desk.take(RobotDeletedV1(rev=2, **OWNER))
        await desk.dispatcher.held.wait()
        await desk.take(RobotDeletedV1(rev=2, **OWNER))
    assert desk.told.rejected == [("t2", RejectReason.ROBOT_DELETED)]
    assert await desk.queue.untold() == []


async def test_what_was_written_and_not_told_is_told_by_whoever_dispatches_next() -> None:
    async with Desk().running() as desk:
        desk.told.away = True
        with pytest.raises(ConnectionError):
            await desk.take(a_trigger("t1"))
        await desk.dispatcher.held.wait()
    assert desk.told.requested_ids == ["t1"]


async def test_a_robot_that_can_not_be_read_keeps_no_other_from_its_turn() -> None:
    async with Desk().running() as desk:
        desk.robots.kept["broken"] = ValueError("not a robot")
        outcomes = await asyncio.gather(
            desk.take(a_trigger("t1")),
            desk.take(a_trigger("t2", member_id="broken")),
            desk.take(a_trigger("t3")),
            return_exceptions=True,
        )
    assert [repr(each) for each in outcomes] == ["None", "ValueError('not a robot')", "None"]
    assert desk.told.requested_ids == ["t1", "t3"]


async def test_without_the_lease_messages_are_handed_back() -> None:
    with pytest.raises(Transient, match="another replica dispatches"):
        await Desk().take(a_trigger("t1"))


async def test_a_dispatcher_that_lost_its_lease_hands_back_what_it_has() -> None:
    class Lost(MemoryQueue):
        async def write(self, batch: Batch, *, owner: str, epoch: int) -> None:
            raise LeaseLost("epoch 1 is over")

    clock = SetClock()
    async with Desk(queue=Lost(lease=60, clock=clock)).running() as desk:
        with pytest.raises(Transient, match="another replica dispatches"):  # not a bug: it would be buried in the end
            await desk.take(a_trigger("t1"))
        assert desk.told.requested_ids == []


async def test_a_dispatcher_that_stops_hands_back_what_it_has_and_its_lease() -> None:
    desk = Desk()
    async with desk.running():
        taken = asyncio.create_task(desk.dispatcher.take(as_event(started("t1"))))  # nobody hurries with a report
        await asyncio.sleep(0)
    with pytest.raises(Transient):
        await taken
    assert await desk.queue.acquire("second") is not None


async def test_a_request_that_nobody_begins_is_sent_again() -> None:
    async with Desk().running() as desk:
        await desk.take(a_trigger("t1"), a_trigger("t2"))
        await desk.take(started("t2"))
        desk.clock.forward(59)
        await desk.take(started("t2"))  # a report is answered when the lease is renewed
        assert desk.told.again == []
        await desk.queue.acquire("first")
        desk.clock.forward(2)
        while not desk.told.again:
            await asyncio.sleep(0.01)
        assert desk.told.again == [("t1", 1)]
        desk.clock.forward(30)
        await desk.take(started("t2"))
        assert desk.told.again == [("t1", 1)]
        desk.clock.forward(31)
        while len(desk.told.again) == 1:
            await asyncio.sleep(0.01)
        assert desk.told.again == [("t1", 1), ("t1", 2)]
