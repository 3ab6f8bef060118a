"""The dispatcher over a queue in memory: what it writes, publishes and acknowledges."""

import asyncio
import contextlib

import pytest
from services.scheduler.tests.fixtures import InMemoryHarness
from services.scheduler.tests.harness import OWNER, Harness, as_event, finished, started

from rota_common.errors import Transient, Unreadable
from rota_common.testing.samples import MEMBER, NOON, TEAM, SetClock, a_robot, a_trigger
from rota_contracts.ids import execution_id
from rota_contracts.messages.robot_facts import RobotDeletedV1
from rota_contracts.messages.team_facts import TeamRemovedV1
from rota_contracts.messages.trigger import RejectReason
from rota_contracts.model import ALL
from scheduler.adapters.in_memory_queue import InMemoryQueue
from scheduler.domain.batch import Batch
from scheduler.domain.queue import EntryState, QueueState
from scheduler.ports import LeaseLost


async def test_a_trigger_is_written_then_published_then_acknowledged() -> None:  # TG-05 SC-11
    async with Harness().open() as harness:
        await harness.take(a_trigger("t1"))
        assert (await harness.state("t1"), harness.published.requested_ids) == (EntryState.ADMITTED, ["t1"])


async def test_what_came_in_together_is_decided_together() -> None:  # SC-10
    async with Harness().open() as harness:
        await harness.take(*(a_trigger(f"t{n}", "human") for n in range(14)))
        states = [await harness.state(f"t{n}") for n in range(14)]
    assert states == [EntryState.ADMITTED] * 2 + [EntryState.QUEUED] * 10 + [EntryState.REJECTED] * 2
    assert harness.published.rejected == [("t12", RejectReason.QUEUE_FULL), ("t13", RejectReason.QUEUE_FULL)]


async def test_a_trigger_that_comes_twice_at_once_is_decided_once() -> None:  # SC-12
    async with Harness().open() as harness:
        await harness.take(a_trigger("t1"), a_trigger("t1"))
        assert harness.published.requested_ids == ["t1"]
        assert len((await harness.queue.load()).active) == 1


async def test_a_repeated_trigger_is_published_again_and_not_decided_again() -> None:  # SC-12
    async with Harness().open() as harness:
        await harness.take(a_trigger("t1"))
        harness.robots.kept[MEMBER] = a_robot(robot_status="paused")
        await harness.take(a_trigger("t1"))
    assert (harness.published.requested_ids, harness.published.rejected) == (["t1", "t1"], [])


async def test_a_trigger_that_another_version_has_queued_fails_alone_and_is_not_queued_twice() -> None:
    async with Harness().open() as harness:
        await harness.take(a_trigger("t1"))
        harness.queue.unreadable.add(execution_id("t1"))
        repeated = asyncio.create_task(harness.take(a_trigger("t1")))
        await harness.take(a_trigger("t2"))
        with pytest.raises(Unreadable):
            await repeated
        assert harness.published.requested_ids == ["t1", "t2"]


async def test_a_repeated_rejection_is_published_again() -> None:
    async with Harness().open() as harness:
        harness.robots.kept.clear()
        await harness.take(a_trigger("t1"))
        await harness.take(a_trigger("t1"))
    assert harness.published.rejected == [("t1", RejectReason.NO_ROBOT)] * 2


async def test_an_end_frees_the_slot_for_the_next() -> None:  # SC-10
    async with Harness().open() as harness:
        await harness.take(*(a_trigger(f"t{n}") for n in range(4)))
        await harness.take(started("t0"), finished("t0"))
        assert harness.published.requested_ids == ["t0", "t1", "t2"]
        assert [await harness.state(f"t{n}") for n in range(4)] == ["done", "admitted", "admitted", "queued"]


async def test_an_end_that_comes_twice_frees_one_slot() -> None:
    async with Harness().open() as harness:
        await harness.take(*(a_trigger(f"t{n}") for n in range(5)))
        await harness.take(finished("t0"))
        await harness.take(finished("t0"))
        assert len((await harness.queue.load()).active) == 2


async def test_an_end_that_overtakes_its_beginning_is_the_end() -> None:
    async with Harness().open() as harness:
        await harness.take(a_trigger("t1"))
        await harness.take(finished("t1"), started("t1"))
        assert await harness.state("t1") is EntryState.DONE


async def test_the_pool_is_shared_by_all_robots() -> None:  # SC-09
    async with Harness(pool=3).open() as harness:
        for name in "bcd":
            harness.robots.kept[name] = a_robot(member_id=name)
        await harness.take(*(a_trigger(f"{name}{n}", member_id=name) for name in "bcd" for n in range(2)))
        assert len((await harness.queue.load()).active) == 3
        await harness.take(finished(harness.published.requested_ids[0]))
        assert len((await harness.queue.load()).active) == 3


async def test_what_waits_for_a_deleted_robot_is_rejected_and_what_runs_is_left() -> None:  # TG-20
    async with Harness().open() as harness:
        await harness.take(*(a_trigger(f"t{n}") for n in range(4)))
        await harness.take(RobotDeletedV1(rev=2, **OWNER))
        assert [await harness.state(f"t{n}") for n in range(4)] == ["admitted", "admitted", "rejected", "rejected"]
    assert harness.published.rejected == [("t2", RejectReason.ROBOT_DELETED), ("t3", RejectReason.ROBOT_DELETED)]


async def test_a_removed_team_neither_waits_nor_holds_a_slot() -> None:
    async with Harness(pool=1).open() as harness:
        await harness.take(a_trigger("t1"), a_trigger("t2"), a_trigger("other", team_id="another"))
        assert harness.published.requested_ids == ["t1"]
        for _ in range(2):
            await harness.take(TeamRemovedV1(team_id=TEAM, member_id=ALL, removed_at=NOON, round=1))
    assert harness.published.requested_ids == ["t1", "other"]


async def test_an_unpublished_rejection_is_published_by_the_next_dispatcher() -> None:  # TG-20
    async with Harness().open() as harness:
        await harness.take(*(a_trigger(f"t{n}") for n in range(3)))
        harness.published.away = True
        with pytest.raises(ConnectionError):
            await harness.take(RobotDeletedV1(rev=2, **OWNER))
        await harness.signals.has_lease.wait()
        await harness.take(RobotDeletedV1(rev=2, **OWNER))
    assert harness.published.rejected == [("t2", RejectReason.ROBOT_DELETED)]
    assert await harness.queue.unpublished() == []


async def test_a_written_decision_that_is_unpublished_is_published_by_the_next_dispatcher() -> None:
    async with Harness().open() as harness:
        harness.published.away = True
        with pytest.raises(ConnectionError):
            await harness.take(a_trigger("t1"))
        await harness.signals.has_lease.wait()
    assert harness.published.requested_ids == ["t1"]


async def test_a_robot_that_can_not_be_read_keeps_no_other_from_its_turn() -> None:
    async with Harness().open() as harness:
        harness.robots.kept["broken"] = ValueError("not a robot")
        outcomes = await asyncio.gather(
            harness.take(a_trigger("t1")),
            harness.take(a_trigger("t2", member_id="broken")),
            harness.take(a_trigger("t3")),
            return_exceptions=True,
        )
    assert [repr(each) for each in outcomes] == ["None", "ValueError('not a robot')", "None"]
    assert harness.published.requested_ids == ["t1", "t3"]


async def test_without_the_lease_messages_are_handed_back() -> None:
    with pytest.raises(Transient, match="another replica dispatches"):
        await Harness().take(a_trigger("t1"))


async def test_a_dispatcher_that_lost_its_lease_hands_back_what_it_has() -> None:
    class Lost(InMemoryQueue):
        async def write(self, batch: Batch, *, owner: str, epoch: int) -> None:
            raise LeaseLost("epoch 1 is over")

    clock = SetClock()
    async with Harness(queue=Lost(lease=60, clock=clock)).open() as harness:
        with pytest.raises(Transient, match="another replica dispatches"):  # not a bug: it would be buried in the end
            await harness.take(a_trigger("t1"))
        assert harness.published.requested_ids == []


async def test_a_takeover_that_takes_longer_than_the_lease_keeps_it() -> None:
    class Slow(InMemoryQueue):
        """Loads for twice as long as the lease; meanwhile another asks for it."""

        renewed, others = asyncio.Event(), list[int | None]()

        async def acquire(self, owner: str) -> int | None:
            self.renewed.set()
            return await super().acquire(owner)

        async def load(self) -> QueueState:
            for _ in range(3):
                clock.forward(40)
                self.others.append(await super().acquire("second"))
                self.renewed.clear()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.renewed.wait(), 1)
            return await super().load()

    clock = SetClock()
    queue = Slow(lease=60, clock=clock)
    async with Harness(queue=queue).open() as harness:
        await harness.take(a_trigger("t1"))
    assert (queue.others, harness.published.requested_ids) == ([None] * 3, ["t1"])


async def test_a_dispatcher_that_stops_hands_back_what_it_has() -> None:
    async with Harness().open() as harness:
        taken = asyncio.create_task(harness.dispatcher.take(as_event(started("t1"))))  # a report alone starts no turn
        await asyncio.sleep(0)
    with pytest.raises(Transient):
        await taken


async def test_a_scheduler_that_stops_returns_its_lease() -> None:
    given = InMemoryHarness(lease=600)
    async with given.open() as harness, harness.scheduler(lease=600):
        await harness.keep(a_robot())
        await harness.trigger()
        await harness.admitted(1)
        assert await given.adapters.queue.acquire("second") is None
    assert await given.adapters.queue.acquire("second") is not None


async def test_a_request_that_no_executor_begins_is_published_again() -> None:
    async with Harness().open() as harness:
        await harness.take(a_trigger("t1"), a_trigger("t2"))
        await harness.take(started("t2"))
        harness.clock.forward(59)
        await harness.take(started("t2"))  # a report is answered when the lease is renewed
        assert harness.published.again == []
        await harness.queue.acquire("first")
        harness.clock.forward(2)
        while not harness.published.again:
            await asyncio.sleep(0.01)
        assert harness.published.again == [("t1", 1)]
        harness.clock.forward(30)
        await harness.take(started("t2"))
        assert harness.published.again == [("t1", 1)]
        harness.clock.forward(31)
        while len(harness.published.again) == 1:
            await asyncio.sleep(0.01)
        assert harness.published.again == [("t1", 1), ("t1", 2)]
        await harness.take(started("t1"))
        while harness.dispatcher._republish._counts:  # what runs is not remembered
            await asyncio.sleep(0.01)


async def test_a_request_that_still_waits_for_an_executor_is_not_published_beside_itself() -> None:
    async with Harness().open() as harness:
        harness.published.outstanding = {"t1"}
        await harness.take(a_trigger("t1"))
        for looked in (1, 2, 3):
            harness.clock.forward(61)
            while harness.published.looked_for < looked:
                await asyncio.sleep(0.01)
        assert harness.published.again == []
        harness.published.outstanding.clear()
        harness.clock.forward(61)
        while not harness.published.again:
            await asyncio.sleep(0.01)
        assert harness.published.again == [("t1", 1)]
