"""Triggers due by the clock wait in the queue for their decision, in memory as in MongoDB."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from rota_common.clock import now
from rota_common.runtime.traces import derived
from rota_common.stores.mongo import Mongo
from rota_common.testing.samples import NOON, TEAM, a_robot, a_trigger
from rota_contracts.ids import clock_trigger_id, execution_id
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.trigger import RejectReason, TriggerReceivedV1
from scheduler.adapters.in_memory_queue import InMemoryQueue
from scheduler.adapters.mongo_queue import MongoQueue
from scheduler.domain.admission import consider
from scheduler.domain.batch import Batch, Decided, Ended, Moved
from scheduler.domain.queue import Entry, EntryState, QueueState, Refusal
from scheduler.domain.robot_summary import summary_of
from scheduler.ports import Queue
from tests.conformance.dispatcher_lease import acquired

FULL = Refusal(RejectReason.QUEUE_FULL, "10 wait")


@pytest.fixture(params=["memory", "mongo"])
async def queue(request: pytest.FixtureRequest, mongo_url: str, mongo_prefix: str) -> AsyncIterator[Queue]:
    if request.param == "memory":
        yield InMemoryQueue(lease=9, clock=now)
        return
    mongo = Mongo(mongo_url, f"{mongo_prefix}_scheduler")
    store = MongoQueue(mongo, lease=9)
    await store.prepare()
    yield store
    await mongo.client.drop_database(mongo.database.name)
    await mongo.close()


def due(minute: int, member: str = "ann", **fields: Any) -> TriggerReceivedV1:
    """The trigger that this robot's clock is so many minutes after noon."""
    instant = NOON + timedelta(minutes=minute)
    name = clock_trigger_id(TEAM, member, instant)
    return a_trigger(name, "clock", at=NOON, member_id=member, scheduled_at=instant, **fields)


def eid(trigger: TriggerReceivedV1) -> str:
    return execution_id(trigger.trigger_id)


def decided(trigger: TriggerReceivedV1, *, refusal: Refusal | None = None, admitted: bool = False) -> Decided:
    summary = summary_of(a_robot(member_id=trigger.member_id))
    verdict = refusal or consider(trigger, summary, now=NOON)
    return Decided(trigger, "", verdict, admitted, from_clock=True)


async def write(queue: Queue, at: datetime = NOON, **batch: Any) -> None:
    epoch = await acquired(queue)
    await queue.write(Batch(at=at, **batch), owner="first", epoch=epoch)


async def undecided(queue: Queue, limit: int = 9) -> list[str]:
    return [stored.execution_id for stored in await queue.undecided(limit)]


async def test_a_due_trigger_is_stored_and_not_yet_queued(queue: Queue) -> None:  # SC-07
    await queue.add_due([due(1)])
    stored = (await queue.stored([eid(due(1))]))[eid(due(1))]
    assert (stored.state, stored.trigger, stored.refusal, stored.parks) == (EntryState.DUE, due(1), None, 0)
    assert stored.traceparent == derived(due(1).trigger_id)  # F19
    assert await queue.load() == QueueState()
    assert await queue.unpublished() == []


async def test_what_is_found_due_twice_is_kept_once_as_it_was_first(queue: Queue) -> None:  # SC-07 SC-12 F3
    first, again = due(1, robot_rev=1), due(1, robot_rev=2)
    await queue.add_due([first])
    await queue.add_due([again, due(2)])
    assert [stored.trigger for stored in await queue.undecided(9)] == [first, due(2)]


async def test_what_is_decided_and_found_due_again_stays_decided(queue: Queue) -> None:  # SC-07 F3
    await queue.add_due([due(1), due(2)])
    await write(queue, decided=[decided(due(1), admitted=True), decided(due(2), refusal=FULL)])
    await queue.add_due([due(1), due(2)])
    stored = await queue.stored([eid(due(1)), eid(due(2))])
    assert [each.state for each in stored.values()] == [EntryState.ADMITTED, EntryState.REJECTED]
    assert await undecided(queue) == []


async def test_the_longest_due_is_decided_about_first(queue: Queue) -> None:
    await queue.add_due([due(3), due(1)])
    await queue.add_due([due(2, "bob")])
    assert await undecided(queue) == [eid(due(1)), eid(due(2, "bob")), eid(due(3))]
    assert await undecided(queue, 2) == [eid(due(1)), eid(due(2, "bob"))]


async def test_what_is_decided_has_its_place_and_is_due_no_more(queue: Queue) -> None:  # SC-11
    triggers = [due(minute) for minute in range(1, 5)]
    await queue.add_due(triggers)
    given = [decided(triggers[0], admitted=True), decided(triggers[1]), decided(triggers[2], refusal=FULL)]
    await write(queue, decided=given)
    assert await undecided(queue) == [eid(triggers[3])]
    queue_state = await queue.load()
    assert (list(queue_state.active), list(queue_state.queued)) == ([eid(triggers[0])], [eid(triggers[1])])
    entry = queue_state.queued[eid(triggers[1])]
    assert (entry.queued_at, entry.admitted_at) == (NOON, None)
    stored = (await queue.stored([eid(triggers[2])]))[eid(triggers[2])]
    assert (stored.state, stored.refusal) == (EntryState.REJECTED, FULL)


async def test_a_clocks_trigger_is_unpublished_until_it_is_marked(queue: Queue) -> None:  # F3
    await queue.add_due([due(1), due(2)])
    await write(queue, decided=[decided(due(1), admitted=True), decided(due(2), refusal=FULL)])
    states = {stored.execution_id: stored.state for stored in await queue.unpublished()}
    assert states == {eid(due(1)): EntryState.ADMITTED, eid(due(2)): EntryState.REJECTED}
    await queue.mark_published([eid(due(1))])
    assert [stored.execution_id for stored in await queue.unpublished()] == [eid(due(2))]
    await write(queue, ended=[Ended(eid(due(1)), ExecStatus.COMPLETED)])
    await queue.mark_published([eid(due(1)), eid(due(2))])
    assert await queue.unpublished() == []


async def test_it_is_decided_about_once(queue: Queue) -> None:
    """A dispatcher that was slow decides about what its successor has decided."""
    await queue.add_due([due(1)])
    await write(queue, decided=[decided(due(1), refusal=FULL)])
    await write(queue, decided=[decided(due(1), admitted=True)])
    stored = (await queue.stored([eid(due(1))]))[eid(due(1))]
    assert (stored.state, stored.refusal) == (EntryState.REJECTED, FULL)
    assert await queue.load() == QueueState()


async def test_what_is_due_waits_or_holds_a_slot_is_held_by_its_robot(queue: Queue) -> None:  # SC-10
    mine = [due(minute) for minute in range(1, 7)]
    await queue.add_due([*mine, due(1, "bob"), due(1, "cid")])
    await write(queue, decided=[decided(each, admitted=True) for each in mine[:4]])
    await write(queue, decided=[decided(mine[4], refusal=FULL)], started=[eid(mine[0])])
    entry = (await queue.load()).find(eid(mine[1]))
    assert isinstance(entry, Entry)
    await write(
        queue, ended=[Ended(eid(mine[2]), ExecStatus.FAILED)], moved={eid(mine[1]): Moved(entry, EntryState.PARKED)}
    )
    keys = [(TEAM, "ann"), (TEAM, "bob"), (TEAM, "dot"), ("globex", "ann")]
    held = await queue.open_counts(keys)
    assert {key: held.get(key, 0) for key in keys} == dict(zip(keys, (3, 1, 0, 0), strict=True))  # 0, 3 and 5 of mine


async def test_requests_that_wait_are_counted_and_events_are_not(queue: Queue) -> None:  # DEC-39 DEC-48
    await queue.add_due([due(1), due(2), due(3, "bob")])
    waits, runs = decided(due(1)), decided(due(2), admitted=True)
    event = a_trigger("e1")
    entry = consider(event, summary_of(a_robot()), now=NOON)
    await write(queue, decided=[waits, runs, Decided(event, "", entry)])
    keys = [(TEAM, "ann"), (TEAM, "bob"), (TEAM, "dot")]
    waiting = await queue.waiting_counts(keys)
    assert [waiting.get(key, 0) for key in keys] == [1, 1, 0]
