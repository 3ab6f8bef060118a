"""A team's program reads its feed with clients as they come: nats-py and FastStream (F8, F22, DC-10)."""

import asyncio

import pytest
from faststream import AckPolicy
from faststream.nats import JStream, NatsBroker, NatsMessage, PullSub
from faststream.nats.security import NatsNKey
from nats.aio.msg import Msg

from rota_common.bus.connection import barrier
from rota_common.testing.patience import PATIENCE_S
from rota_contracts.catalog import FEED
from rota_contracts.feed import API_PREFIX, feed_durable, feed_subject, team_subjects
from tests.integration.isolation.kit import IsolatedNats, Known

pytestmark = pytest.mark.integration


async def fetched(reader: Known, team: str, name: str, count: int) -> list[Msg]:
    jetstream = reader.client.jetstream(prefix=API_PREFIX)
    source = await jetstream.pull_subscribe_bind(durable=feed_durable(team, name), stream=FEED)
    return await source.fetch(count, timeout=PATIENCE_S)


async def test_a_team_hears_its_public_facts_as_they_pass_and_no_others(bus: IsolatedNats) -> None:
    reader, heard = await bus.member("acme", "crm"), []

    async def hear(message: Msg) -> None:
        heard.append((message.subject, message.data))

    for subject in team_subjects("acme"):
        await reader.client.subscribe(subject, cb=hear)
    await barrier(reader.client)
    await bus.deliver("rival", "acme")
    executor = await bus.service("executor")
    await executor.client.publish("rota.v1.activity.observed.rival.robot", b"")
    await executor.client.publish("rota.v1.activity.observed.acme.robot", b"")
    await barrier(executor.client)
    await barrier(reader.client)
    assert heard == [
        ("rota.v1.delivery.completed.acme.robot", b"acme"),
        ("rota.v1.activity.observed.acme.robot", b""),
    ]
    assert reader.told == []


async def test_a_durable_gives_the_team_its_deliveries_in_order(bus: IsolatedNats) -> None:
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
    assert reader.told == []


async def test_what_was_not_acknowledged_comes_again_after_the_connection_was_lost(bus: IsolatedNats) -> None:
    await bus.deliver("acme", "acme")
    reader = await bus.member("acme", "crm")
    first, second = await fetched(reader, "acme", "crm", 2)
    await first.ack_sync()
    await bus.server.stop()
    await bus.server.start()
    while not reader.client.is_connected:
        await asyncio.sleep(0.01)
    await second.nak()
    (again,) = await fetched(reader, "acme", "crm", 2)
    assert again.metadata.sequence.stream == second.metadata.sequence.stream
    assert again.metadata.num_delivered == 2


async def test_two_subscribers_of_a_team_each_read_everything(bus: IsolatedNats) -> None:
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


async def test_a_team_answers_its_own_processes(bus: IsolatedNats) -> None:
    program, executor = await bus.member("acme", "crm"), await bus.service("executor")

    async def answer(message: Msg) -> None:
        await message.respond(b"hello " + message.data)

    await program.client.subscribe("rota.v1.process.acme.crm.greet", "q", cb=answer)
    await barrier(program.client)
    reply = await executor.client.request("rota.v1.process.acme.crm.greet", b"John", timeout=PATIENCE_S)
    assert reply.data == b"hello John"
    assert program.told == []
