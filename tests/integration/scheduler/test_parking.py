"""Parking and cancelling across a crash, over a real bus and a real database."""

import asyncio

from rota_common.testing.bus import stored
from rota_common.testing.crash import crash
from rota_common.testing.samples import a_robot
from rota_contracts import catalog
from tests.integration.scheduler.harness import Harness

ONE = {"quota": {"max": 1, "queue": 3}}


async def test_what_waits_for_a_person_gives_its_slot_away_and_gets_one_again(harness: Harness) -> None:  # SC-10
    await harness.keep(a_robot(config=ONE))
    async with harness.scheduler():
        await harness.trigger("t1")
        await harness.slots(1)
        await harness.started("t1")
        await harness.trigger("t2")
        await harness.parked("t1")
        assert await harness.grants(2) == [("t1", 0), ("t2", 0)]
        read = await harness.until("parked", "t1")
        assert read.message.startswith("it waits for a person's answer")
        await harness.resumable("t1")
        await harness.until("queued", "t1")
        await harness.finished("t2")
        assert await harness.grants(3) == [("t1", 0), ("t2", 0), ("t1", 1)]
        await harness.started("t1", grant=1)
        await harness.until("running", "t1")
        await harness.finished("t1")
        await harness.until("done", "t1")
    requests = await stored(harness.nats_url, catalog.EXECUTION_REQUESTED)
    assert len({request.id for request in requests}) == len(requests) == 3


async def test_a_grant_survives_a_dispatcher_that_is_killed(harness: Harness) -> None:
    first = await harness.start()
    await harness.trigger("t1")
    await harness.slots(1)
    await harness.parked("t1")
    await harness.until("parked", "t1")
    await crash(first.service)
    async with harness.scheduler():
        await harness.resumable("t1")
        assert await harness.grants(2) == [("t1", 0), ("t1", 1)]
    async with harness.scheduler(republish_after=0.5):
        sent = await harness.requests.received()
        await harness.gateway.bus.jetstream.purge_stream("EXECUTIONS")
        while len({(each.headers or {})["Nats-Msg-Id"] for each in sent}) < 3:  # no executor has started it
            sent = await harness.requests.received(len(sent) + 1)
        await harness.started("t1", grant=1)
        await harness.until("running", "t1")
    assert len({(each.headers or {})["ce-id"] for each in sent}) == 2


async def test_an_unpublished_cancellation_is_published_by_the_successor(harness: Harness) -> None:
    await harness.keep(a_robot(config=ONE))
    first = await harness.start()
    await harness.trigger("t0")
    await harness.slots(1)
    await harness.trigger("t1")
    await harness.admitted(2)
    publish, stuck = first.service.bus.jetstream.publish, asyncio.Event()

    async def held(subject: str, *args: object, **given: object) -> object:
        if subject.startswith(catalog.TRIGGER_REJECTED.type):
            stuck.set()
            await asyncio.Event().wait()
        return await publish(subject, *args, **given)

    first.service.bus.jetstream.publish = held
    asking = asyncio.create_task(harness.withdraw())
    await stuck.wait()
    await crash(first.service)
    asking.cancel()
    async with harness.scheduler():
        assert await harness.rejected(1) == ["t1"]
