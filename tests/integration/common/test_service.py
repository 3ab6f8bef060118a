"""The life of a service on a real server: waiting, ready, through an outage, stopped."""

import asyncio
from pathlib import Path

import pytest
from nats.errors import FlushTimeoutError

from rota_common import topology
from rota_common.bus.barrier import barrier
from rota_common.bus.connection import Bus
from rota_common.bus.router import Router
from rota_common.runtime.embedded_servers import EmbeddedServer, nats_server
from rota_common.runtime.service import Service
from rota_common.testing.patience import PATIENCE_S
from rota_contracts.catalog import READ_TRIGGER
from rota_contracts.messages.execution import ReadTrigger, TriggerReply, TriggerState
from tests.integration.common.harness import CHANNEL, Seen, a_fact, publish, reader, reading, running, settled


async def ready(service: Service) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while await service.problems():
            await asyncio.sleep(0.05)


async def test_a_service_waits_for_its_server_then_for_its_streams(tmp_path: Path) -> None:
    server = nats_server(tmp_path / "nats")
    seen = Seen()
    service = reader(server.url, seen)
    await service.start()
    await asyncio.sleep(0)  # now it has begun
    assert await service.problems() == {"nats": "not connected", "start": "connecting to NATS"}
    await server.start()
    async with asyncio.timeout(PATIENCE_S):
        while "nats" in await service.problems():
            await asyncio.sleep(0.05)
        while "consumers" not in (await service.problems())["start"]:
            await asyncio.sleep(0.05)
    await topology.apply_to(server.url)
    await service.started.wait()
    await ready(service)
    await publish(server.url, "e1")
    await seen.times(1)
    await settled(server.url)
    await service.stop(1)
    await server.kill()


async def test_a_barrier_that_was_given_up_leaves_the_connection_as_it_is(nats: EmbeddedServer) -> None:
    bus = Bus(nats.url, name="executor")
    await bus.connect()
    try:
        given_up = asyncio.create_task(barrier(bus.client))
        await asyncio.sleep(0)  # its PING is on its way
        given_up.cancel()
        await asyncio.gather(given_up, return_exceptions=True)
        await barrier(bus.client)
        nats.pause()
        try:
            with pytest.raises(FlushTimeoutError):
                await barrier(bus.client, timeout=1)
        finally:
            nats.resume()
        await barrier(bus.client)  # by now the late PONG has come, too
        assert bus.client.stats["reconnects"] == 0
    finally:
        await bus.stop()


async def test_a_service_goes_on_after_its_server_was_killed(nats: EmbeddedServer) -> None:
    seen = Seen()
    executor = Service("executor", nats.url)
    async with reading(nats.url, seen) as service, running(executor):
        await executor.publish(CHANNEL, a_fact("e1"), caused_by="e1")
        await seen.times(1)
        await settled(nats.url)
        await nats.kill()
        async with asyncio.timeout(PATIENCE_S):
            while "nats" not in await service.problems():
                await asyncio.sleep(0.05)
        await nats.start()
        await asyncio.gather(ready(service), ready(executor))
        await executor.publish(CHANNEL, a_fact("e2"), caused_by="e2")
        await seen.times(2)
    assert "e2" in seen.ids  # a killed server may have forgotten that the first was acknowledged


async def test_a_message_being_handled_survives_a_restart_of_the_server(nats: EmbeddedServer) -> None:
    reached, go = asyncio.Event(), asyncio.Event()

    async def wait(_: object) -> None:
        reached.set()
        await go.wait()

    seen = Seen(wait)
    async with reading(nats.url, seen) as service:
        await publish(nats.url, "e1")
        await reached.wait()
        await nats.kill()
        await nats.start()
        await ready(service)
        go.set()
        await publish(nats.url, "e2")
        await settled(nats.url, timeout=60)  # what the server forgot comes again after the ack wait
    assert set(seen.ids) == {"e1", "e2"}  # perhaps handled twice, never lost: handlers are idempotent


async def test_questions_are_answered_again_after_a_restart(nats: EmbeddedServer) -> None:
    service, asker = reader(nats.url, Seen()), Service("trigger-gateway", nats.url)

    async def answer(question: ReadTrigger) -> TriggerReply:
        return TriggerReply(trigger_id=question.trigger_id, state=TriggerState.QUEUED)

    router = Router()
    router.answer(READ_TRIGGER, answer)
    service.include(router)
    async with running(service, asker):
        await nats.kill()
        await nats.start()
        await asyncio.gather(ready(service), ready(asker))
        read = await asker.ask(READ_TRIGGER, ReadTrigger(team_id="acme", trigger_id="t1"))
    assert read.trigger_id == "t1"


async def test_a_hook_is_tried_until_it_works_before_any_message(nats: EmbeddedServer) -> None:
    seen, failures = Seen(), [OSError("the disk is full"), OSError("still")]

    async def prepare() -> None:
        assert seen.ids == []
        if failures:
            raise failures.pop()

    await publish(nats.url, "e1")
    service = reader(nats.url, seen)
    service.on_start(prepare)
    async with running(service):
        await seen.times(1)
    assert failures == []


async def test_a_loop_that_fails_is_started_again(nats: EmbeddedServer) -> None:
    runs, enough = [], asyncio.Event()

    async def loop() -> None:
        runs.append(1)
        if len(runs) < 3:
            raise ValueError("a bug")
        enough.set()
        await asyncio.Event().wait()

    service = Service("executor", nats.url)
    service.background("sweep", loop)
    async with running(service):
        await asyncio.wait_for(enough.wait(), PATIENCE_S)
    assert len(runs) == 3


async def test_a_service_is_ready_when_all_its_parts_are(nats: EmbeddedServer) -> None:
    answers: list[Exception | None] = [None]

    async def ping() -> None:
        if answers[0] is not None:
            raise answers[0]

    service = reader(nats.url, Seen())
    service.probe("mongo", ping)
    async with running(service):
        assert await service.problems() == {}
        answers[0] = ConnectionError("refused")
        assert await service.problems() == {"mongo": "ConnectionError"}


# SC-18
@pytest.mark.parametrize("started", [True, False])
async def test_a_service_can_be_stopped_at_any_time(tmp_path: Path, started: bool) -> None:
    service = reader("nats://127.0.0.1:9", Seen())
    if started:
        await service.start()
    await asyncio.wait_for(service.stop(1), 5)
