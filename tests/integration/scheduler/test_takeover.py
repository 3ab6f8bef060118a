"""Two schedulers: one dispatches, the other takes over; and a database that goes away."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from rota_common.runtime.embedded_servers import EmbeddedServer, mongod
from rota_common.runtime.service import Service
from rota_common.testing.crash import crash
from rota_common.testing.samples import a_robot
from rota_contracts import catalog
from rota_contracts.catalog import Channel
from rota_contracts.messages.execution import TriggerState
from tests.integration.scheduler.harness import Harness

PATIENT = 45
"""What the server gave to the dead one in its last moment comes again after the ack wait of 30 s."""

LONG = 60
"""A lease in seconds that a busy machine does not let end."""


class Stuck:
    """From its making on nothing of a channel leaves the service, until it is let `go`."""

    def __init__(self, service: Service, channel: Channel[Any]) -> None:
        self._type, self._publish = channel.type, service.bus.jetstream.publish
        self.reached, self.go = asyncio.Event(), asyncio.Event()
        service.bus.jetstream.publish = self._held

    async def _held(self, subject: str, *args: Any, **given: Any) -> Any:
        if subject.startswith(self._type):
            self.reached.set()
            await self.go.wait()
        return await self._publish(subject, *args, **given)


async def test_of_two_replicas_one_dispatches(harness: Harness) -> None:
    async with harness.scheduler(lease=LONG):
        await harness.trigger("t0")
        await harness.slots(1)
        async with harness.scheduler(lease=LONG) as second:
            stuck = Stuck(second.service, catalog.EXECUTION_REQUESTED)
            for number in range(1, 4):
                await harness.trigger(f"t{number}")
            await harness.admitted(4)
            for number in range(2):
                await harness.finished((await harness.given_slots())[number])
            await harness.slots(4)
            assert not stuck.reached.is_set()
    assert sorted(await harness.given_slots()) == [f"t{number}" for number in range(4)]


async def test_the_other_takes_over_from_a_dispatcher_that_is_killed(harness: Harness) -> None:
    first = await harness.start()
    for number in range(3):
        await harness.trigger(f"t{number}")
    await harness.admitted(3)
    await harness.slots(2)
    async with harness.scheduler():
        await crash(first.service)
        await harness.trigger("t3")
        await harness.finished((await harness.given_slots())[0])
        await harness.slots(3, timeout=PATIENT)
        await harness.admitted(4, timeout=PATIENT)
        await harness.finished((await harness.given_slots())[1])
        await harness.slots(4, timeout=PATIENT)
    assert sorted(await harness.given_slots()) == [f"t{number}" for number in range(4)]  # nothing lost, nothing doubled


async def test_the_other_takes_over_from_a_dispatcher_that_stops_before_its_lease_would_end(harness: Harness) -> None:
    first = await harness.start(lease=12)
    await harness.trigger("t1")
    await harness.slots(1)
    async with harness.scheduler(lease=12):
        await first.service.stop(2)
        await harness.trigger("t2")
        await harness.slots(2, timeout=10)


async def test_what_was_admitted_and_not_published_is_published_by_the_successor(harness: Harness) -> None:
    first = await harness.start()
    stuck = Stuck(first.service, catalog.EXECUTION_REQUESTED)
    await harness.trigger("t1")
    await stuck.reached.wait()
    assert (await harness.read("t1")).state is TriggerState.ADMITTED
    assert await harness.given_slots() == []
    await crash(first.service)
    async with harness.scheduler():
        await harness.slots(1)
    assert await harness.given_slots() == ["t1"]


async def test_a_dispatcher_that_was_replaced_writes_nothing_any_more(harness: Harness) -> None:
    first = await harness.start()
    stuck = Stuck(first.service, catalog.EXECUTION_REQUESTED)
    await harness.trigger("t1")
    await stuck.reached.wait()  # it hangs in its turn, and renews nothing
    async with harness.scheduler():
        await harness.slots(1)
        await harness.trigger("t2")
        stuck.go.set()
        await harness.slots(2)
        assert [(await harness.read(name)).state for name in ("t1", "t2")] == ["admitted", "admitted"]
        await first.service.stop(1)
    assert sorted(await harness.given_slots()) == ["t1", "t2"]


async def test_a_request_that_was_lost_is_sent_again_as_the_same_fact(harness: Harness) -> None:
    async with harness.scheduler(republish_after=0.5):
        await harness.trigger("t1")
        sent = await harness.requests.received()
        await harness.gateway.bus.jetstream.purge_stream("EXECUTIONS")
        while len({(message.headers or {})["Nats-Msg-Id"] for message in sent}) < 2:
            sent = await harness.requests.received(len(sent) + 1)
        await harness.started("t1")
        while (await harness.read("t1")).state is not TriggerState.RUNNING:
            await asyncio.sleep(0.05)
    assert len({(message.headers or {})["ce-id"] for message in sent}) == 1


@pytest.fixture
async def own_mongo(tmp_path: Path) -> AsyncIterator[EmbeddedServer]:
    server = mongod(tmp_path / "mongo")
    await server.start()
    yield server
    await server.kill()


async def test_triggers_wait_while_the_database_is_away(
    nats: EmbeddedServer, own_mongo: EmbeddedServer, mongo_prefix: str
) -> None:
    async with Harness(nats.url, own_mongo.url, mongo_prefix).open() as harness:
        await harness.keep(a_robot(config={"quota": {"max": 9}}))
        async with harness.scheduler() as app:
            await harness.trigger("t1")
            await harness.slots(1)
            await own_mongo.kill()
            for number in range(2, 6):
                await harness.trigger(f"t{number}")
            while "mongo" not in await app.service.problems():
                await asyncio.sleep(0.05)
            await own_mongo.start()
            await harness.slots(5, timeout=60)
        assert sorted(await harness.given_slots()) == [f"t{number}" for number in range(1, 6)]
