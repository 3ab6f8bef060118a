"""Permissions of services: each may do what the catalog gives it, and the server refuses everything else (F22)."""

from collections.abc import Awaitable, Callable, Iterable
from datetime import timedelta
from typing import Any

import pytest
from nats.aio.msg import Msg
from structlog.testing import capture_logs

from executor.adapters.team_files import TeamFiles
from rota_common.bus.barrier import barrier
from rota_common.bus.connection import Bus
from rota_common.bus.robots import Robots
from rota_common.bus.stream_usage import read_usage, waiting_triggers
from rota_common.bus.subject_log import SubjectLog
from rota_common.clock import now
from rota_common.nats_admin.permissions import ANSWER_PARTS
from rota_common.stores.attachments import Attachments
from rota_common.stores.blobs import Blobs, Owner
from rota_common.testing.patience import PATIENCE_S
from rota_contracts.catalog import CHANNELS, QUESTIONS, SERVICES, dead_subject
from rota_contracts.messages.attachment import ReserveReply
from rota_contracts.messages.text import INLINE_LIMIT
from rota_contracts.streams import BUCKETS, STREAMS, consumers
from tests.integration.isolation.harness import IsolatedNats
from trigger_gateway.adapters.nats_definitions import NatsDefinitions
from trigger_gateway.http.stream import shown_channels

pytestmark = pytest.mark.integration

BURIED = {consumer.filter_subject for consumer in consumers()}
"""The gateway may publish these too: an administrator redrives them from the dead letters."""

ALSO_ALLOWED = {
    "trigger-gateway": {"$KV.robots.acme.robot", "$O.attachments.C.x"},
    "executor": {"$O.outputs.C.x", "$O.attachments.C.x"},
}


def may_publish(service: str, name: str) -> bool:
    channel = CHANNELS[name]
    return service in channel.producers or (service == "trigger-gateway" and channel.pattern in BURIED)


async def refusals(connection: Bus, subjects: Iterable[str], send: Callable[[str], Awaitable[object]]) -> list[str]:
    """The errors that the server returned while `send` was called with each subject."""
    with capture_logs() as logs:
        for subject in subjects:
            await send(subject)
        await barrier(connection.client)
    return [line["error"] for line in logs if line["log_level"] == "warning"]


def unrefused(subjects: Iterable[str], errors: list[str]) -> list[str]:
    """The subjects that no error names; the client shows errors in lower case."""
    return [subject for subject in subjects if not any(f'"{subject.lower()}"' in error for error in errors)]


async def test_a_service_publishes_what_it_produces(bus: IsolatedNats) -> None:
    for service in SERVICES:
        connection = await bus.service(service)
        produced = {one.subject("acme", "robot"): one for one in CHANNELS.values() if service in one.producers}
        for subject, channel in produced.items():
            if channel.stream is not None:
                stored = await connection.jetstream.publish(subject, b"", stream=channel.stream)
                assert stored.stream == channel.stream, (service, subject)
        plain = [subject for subject, channel in produced.items() if channel.stream is None]
        assert await refusals(connection, plain, connection.client.publish) == [], service


async def test_whatever_else_a_service_publishes_is_refused_and_logged(bus: IsolatedNats) -> None:
    before, allowed_by_mistake = await bus.stored(), dict[str, list[str]]()
    for service in SERVICES:
        connection = await bus.service(service)
        others = [one.subject("acme", "robot") for name, one in CHANNELS.items() if not may_publish(service, name)]
        others += [one.subject for one in QUESTIONS.values() if service not in one.asked_by]
        others += ["$KV.robots.acme.robot", "$O.outputs.C.x", "$O.attachments.C.x", "_INBOX_executor.x", "$SYS.REQ.X"]
        forbidden = [subject for subject in others if subject not in ALSO_ALLOWED.get(service, set())]
        errors = await refusals(connection, forbidden, connection.client.publish)
        assert len(errors) == len(forbidden) - len(unrefused(forbidden, errors)), service
        allowed_by_mistake[service] = unrefused(forbidden, errors)
    assert allowed_by_mistake == {service: [] for service in SERVICES}
    assert await bus.stored() == before


async def test_no_service_can_subscribe_to_more_than_it_consumes(bus: IsolatedNats) -> None:
    allowed_by_mistake = dict[str, list[str]]()
    for service in SERVICES:
        connection = await bus.service(service)
        patterns = [">", "rota.>", "_INBOX.>", "$JS.>", "$KV.>", *(one.subject for one in QUESTIONS.values())]
        own = f"rota.v1.rpc.{service.replace('-', '_')}."
        forbidden = [pattern for pattern in patterns if not pattern.startswith(own)]
        forbidden += [f"_INBOX_{other}.>" for other in SERVICES if other != service]
        errors = await refusals(connection, forbidden, connection.client.subscribe)
        assert len(errors) == len(forbidden) - len(unrefused(forbidden, errors)), service
        allowed_by_mistake[service] = unrefused(forbidden, errors)
    assert allowed_by_mistake == {service: [] for service in SERVICES}


async def test_every_question_is_asked_and_answered_in_as_many_parts_as_there_may_be(bus: IsolatedNats) -> None:
    async def answer(message: Msg) -> None:
        for _ in range(ANSWER_PARTS):
            await message.respond(message.subject.encode())

    connections = {service: await bus.service(service) for service in SERVICES}
    for question in QUESTIONS.values():
        responder = connections[question.answered_by]
        await responder.client.subscribe(question.subject, question.answered_by, cb=answer)
    for connection in connections.values():
        await barrier(connection.client)
    for question in QUESTIONS.values():
        for service in sorted(question.asked_by):
            replies = await connections[service].client.subscribe(inbox := connections[service].client.new_inbox())
            await connections[service].client.publish(question.subject, reply=inbox)
            for _ in range(ANSWER_PARTS):
                reply = await replies.next_msg(timeout=PATIENCE_S)
                assert reply.data.decode() == question.subject, service
            await replies.unsubscribe()


async def test_a_service_takes_from_its_own_consumers_and_no_other_service_does(bus: IsolatedNats) -> None:
    connections = {service: await bus.service(service) for service in SERVICES}
    channels = {channel.pattern: channel for channel in CHANNELS.values()}
    for consumer in consumers():
        own, channel = connections[consumer.service], channels[consumer.filter_subject]
        producer = connections[sorted(channel.producers)[0]]
        await producer.jetstream.publish(channel.subject("acme", "robot"), b"x", stream=channel.stream)
        source = await own.jetstream.pull_subscribe_bind(durable=consumer.durable, stream=consumer.stream)
        (message,) = await source.fetch(1, timeout=PATIENCE_S)
        await own.jetstream.publish(dead_subject(message.subject), message.data, stream="DEAD")
        await message.ack_sync()
        info = await own.jetstream.consumer_info(consumer.stream, consumer.durable)
        assert info.num_ack_pending == 0, consumer.durable
        other = connections[next(name for name in SERVICES if name != consumer.service)]
        of = f"{consumer.stream}.{consumer.durable}"
        forbidden = [f"$JS.API.CONSUMER.MSG.NEXT.{of}", f"$JS.API.CONSUMER.INFO.{of}", f"$JS.ACK.{of}.1.1.1.1.0"]
        errors = await refusals(other, forbidden, other.client.publish)
        assert (len(errors), unrefused(forbidden, errors)) == (3, []), consumer.durable


async def test_no_service_makes_a_stream_or_a_consumer_of_facts(bus: IsolatedNats) -> None:
    # A consumer that pushes could publish for it, to any subject.
    verbs = ["STREAM.CREATE.X", "STREAM.LIST", "STREAM.NAMES"]
    for name in [stream.name for stream in STREAMS] + ["OBJ_outputs", "OBJ_attachments"]:
        verbs += [f"STREAM.UPDATE.{name}", f"STREAM.DELETE.{name}", f"CONSUMER.CREATE.{name}"]
        verbs += [f"CONSUMER.CREATE.{name}.x", f"CONSUMER.DURABLE.CREATE.{name}.x", f"CONSUMER.LIST.{name}"]
    forbidden = [f"$JS.API.{verb}" for verb in verbs]
    for service in SERVICES:
        connection = await bus.service(service)
        errors = await refusals(connection, forbidden, connection.client.publish)
        assert (len(errors), unrefused(forbidden, errors)) == (len(forbidden), []), service


async def test_the_gateway_subscribes_to_all_that_it_shows(bus: IsolatedNats) -> None:
    gateway = await bus.service("trigger-gateway")
    shown = [channel.subject("acme", "*") for channel in shown_channels()]
    assert await refusals(gateway, shown, gateway.client.subscribe) == []


async def test_robots_and_outputs_go_through_their_buckets(bus: IsolatedNats) -> None:
    gateway, executor = await bus.service("trigger-gateway"), await bus.service("executor")
    await (await gateway.jetstream.key_value("robots")).put("acme.robot", b"{}")
    for service in ("scheduler", "executor", "delivery-center", "learner", "memory"):
        with pytest.raises(ValueError, match="Robot"):  # it was read, and is no robot
            await Robots(await bus.service(service)).find("acme", "robot")
    for service in ("scheduler", "executor", "delivery-center", "memory"):
        definitions = Robots(await bus.service(service)).follow(seconds=0)
        assert [definition async for definition in definitions] == [b"{}", None], service
    await NatsDefinitions(gateway).remove_team("acme")
    assert await Robots(gateway).find("acme", "robot") is None
    kept = await Blobs(executor).keep("x" * (INLINE_LIMIT + 1), owner=Owner("acme", "e1"))
    for service in ("validator", "delivery-center"):
        assert len(await Blobs(await bus.service(service)).read(kept)) == INLINE_LIMIT + 1
    assert await Blobs(executor).free_strays(before=now() + timedelta(days=1), is_kept=_lost) == 1
    assert await Blobs(executor).empty()
    files = TeamFiles(attachments=Attachments(executor), ask=_room_for_all, clock=now)
    made = await files.keep("acme", "a" * 32, "chart.png", "image/png", b"a chart")
    for service in ("trigger-gateway", "delivery-center", "executor"):  # EX-92
        assert await Attachments(await bus.service(service)).content(made) == b"a chart"


async def _lost(_: Owner) -> bool:
    return False


async def _room_for_all(*_: Any, **__: Any) -> Any:
    return ReserveReply()


async def test_gateway_and_scheduler_measure_the_bus_and_the_scheduler_finds_its_requests(bus: IsolatedNats) -> None:
    gateway, scheduler = await bus.service("trigger-gateway"), await bus.service("scheduler")
    for measuring in (gateway, scheduler):
        usage = await read_usage(measuring.jetstream)
        assert {each.stream for each in usage} == {each.name for each in STREAMS} | {each.stream for each in BUCKETS}
    await gateway.jetstream.publish("rota.v1.trigger.received.acme.robot", b"", stream="TRIGGERS")
    assert [await waiting_triggers(each.jetstream) for each in (gateway, scheduler)] == [{"acme": 1}] * 2
    subject = "rota.v1.execution.requested.acme.robot"
    await scheduler.jetstream.publish(subject, b"", stream="EXECUTIONS", headers={"ce-id": "e1"})
    log, durable = SubjectLog(scheduler, "EXECUTIONS"), CHANNELS["execution.requested"].durable("executor")
    assert [await log.waits(subject, each, durable=durable) for each in ("e1", "e2")] == [True, False]
