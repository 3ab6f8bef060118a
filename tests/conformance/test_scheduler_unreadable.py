"""Queue entries and clocks that another version wrote: they stop nothing else, and are left as they are."""

from typing import Any

from rota_common.testing.samples import NOON, a_trigger
from rota_contracts.messages.trigger import TriggerType
from scheduler.adapters.in_memory_queue import InMemoryQueue
from scheduler.adapters.mongo_clocks import MongoClocks
from scheduler.adapters.mongo_queue import MongoQueue
from scheduler.domain.clock_state import Change
from scheduler.ports import Clocks, Queue
from tests.conformance.test_scheduler_clocks import (  # noqa: F401  # fixtures
    HALF_HOUR,
    a_state,
    clocks,
    mongo,
    mongo_clocks,
)
from tests.conformance.test_scheduler_ports import accepted, eid, queue, write  # noqa: F401  # fixtures


async def made_newer(queue: Queue, execution_id: str) -> None:  # noqa: F811  # the fixture
    if isinstance(queue, InMemoryQueue):
        queue.unreadable.add(execution_id)
        return
    assert isinstance(queue, MongoQueue)
    newer = {"state": "hibernating", "type": "dream", "trigger.type": "dream"}
    await queue._queue.update_one({"_id": execution_id}, {"$set": newer})


async def test_an_entry_that_can_not_be_read_stops_no_dispatcher(queue: Queue) -> None:  # noqa: F811  # the fixture
    await write(queue, decided=[accepted("t1"), accepted("t2")])
    await made_newer(queue, eid("t1"))
    for _ in range(2):
        loaded = await queue.load()
        assert (loaded.find(eid("t1")), loaded.find(eid("t2")) is not None) == (None, True)
    assert set(await queue.stored([eid("t1"), eid("t2")])) == {eid("t2")}
    assert (await queue.look_up([eid("t1"), eid("t2"), eid("t3")]))[1] == {eid("t1")}


async def test_a_due_trigger_that_can_not_be_read_stops_no_other(queue: Queue) -> None:  # noqa: F811  # the fixture
    due: dict[str, Any] = {"type": TriggerType.CLOCK, "scheduled_at": NOON}
    await queue.add_due([a_trigger("t1", **due), a_trigger("t2", **due)])
    await made_newer(queue, eid("t1"))
    assert [each.execution_id for each in await queue.undecided(10)] == [eid("t2")]
    assert (await queue.look_up([eid("t1")]))[1] == {eid("t1")}


async def test_a_clock_that_can_not_be_read_stops_no_tick(clocks: Clocks) -> None:  # noqa: F811  # the fixture
    await clocks.write([Change(None, a_state("ann")), Change(None, a_state("bob"))])
    ann = a_state("ann").key
    if isinstance(clocks, MongoClocks):
        await clocks._clocks.update_one({"_id": "/".join(ann)}, {"$set": {"clock.mode": "lunar"}})
    else:
        unreadable: Any = clocks
        unreadable.unreadable.add(ann)
    for _ in range(2):
        assert [state.member for state in await clocks.due(NOON + HALF_HOUR * 4, 10)] == ["bob"]
    assert set(await clocks.find([ann, a_state("bob").key])) == {a_state("bob").key}
