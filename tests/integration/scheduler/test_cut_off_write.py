"""A batch that is being written when its scheduler stops: all of it is written, or nothing."""

import asyncio
import contextlib
import threading

from pymongo import monitoring

from rota_common.stores.mongo import Mongo
from rota_common.testing.samples import NOON
from scheduler.adapters.mongo_queue import MongoQueue
from scheduler.domain.batch import Batch
from scheduler.domain.queue import EntryState
from tests.conformance.dispatcher_lease import acquired
from tests.conformance.test_scheduler_ports import accepted, eid


class Between(monitoring.CommandListener):
    """Holds the driver up after the first of a batch's commands on the queue, for half a second at most."""

    def __init__(self) -> None:
        self.armed = False
        self.reached, self.go_on = asyncio.Event(), threading.Event()
        self._loop = asyncio.get_running_loop()

    def started(self, event: monitoring.CommandStartedEvent) -> None: ...

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
        if self.armed and event.command_name == "insert":
            self.armed = False
            self._loop.call_soon_threadsafe(self.reached.set)
            self.go_on.wait(0.5)

    def failed(self, event: monitoring.CommandFailedEvent) -> None: ...


async def test_a_batch_is_written_whole_though_its_writer_is_cancelled_and_the_client_closed(
    mongo_url: str, mongo_prefix: str
) -> None:  # SC-09
    between = Between()
    monitoring.register(between)  # for the clients that are made from now on, and without effect after this test
    stopping, staying = (Mongo(mongo_url, f"{mongo_prefix}_scheduler") for _ in range(2))
    queue = MongoQueue(stopping, lease=60)
    await queue.prepare()
    epoch = await acquired(queue, "stopping")
    await queue.write(Batch(decided=[accepted("waits")], at=NOON), owner="stopping", epoch=epoch)
    between.armed = True
    batch = Batch(decided=[accepted("new", admitted=True)], admitted=[eid("waits")], at=NOON)
    writing = asyncio.create_task(queue.write(batch, owner="stopping", epoch=epoch))
    await between.reached.wait()
    writing.cancel()
    await stopping.close()
    between.go_on.set()
    with contextlib.suppress(asyncio.CancelledError):
        await writing
    found = {each["_id"]: each["state"] async for each in staying.database["queue"].find()}
    assert found == {eid("waits"): EntryState.ADMITTED, eid("new"): EntryState.ADMITTED}
    await staying.close()
