"""Feed clients read with plain nats-py and FastStream (F8, F22, DC-10)."""

import asyncio

import pytest
from faststream import AckPolicy
from faststream.nats import JStream, NatsBroker, NatsMessage, PullSub
from faststream.nats.security import NatsNKey
from nats.aio.msg import Msg

from rota_common.bus.barrier import barrier
from rota_common.testing.fixtures import Run
from rota_common.testing.patience import PATIENCE_S
from rota_contracts.catalog import FEED
from rota_contracts.feed import API_PREFIX, feed_durable, feed_subject, team_subjects
from tests.integration.isolation.harness import Connection, IsolatedNats

pytestmark = pytest.mark.integration


async def fetched(reader: Connection, team: str, name: str, count: int) -> list[Msg]:
    jetstream = reader.client.jetstream(prefix=API_PREFIX)
    source = await jetstream.pull_subscribe_bind(durable=feed_durable(team, name), stream=FEED)
    return await source.fetch(count, timeout=PATIENCE_S)


async def test_a_team_receives_its_own_public_facts_and_no_others(bus: IsolatedNats) -> None:
    reader, received = await bus.member("acme", "crm"), []

    async def receive(message: Msg) -> None:
        received.append((message.subject, message.data))

    for subject in team_subjects("acme"):
        await reader.client.subscribe(subject, cb=receive)
    await barrier(reader.client)
    await bus.deliver("rival", "acme")
    executor = await bus.service("executor")
    await executor.client.publish("rota.v1.activity.observed.rival.robot", b"")
    await executor.client.publish("rota.v1.activity.observed.acme.robot", b"")
    await barrier(executor.client)
    await barrier(reader.client)
    assert received == [
        ("rota.v1.delivery.completed.acme.robot", b"acme"),
        ("rota.v1.activity.observed.acme.robot", b""),
    ]
    assert reader.errors == []


async def test_a_feed_client_reads_the_deliveries_of_its_team_in_order(bus: IsolatedNats) -> None:
    await bus.deliver("acme", "rival", "acme", robot="first")
    await bus.deliver("acme", robot="second")
    reader = await bus.member("acme", "crm")
    messages = await fetched(reader, "acme", "crm", 10)
    assert [(message.data, message.subject.rpartition(".")[2]) for message in messages] == [
        *((b"acme", "first"), (b"acme", "first")),
        (b"acme", "second"),
    ]
    for message in messages:
        await message.ack_sync()
    jetstream = reader.client.jetstream(prefix=API_PREFIX)
    info = await jetstream.consumer_info(FEED, feed_durable("acme", "crm"))
    assert (info.num_ack_pending, info.num_pending) == (0, 0)
    assert reader.errors == []


async def test_an_unacknowledged_message_is_redelivered_after_a_restart_of_the_server(
    bus: IsolatedNats, beside: Run
) -> None:
    await bus.deliver("acme", "acme")
    reader = await bus.member("acme", "crm")
    first, second = await fetched(reader, "acme", "crm", 2)
    await first.ack_sync()
    for restart in (bus.server.stop, bus.server.start):
        await asyncio.to_thread(lambda work=restart: beside(work()))
    while not reader.client.is_connected:
        await asyncio.sleep(0.01)
    await second.nak()
    (again,) = await fetched(reader, "acme", "crm", 2)
    assert again.metadata.sequence.stream == second.metadata.sequence.stream
    assert again.metadata.num_delivered == 2


async def test_two_feed_clients_of_a_team_each_read_everything(bus: IsolatedNats) -> None:
    await bus.deliver("acme", "acme")
    for name in ("crm", "archive"):
        reader = await bus.member("acme", name)
        assert len(await fetched(reader, "acme", name, 2)) == 2


async def test_faststream_reads_the_durable_and_goes_on_after_a_restart(bus: IsolatedNats) -> None:
    got: asyncio.Queue[tuple[str, bytes]] = asyncio.Queue()

    def broker() -> NatsBroker:
        made = NatsBroker(
            bus.url,
            security=NatsNKey.from_file(bus.key("acme", "crm")),
            js_options={"prefix": API_PREFIX},
            logger=None,
        )

        @made.subscriber(
            feed_subject("acme"),
            stream=JStream(FEED, declare=False),
            durable=feed_durable("acme", "crm"),
            pull_sub=PullSub(batch_size=1, timeout=0.3),
            ack_policy=AckPolicy.MANUAL,
        )
        async def on_delivery(body: str, message: NatsMessage) -> None:
            await message.ack()
            await got.put((message.raw_message.subject, message.body))

        return made

    for _ in range(2):
        await bus.deliver("rival", "acme")
        async with asyncio.timeout(PATIENCE_S):
            async with broker() as reading:
                await reading.start()
                assert await got.get() == ("rota.v1.delivery.completed.acme.robot", b"acme")
    assert got.empty()


async def test_a_team_responds_to_its_own_processes(bus: IsolatedNats) -> None:
    program, executor = await bus.member("acme", "crm"), await bus.service("executor")

    async def answer(message: Msg) -> None:
        await message.respond(b"hello " + message.data)

    await program.client.subscribe("rota.v1.process.acme.crm.greet", "q", cb=answer)
    await barrier(program.client)
    reply = await executor.client.request("rota.v1.process.acme.crm.greet", b"John", timeout=PATIENCE_S)
    assert reply.data == b"hello John"
    assert program.errors == []
