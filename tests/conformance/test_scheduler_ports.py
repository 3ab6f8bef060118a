"""The scheduler's queue in memory keeps the same promises as the one in MongoDB."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from rota_common.clock import now
from rota_common.stores.mongo import Mongo
from rota_common.testing.samples import NOON, a_robot, a_trigger
from rota_contracts.ids import execution_id
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.trigger import RejectReason, TriggerInput, TriggerReceivedV1
from scheduler.adapters.in_memory_queue import InMemoryQueue
from scheduler.adapters.mongo_queue import MongoQueue
from scheduler.domain.admission import consider
from scheduler.domain.batch import Batch, Cancelled, Decided, Ended, Moved
from scheduler.domain.queue import Entry, EntryState, QueueState, Refusal
from scheduler.domain.robot_summary import RobotSummary, summary_of
from scheduler.ports import LeaseLost, Queue, Repeated
from tests.conformance.dispatcher_lease import acquired

LEASE = 1.0


def a_card(**fields: Any) -> RobotSummary:
    return summary_of(a_robot(**fields))


@pytest.fixture(params=["memory", "mongo"])
async def queue(request: pytest.FixtureRequest, mongo_url: str, mongo_prefix: str) -> AsyncIterator[Queue]:
    if request.param == "memory":
        yield InMemoryQueue(lease=LEASE, clock=now)
        return
    mongo = Mongo(mongo_url, f"{mongo_prefix}_scheduler")
    store = MongoQueue(mongo, lease=LEASE)
    await store.prepare()
    await store.prepare()
    yield store
    await mongo.client.drop_database(mongo.database.name)
    await mongo.close()


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


def eid(trigger_id: str) -> str:
    return execution_id(trigger_id)


def accepted(trigger_id: str, *, admitted: bool = False, **fields: Any) -> Decided:
    trigger: TriggerReceivedV1 = a_trigger(trigger_id, **fields)
    robot = a_card(team_id=trigger.team_id, member_id=trigger.member_id)
    entry = consider(trigger, robot, now=NOON)
    assert isinstance(entry, Entry)
    return Decided(trigger, f"00-{trigger_id}", entry, admitted)


def refused(trigger_id: str) -> Decided:
    return Decided(a_trigger(trigger_id), "", Refusal(RejectReason.NO_ROBOT, "there is no robot ann"))


GONE = Refusal(RejectReason.ROBOT_DELETED, "the robot was deleted")


def gone(trigger_id: str) -> Cancelled:
    return Cancelled(eid(trigger_id), GONE)


async def on_board(queue: Queue, trigger_id: str) -> Entry:
    entry = (await queue.load()).find(eid(trigger_id))
    assert entry is not None
    return entry


@pytest.mark.parametrize("data", [{"wei": 10**30}, {"a\0b": 1}, {"$set": {"a.b": 1}}, {"deep": nested(150)}])
async def test_what_strangers_wrote_is_kept_as_they_wrote_it(queue: Queue, data: dict[str, Any]) -> None:
    given = TriggerInput(source="leads", event_type="lead.created", data=data)
    await write(queue, decided=[accepted("t1", input=given)])
    assert (await queue.stored([eid("t1")]))[eid("t1")].trigger.input == given


async def test_a_buried_trigger_is_stored_as_rejected_without_its_input(queue: Queue) -> None:
    why = Refusal(RejectReason.FAILED, "it can't be taken")
    first = await queue.refuse(a_trigger("t1"), why, NOON)
    assert (first.state, first.refusal, first.trigger.input) == (EntryState.REJECTED, why, TriggerInput())
    assert (await queue.stored([eid("t1")])) == {eid("t1"): first}
    await write(queue, decided=[accepted("t2")])
    assert (await queue.refuse(a_trigger("t2"), why, NOON)).state is EntryState.QUEUED
    await write(queue, decided=[replace(accepted("t1"), redriven=True)])  # it was sent back
    assert (await queue.stored([eid("t1")]))[eid("t1")].state is EntryState.QUEUED


async def write(queue: Queue, **batch: Any) -> None:
    """As the dispatcher that holds the lease."""
    epoch = await acquired(queue)
    await queue.write(Batch(at=NOON, **batch), owner="first", epoch=epoch)


async def test_of_many_that_want_the_lease_one_gets_it(queue: Queue) -> None:
    epochs = await asyncio.gather(*(queue.acquire(f"replica-{number}") for number in range(8)))
    assert len([epoch for epoch in epochs if epoch is not None]) == 1


async def test_the_holder_renews_the_lease_under_the_same_epoch(queue: Queue) -> None:
    epoch = await acquired(queue)
    assert [await queue.acquire("first"), await queue.acquire("first")] == [epoch, epoch]
    assert await queue.acquire("second") is None


async def test_a_lease_that_ended_is_taken_with_the_next_epoch(queue: Queue) -> None:
    epoch = await acquired(queue)
    assert await acquired(queue, "second") == epoch + 1
    assert await queue.acquire("first") is None


async def test_a_holder_whose_lease_ended_begins_a_new_epoch(queue: Queue) -> None:
    epoch = await acquired(queue)
    await asyncio.sleep(LEASE * 1.2)  # it ends by the database's clock, which no test can move
    assert await acquired(queue) == epoch + 1


async def test_a_lease_that_was_released_is_free_at_once(queue: Queue) -> None:
    epoch = await acquired(queue)
    await queue.release("second")  # it isn't the second's to release
    assert await queue.acquire("second") is None
    await queue.release("first")
    assert await queue.acquire("second") == epoch + 1


async def test_a_batch_renews_the_lease(queue: Queue) -> None:
    epoch = await acquired(queue)
    for number in range(3):  # longer than the lease, in halves
        await asyncio.sleep(LEASE / 2)
        await queue.write(Batch(decided=[accepted(f"t{number}")], at=NOON), owner="first", epoch=epoch)
    assert await queue.acquire("second") is None


async def test_an_empty_queue_has_an_empty_board(queue: Queue) -> None:
    assert await queue.load() == QueueState()
    assert await queue.stored([eid("t1")]) == {}


async def test_a_decided_trigger_is_stored_and_in_the_queue_state(queue: Queue) -> None:  # SC-12
    first, second = accepted("t1"), accepted("t2", admitted=True)
    await write(queue, decided=[first, second, refused("t3")])
    queue_state = await queue.load()
    assert queue_state.queued == {eid("t1"): replace(first.verdict, queued_at=NOON)}
    assert queue_state.active == {eid("t2"): replace(second.verdict, queued_at=NOON, admitted_at=NOON)}
    stored = await queue.stored([eid("t1"), eid("t2"), eid("t3"), eid("t4")])
    assert {each: found.state for each, found in stored.items()} == {
        eid("t1"): EntryState.QUEUED,
        eid("t2"): EntryState.ADMITTED,
        eid("t3"): EntryState.REJECTED,
    }
    assert stored[eid("t1")].trigger == first.trigger
    assert stored[eid("t1")].traceparent == "00-t1"
    assert stored[eid("t3")].refusal == Refusal(RejectReason.NO_ROBOT, "there is no robot ann")


async def test_an_execution_goes_from_state_to_state(queue: Queue) -> None:
    await write(queue, decided=[accepted("t1")])
    seen = []
    for change in (
        {"admitted": [eid("t1")]},
        {"started": [eid("t1")]},
        {"ended": [Ended(eid("t1"), ExecStatus.FAILED)]},
    ):
        await write(queue, **change)
        seen.append((await queue.stored([eid("t1")]))[eid("t1")])
    assert [each.state for each in seen] == [EntryState.ADMITTED, EntryState.RUNNING, EntryState.DONE]
    assert [each.status for each in seen] == [None, None, ExecStatus.FAILED]


async def test_what_runs_is_known_to_run_by_a_successor(queue: Queue) -> None:
    await write(queue, decided=[accepted("t1", admitted=True), accepted("t2", admitted=True)])
    await write(queue, started=[eid("t1")])
    await acquired(queue, "second")
    assert {each: entry.running for each, entry in (await queue.load()).active.items()} == {
        eid("t1"): True,
        eid("t2"): False,
    }


async def test_what_has_ended_never_comes_back(queue: Queue) -> None:
    await write(queue, decided=[accepted("t1", admitted=True)])
    await write(queue, ended=[Ended(eid("t1"), ExecStatus.COMPLETED)])
    await write(queue, started=[eid("t1")], admitted=[eid("t1")])
    await write(queue, ended=[Ended(eid("t1"), ExecStatus.FAILED)])
    stored = (await queue.stored([eid("t1")]))[eid("t1")]
    assert (stored.state, stored.status) == (EntryState.DONE, ExecStatus.COMPLETED)
    assert await queue.load() == QueueState()


async def test_reports_of_strangers_change_nothing(queue: Queue) -> None:
    await write(queue, started=[eid("t1")], ended=[Ended(eid("t2"), ExecStatus.COMPLETED)])
    assert await queue.stored([eid("t1"), eid("t2")]) == {}


async def test_a_cancelled_entry_is_rejected_and_unpublished_until_it_is_marked(queue: Queue) -> None:  # TG-16 TG-20
    await write(queue, decided=[accepted("t1"), accepted("t2"), accepted("t3", member_id="bob"), refused("t4")])
    await write(queue, cancelled=[gone("t1"), gone("t2")])
    unpublished = await queue.unpublished()
    assert {stored.execution_id for stored in unpublished} == {eid("t1"), eid("t2")}
    assert {(stored.state, stored.refusal) for stored in unpublished} == {(EntryState.REJECTED, GONE)}
    assert list((await queue.load()).queued) == [eid("t3")]
    await queue.mark_published([eid("t1")])
    assert [stored.execution_id for stored in await queue.unpublished()] == [eid("t2")]
    assert (await queue.stored([eid("t1")]))[eid("t1")].refusal == GONE


async def test_what_is_parked_is_on_the_board_and_holds_no_slot(queue: Queue) -> None:
    await write(queue, decided=[accepted("t1", admitted=True), accepted("t2")])
    entry = replace(await on_board(queue, "t1"), parks=2, admitted_at=None)
    await write(queue, moved={eid("t1"): Moved(entry, EntryState.PARKED)})
    queue_state = await queue.load()
    assert (queue_state.parked, list(queue_state.queued), queue_state.active) == ({eid("t1"): entry}, [eid("t2")], {})
    stored = (await queue.stored([eid("t1")]))[eid("t1")]
    assert (stored.state, stored.parks) == (EntryState.PARKED, 2)


async def test_what_goes_on_is_queued_again_and_admitted_under_its_grant(queue: Queue) -> None:
    await write(queue, decided=[accepted("t1", admitted=True)])
    resumed = replace(await on_board(queue, "t1"), parks=1, admitted_at=None, queued_at=NOON - timedelta(minutes=1))
    await write(queue, moved={eid("t1"): Moved(resumed, EntryState.QUEUED)})
    assert (await queue.load()).queued == {eid("t1"): resumed}
    await write(queue, admitted=[eid("t1")])
    assert (await queue.load()).active == {eid("t1"): replace(resumed, admitted_at=NOON)}
    await write(queue, started=[eid("t1")])
    stored = (await queue.stored([eid("t1")]))[eid("t1")]
    assert (stored.state, stored.parks) == (EntryState.RUNNING, 1)


async def test_the_last_change_of_an_entry_in_a_batch_acquired(queue: Queue) -> None:
    await write(queue, decided=[accepted("t1", admitted=True), accepted("t2", admitted=True)])
    again = replace(await on_board(queue, "t1"), parks=1, admitted_at=NOON)
    moved = {eid("t1"): Moved(again, EntryState.ADMITTED)}
    ended = [Ended(eid("t2"), ExecStatus.COMPLETED)]
    await write(queue, started=[eid("t1"), eid("t2")], admitted=[eid("t1")], moved=moved, ended=ended)
    stored = await queue.stored([eid("t1"), eid("t2")])
    assert (stored[eid("t1")].state, stored[eid("t1")].parks) == (EntryState.ADMITTED, 1)
    assert stored[eid("t2")].state is EntryState.DONE
    assert (await queue.load()).active == {eid("t1"): again}


async def test_what_has_ended_is_neither_parked_nor_queued_again(queue: Queue) -> None:
    await write(queue, decided=[accepted("t1", admitted=True)])
    entry = await on_board(queue, "t1")
    await write(queue, ended=[Ended(eid("t1"), ExecStatus.COMPLETED)])
    await write(queue, moved={eid("t1"): Moved(replace(entry, parks=1), EntryState.QUEUED)}, cancelled=[gone("t1")])
    assert (await queue.stored([eid("t1")]))[eid("t1")].state is EntryState.DONE
    assert (await queue.load(), await queue.unpublished()) == (QueueState(), [])


async def test_a_replica_that_lost_the_lease_writes_nothing(queue: Queue) -> None:
    await write(queue, decided=[accepted("t1")])
    epoch = await acquired(queue)
    await acquired(queue, "second")
    batch = Batch(
        decided=[accepted("t2")],
        admitted=[eid("t1")],
        ended=[Ended(eid("t1"), ExecStatus.COMPLETED)],
        cancelled=[gone("t1")],
        at=NOON,
    )
    with pytest.raises(LeaseLost):
        await queue.write(batch, owner="first", epoch=epoch)
    assert list((await queue.load()).queued) == [eid("t1")]
    assert (await queue.stored([eid("t1")]))[eid("t1")].state is EntryState.QUEUED
    assert await queue.stored([eid("t2")]) == {}


async def test_a_batch_with_a_trigger_that_is_stored_already_writes_nothing(queue: Queue) -> None:
    for before in ({"decided": [accepted("t1")]}, {"decided": [refused("t2")]}):
        await write(queue, **before)
    for name in ("t1", "t2"):
        with pytest.raises(Repeated):
            await write(queue, decided=[accepted("t3"), accepted(name)], started=[eid("t1")])
    assert list((await queue.load()).queued) == [eid("t1")]
    assert await queue.stored([eid("t3")]) == {}


async def test_a_stale_epoch_of_ones_own_writes_nothing_either(queue: Queue) -> None:
    stale = await acquired(queue)
    await queue.release("first")
    assert await acquired(queue) == stale + 1
    with pytest.raises(LeaseLost):
        await queue.write(Batch(decided=[accepted("t1")], at=NOON), owner="first", epoch=stale)
    assert await queue.stored([eid("t1")]) == {}


async def test_a_lease_that_is_over_but_not_taken_still_writes(queue: Queue) -> None:
    epoch = await acquired(queue)
    await asyncio.sleep(LEASE * 1.2)  # as above
    await queue.write(Batch(decided=[accepted("t1")], at=NOON), owner="first", epoch=epoch)
    assert await queue.acquire("second") is None  # and holds it again


async def test_every_type_and_quota_survives_being_stored(queue: Queue) -> None:
    robot = a_card(config={"quota": {"max": 7, "priority": 9}})
    kinds = ["clock", "human", "event", "callback"]
    decided = []
    for number, kind in enumerate(kinds):
        trigger = a_trigger(f"t{number}", kind)
        entry = consider(trigger, robot, now=NOON + timedelta(seconds=number))
        decided.append(Decided(trigger, "", entry))
    await write(queue, decided=decided)
    stored = (await queue.load()).queued.values()
    assert sorted((entry.type, entry.max_running, entry.priority) for entry in stored) == sorted(
        (kind, 7, 9) for kind in kinds
    )
