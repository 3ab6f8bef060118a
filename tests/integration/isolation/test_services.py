"""Each service may do what the catalog gives it, and the server refuses it everything else (F22)."""

import pytest
from nats.aio.msg import Msg
from structlog.testing import capture_logs

from rota_common.bus.connection import barrier
from rota_common.bus.robots import Robots
from rota_common.stores.blobs import Blobs
from rota_common.testing.patience import PATIENCE_S
from rota_contracts.catalog import CHANNELS, QUESTIONS, SERVICES, dead_subject
from rota_contracts.messages.text import INLINE_LIMIT
from rota_contracts.streams import STREAMS, Consumer, consumers
from tests.integration.isolation.kit import IsolatedNats
from trigger_gateway.http.stream import shown_channels

pytestmark = pytest.mark.integration

BURIED = {consumer.filter_subject for consumer in consumers()}
"""The gateway may publish these too: it sends them back from the dead letters, on an administrator's word."""


def may_publish(service: str, name: str) -> bool:
    channel = CHANNELS[name]
    return service in channel.producers or (service == "trigger-gateway" and channel.pattern in BURIED)


@pytest.mark.parametrize("service", SERVICES)
async def test_a_service_publishes_what_it_produces(bus: IsolatedNats, service: str) -> None:
    its, produced = await bus.service(service), [one for one in CHANNELS.values() if service in one.producers]
    with capture_logs() as logs:
        for channel in produced:
            if channel.stream is None:
                await its.client.publish(channel.subject("acme", "robot"), b"")
            else:
                stored = await its.jetstream.publish(channel.subject("acme", "robot"), b"", stream=channel.stream)
                assert stored.stream == channel.stream
        await barrier(its.client)
    assert [line for line in logs if line["log_level"] == "warning"] == []


@pytest.mark.parametrize("service", SERVICES)
async def test_whatever_else_a_service_publishes_is_refused_and_said_so(bus: IsolatedNats, service: str) -> None:
    its, before = await bus.service(service), await bus.stored()
    others = [one.subject("acme", "robot") for name, one in CHANNELS.items() if not may_publish(service, name)]
    others += [one.subject for one in QUESTIONS.values() if service not in one.asked_by]
    others += ["$KV.robots.acme.robot", "$O.outputs.C.x", "$O.attachments.C.x", "_INBOX_executor.x", "$SYS.REQ.X"]
    allowed = {
        "trigger-gateway": {"$KV.robots.acme.robot", "$O.attachments.C.x"},
        "executor": {"$O.outputs.C.x"},
    }.get(service, set())
    refused = [subject for subject in others if subject not in allowed]
    with capture_logs() as logs:
        for subject in refused:
            await its.client.publish(subject, b"forged")
        await barrier(its.client)
    said = [line["error"] for line in logs if line["log_level"] == "warning"]
    # The client tells what the server said in lower case.
    assert [subject for subject in refused if not any(f'"{subject.lower()}"' in error for error in said)] == []
    assert len(said) == len(refused)
    assert await bus.stored() == before


@pytest.mark.parametrize("service", SERVICES)
async def test_no_service_can_hear_what_it_does_not_listen_to(bus: IsolatedNats, service: str) -> None:
    its = await bus.service(service)
    patterns = [">", "rota.>", "_INBOX.>", "$JS.>", "$KV.>", *(one.subject for one in QUESTIONS.values())]
    wanted = [pattern for pattern in patterns if not pattern.startswith(f"rota.v1.rpc.{service.replace('-', '_')}.")]
    wanted += [f"_INBOX_{other}.>" for other in SERVICES if other != service]
    with capture_logs() as logs:
        for pattern in wanted:
            await its.client.subscribe(pattern)
        await barrier(its.client)
    assert len([line for line in logs if line["log_level"] == "warning"]) == len(wanted)


@pytest.mark.parametrize("question", QUESTIONS)
async def test_a_question_is_asked_and_answered(bus: IsolatedNats, question: str) -> None:
    asked = QUESTIONS[question]
    answering = await bus.service(asked.answered_by)

    async def answer(message: Msg) -> None:
        await message.respond(b"yes")

    await answering.client.subscribe(asked.subject, asked.answered_by, cb=answer)
    await barrier(answering.client)
    for service in sorted(asked.asked_by):
        its = await bus.service(service)
        assert (await its.client.request(asked.subject, b"", timeout=PATIENCE_S)).data == b"yes"


@pytest.mark.parametrize("consumer", consumers(), ids=lambda one: one.durable)
async def test_a_service_takes_from_its_own_consumer_and_no_other_service_does(
    bus: IsolatedNats, consumer: Consumer
) -> None:
    its = await bus.service(consumer.service)
    (channel,) = [one for one in CHANNELS.values() if one.pattern == consumer.filter_subject]
    producer = await bus.service(sorted(channel.producers)[0])
    await producer.jetstream.publish(channel.subject("acme", "robot"), b"x", stream=channel.stream)
    source = await its.jetstream.pull_subscribe_bind(durable=consumer.durable, stream=consumer.stream)
    (message,) = await source.fetch(1, timeout=PATIENCE_S)
    await its.jetstream.publish(dead_subject(message.subject), message.data, stream="DEAD")
    await message.ack_sync()
    assert (await its.jetstream.consumer_info(consumer.stream, consumer.durable)).num_ack_pending == 0
    other = await bus.service(next(name for name in SERVICES if name != consumer.service))
    with capture_logs() as logs:
        of = f"{consumer.stream}.{consumer.durable}"
        for subject in (f"$JS.API.CONSUMER.MSG.NEXT.{of}", f"$JS.API.CONSUMER.INFO.{of}", f"$JS.ACK.{of}.1.1.1.1.0"):
            await other.client.publish(subject, b"", reply="_INBOX_nobody")
        await barrier(other.client)
    assert len([line for line in logs if line["log_level"] == "warning"]) == 3


@pytest.mark.parametrize("service", SERVICES)
async def test_no_service_makes_a_stream_or_a_consumer_of_facts(bus: IsolatedNats, service: str) -> None:
    # A consumer that pushes could publish for it, to any subject.
    its = await bus.service(service)
    names = [stream.name for stream in STREAMS] + ["OBJ_outputs", "OBJ_attachments"]
    verbs = ["STREAM.CREATE.X", "STREAM.LIST", "STREAM.NAMES"]
    for name in names:
        verbs += [f"STREAM.{verb}.{name}" for verb in ("UPDATE", "DELETE")]
        verbs += [f"CONSUMER.{verb}.{name}" for verb in ("CREATE", "CREATE.x", "DURABLE.CREATE.x", "LIST")]
        verbs = [verb.replace(f".x.{name}", f".{name}.x") for verb in verbs]
    with capture_logs() as logs:
        for verb in verbs:
            await its.client.publish(f"$JS.API.{verb}", b"", reply="_INBOX_nobody")
        await barrier(its.client)
    assert len([line for line in logs if line["log_level"] == "warning"]) == len(verbs)


async def test_the_gateway_hears_all_that_it_shows(bus: IsolatedNats) -> None:
    gateway = await bus.service("trigger-gateway")
    with capture_logs() as logs:
        for channel in shown_channels():
            await gateway.client.subscribe(channel.subject("acme", "*"))
        await barrier(gateway.client)
    assert [line for line in logs if line["log_level"] == "warning"] == []


async def test_robots_and_outputs_go_through_their_buckets(bus: IsolatedNats) -> None:
    gateway, executor = await bus.service("trigger-gateway"), await bus.service("executor")
    await (await gateway.jetstream.key_value("robots")).put("acme.robot", b"{}")
    for service in ("scheduler", "executor", "delivery-center", "learner", "memory"):
        with pytest.raises(ValueError, match="Robot"):  # it was read, and is no robot
            await Robots(await bus.service(service)).find("acme", "robot")
    definitions = Robots(await bus.service("scheduler")).follow(seconds=0)
    assert [definition async for definition in definitions] == [b"{}", None]
    kept = await Blobs(executor).keep("x" * (INLINE_LIMIT + 1))
    for service in ("validator", "delivery-center"):
        assert len(await Blobs(await bus.service(service)).read(kept)) == INLINE_LIMIT + 1
