"""Messages of a durable consumer on a real server: handled, handed back, buried, sent again."""

import asyncio
import dataclasses
from typing import Any

import pytest
import structlog

from rota_common.bus import dead_letters
from rota_common.bus.gate import Gate
from rota_common.bus.handling_marks import MARKED_FROM, MAX_ENDED
from rota_common.errors import Permanent, Transient
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.runtime.service import Service
from rota_common.testing.bus import short_ack_wait, stored
from rota_common.testing.crash import crash
from rota_common.testing.patience import PATIENCE_S
from rota_common.testing.samples import MEMBER, TEAM
from rota_contracts.envelope import MSG_ID
from tests.integration.common.harness import (
    CHANNEL,
    DURABLE,
    Seen,
    Started,
    a_fact,
    jetstream,
    pending,
    publish,
    reader,
    reading,
    running,
    settled,
)


def failing(*errors: Exception | None) -> Any:
    """Raises these errors one after the other, then nothing more."""
    left = list(errors)

    async def fail(_: Started) -> None:
        if left and (error := left.pop(0)) is not None:
            raise error

    return fail


async def letters(url: str) -> list[dead_letters.DeadLetter]:
    async with jetstream(url) as js:
        return await dead_letters.listed(js)


async def test_a_message_is_handled_once_and_acknowledged(nats: EmbeddedServer) -> None:
    seen = Seen()
    async with reading(nats.url, seen):
        await publish(nats.url, "e1", "e2")
        await seen.times(2)
        await settled(nats.url)
    assert seen.ids == ["e1", "e2"]


async def test_a_fact_published_twice_is_one_message(nats: EmbeddedServer) -> None:
    seen = Seen()
    await publish(nats.url, "e1", "e1", "e2")
    async with reading(nats.url, seen):
        await seen.times(2)
        await settled(nats.url)
    assert seen.ids == ["e1", "e2"]


async def test_a_transient_failure_is_redelivered_after_the_requested_delay(nats: EmbeddedServer) -> None:
    seen = Seen(failing(Transient("busy", after=0.2), Transient("busy", after=0.2)))
    async with reading(nats.url, seen):
        began = asyncio.get_running_loop().time()
        await publish(nats.url, "e1")
        await seen.times(3)
        assert asyncio.get_running_loop().time() - began >= 0.4
        await settled(nats.url)
    assert await letters(nats.url) == []


async def test_a_permanent_failure_is_buried_with_its_facts(nats: EmbeddedServer) -> None:
    seen = Seen(failing(Permanent("no such robot: Ünknown\nreally")))
    async with reading(nats.url, seen):
        await publish(nats.url, "e1", "e2")
        await seen.times(2)
        await settled(nats.url)
    (letter,) = await letters(nats.url)
    assert (letter.subject, letter.consumer) == (CHANNEL.subject(TEAM, MEMBER), DURABLE)
    assert letter.reason == "no such robot: \\xdcnknown really"
    assert "test_consuming.py:" in letter.traceback
    assert (letter.deliveries, letter.headers["ce-type"]) == (1, CHANNEL.type)
    assert a_fact("e1") == type(a_fact()).model_validate_json(letter.payload)


async def test_a_bug_is_tried_five_times_and_then_buried(nats: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rota_common.bus.failure_policy.RETRY_CAP_S", 0.05)
    seen = Seen(failing(*[KeyError("x")] * 9))
    async with reading(nats.url, seen):
        await publish(nats.url, "e1")
        await seen.times(5)
        await settled(nats.url)
    (letter,) = await letters(nats.url)
    assert (letter.reason, letter.deliveries, seen.ids) == ("KeyError: 'x'", 5, ["e1"] * 5)


async def test_an_outage_of_the_store_is_waited_out(nats: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rota_common.bus.failure_policy.RETRY_CAP_S", 0.02)
    seen = Seen(failing(*[ConnectionResetError("mongo")] * 8))
    async with reading(nats.url, seen, outages=(ConnectionResetError,)):
        await publish(nats.url, "e1")
        await seen.times(9)
        await settled(nats.url)
    assert await letters(nats.url) == []


@pytest.mark.parametrize(
    ("headers", "body", "reason"),
    [
        ({}, b"{}", "EnvelopeError: expected the CloudEvents headers"),
        ({"ce-type": "rota.v1.execution.parked"}, b"{}", "EnvelopeError: expected type rota.v1.execution.started"),
        ({"ce-type": CHANNEL.type}, b"not json", "ValidationError: 1 validation error"),
    ],
)
async def test_a_message_that_was_never_an_event_is_buried_without_a_call_of_when_buried(
    nats: EmbeddedServer, headers: dict[str, str], body: bytes, reason: str
) -> None:
    seen = Seen()
    whole = {"ce-id": "x", "ce-source": "stranger", "ce-time": "2026-03-02T09:14:07Z"} | headers if headers else {}
    async with jetstream(nats.url) as js:
        await js.publish(CHANNEL.subject(TEAM, MEMBER), body, headers=whole)
    async with reading(nats.url, seen):
        await publish(nats.url, "e1")
        await seen.times(1)
        await settled(nats.url)
    (letter,) = await letters(nats.url)
    assert letter.reason.startswith(reason)
    assert seen.ids == ["e1"]


async def test_when_buried_runs_before_a_message_is_buried(nats: EmbeddedServer) -> None:
    buried = []

    async def answer(event: Started, reason: str) -> None:
        buried.append((event.data.execution_id, reason, len(await letters(nats.url))))

    seen = Seen(failing(Permanent("refused")))
    async with reading(nats.url, seen, when_buried=answer):
        await publish(nats.url, "e1")
        await seen.times(1)
        await settled(nats.url)
    assert buried == [("e1", "refused", 0)]
    assert len(await letters(nats.url)) == 1


async def test_a_dead_letter_is_redriven_once(nats: EmbeddedServer) -> None:
    seen = Seen(failing(Permanent("refused")))
    async with reading(nats.url, seen):
        await publish(nats.url, "e1")
        await seen.times(1)
        await settled(nats.url)
        (letter,) = await letters(nats.url)
        async with jetstream(nats.url) as js:
            assert await dead_letters.find(js, letter.seq) == letter
            assert await dead_letters.redrive(js, letter.seq) == letter
            assert await dead_letters.redrive(js, letter.seq) is None
        await seen.times(2)
        await settled(nats.url)
    assert (seen.ids, await letters(nats.url)) == (["e1", "e1"], [])
    first, second = await stored(nats.url, CHANNEL)
    assert first.id == second.id  # the same fact: consumers that had it know it


async def test_a_dead_letter_that_fails_again_is_buried_again(nats: EmbeddedServer) -> None:
    seen = Seen(failing(Permanent("refused"), Permanent("refused again")))
    async with reading(nats.url, seen):
        await publish(nats.url, "e1")
        await settled_after(nats.url, seen, 1)
        async with jetstream(nats.url) as js:
            await dead_letters.redrive(js, (await letters(nats.url))[0].seq)
        await settled_after(nats.url, seen, 2)
    assert [letter.reason for letter in await letters(nats.url)] == ["refused again"]


async def settled_after(url: str, seen: Seen, count: int) -> None:
    await seen.times(count)
    await settled(url)


async def test_a_handler_longer_than_the_ack_wait_runs_once(nats: EmbeddedServer) -> None:
    async with jetstream(nats.url) as js:
        config = (await js.consumer_info(CHANNEL.stream or "", DURABLE)).config
        config.ack_wait = 1
        await js.add_consumer(CHANNEL.stream or "", config)
    done = asyncio.Event()

    async def long(_: Started) -> None:
        await asyncio.sleep(2.5)  # two and a half times the ack wait
        done.set()

    seen = Seen(long)
    service = reader(nats.url, seen)
    (worker,) = service._workers
    worker.config = dataclasses.replace(worker.config, ack_wait=1)
    async with running(service):
        await publish(nats.url, "e1")
        await done.wait()
        await settled(nats.url)
    assert seen.ids == ["e1"]


async def test_no_more_messages_are_fetched_than_there_are_slots(nats: EmbeddedServer) -> None:
    go = asyncio.Event()

    async def wait(_: Started) -> None:
        await go.wait()

    seen = Seen(wait)
    async with reading(nats.url, seen, slots=3):
        await publish(nats.url, *(f"e{number}" for number in range(8)))
        await seen.times(3)
        assert await pending(nats.url) == (5, 3)  # nothing lies in a replica that can't do it
        go.set()
        await seen.times(8)
        await settled(nats.url)


async def test_one_slow_message_holds_up_no_other(nats: EmbeddedServer) -> None:
    go = asyncio.Event()

    async def first_waits(event: Started) -> None:
        if event.data.execution_id == "e0":
            await go.wait()

    seen = Seen(first_waits)
    async with reading(nats.url, seen, slots=2):
        await publish(nats.url, *(f"e{number}" for number in range(20)))
        await seen.times(20)
        assert await pending(nats.url) == (0, 1)
        go.set()
        await settled(nats.url)


async def test_nothing_is_fetched_while_the_gate_is_shut(nats: EmbeddedServer) -> None:
    gate, seen = Gate(), Seen()
    async with reading(nats.url, seen, gate=gate):
        await publish(nats.url, "e1")
        assert (await pending(nats.url), seen.ids) == ((1, 0), [])
        gate.set()
        await seen.times(1)


async def test_a_stopping_service_finishes_its_messages_and_fetches_no_more(nats: EmbeddedServer) -> None:
    go = asyncio.Event()

    async def wait(_: Started) -> None:
        await go.wait()

    seen = Seen(wait)
    service = reader(nats.url, seen, slots=1)
    await service.start()
    await publish(nats.url, "e1", "e2")
    await seen.times(1)
    stopping = asyncio.create_task(service.stop(10))
    await asyncio.sleep(0)
    go.set()
    await stopping
    assert seen.ids == ["e1"]
    assert await pending(nats.url) == (1, 0)  # the second is left for another replica


async def test_a_service_without_time_to_stop_returns_its_messages(nats: EmbeddedServer) -> None:
    async def never(_: Started) -> None:
        await asyncio.Event().wait()

    first, second = Seen(never), Seen()
    service = reader(nats.url, first)
    await service.start()
    await publish(nats.url, "e1")
    await first.times(1)
    await service.stop(0.1)
    async with reading(nats.url, second):
        assert await second.times(1) == ["e1"]  # at once, not when the ack wait of 30 s is over


async def test_messages_that_arrive_while_a_service_stops_are_returned(nats: EmbeddedServer) -> None:
    """What the server sends before it knows of the stop is handled, handed back, or known to it as undelivered."""
    async with jetstream(nats.url) as js:
        config = (await js.consumer_info(CHANNEL.stream or "", DURABLE)).config
        config.ack_wait = 600  # what is swallowed comes too late for this test
        await js.add_consumer(CHANNEL.stream or "", config)
    first, second = Seen(), Seen()
    service = reader(nats.url, first)
    await service.start()
    await service.started.wait()
    publishing = asyncio.create_task(publish(nats.url, *(f"e{number}" for number in range(200))))
    await first.times(20)
    await service.stop(PATIENCE_S)
    await publishing
    async with reading(nats.url, second):
        await second.times(200 - len(first.ids))
        await settled(nats.url)
    assert sorted(first.ids + second.ids) == sorted(f"e{number}" for number in range(200))


async def test_what_was_requested_is_returned_when_the_gate_shuts(nats: EmbeddedServer) -> None:
    """A replica that loses its lease keeps no request at the server: the next leader gets what comes."""
    gate, first, second = Gate(), Seen(), Seen()
    gate.set()
    async with reading(nats.url, first, gate=gate), reading(nats.url, second, gate=(other := Gate())):
        await publish(nats.url, "e1")
        await first.times(1)
        gate.clear()
        other.set()
        await publish(nats.url, *(f"e{number}" for number in range(2, 40)))
        await second.times(38)
        await settled(nats.url)
    assert first.ids == ["e1"]


async def test_a_message_of_a_dead_service_is_redelivered_after_the_ack_wait(nats: EmbeddedServer) -> None:
    async with jetstream(nats.url) as js:
        config = (await js.consumer_info(CHANNEL.stream or "", DURABLE)).config
        config.ack_wait = 1
        await js.add_consumer(CHANNEL.stream or "", config)

    async def never(_: Started) -> None:
        await asyncio.Event().wait()

    first, second = Seen(never), Seen()
    service = reader(nats.url, first)
    await service.start()
    await publish(nats.url, "e1")
    await first.times(1)
    await crash(service)
    async with reading(nats.url, second):
        assert await second.times(1) == ["e1"]
        await settled(nats.url)


async def test_a_message_that_ends_its_worker_each_time_is_buried_alone(
    nats: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rota_common.bus.handling_marks.SUSPECT_WAIT_S", 0.1)
    await short_ack_wait(nats.url, "scheduler")
    deadly = asyncio.Event()

    async def killed_by_e1(event: Started) -> None:
        if event.data.execution_id == "e1":
            deadly.set()
            await asyncio.Event().wait()
        await asyncio.sleep(0.01)

    await publish(nats.url, "e1", "e2")
    for _ in range(MARKED_FROM - 1 + MAX_ENDED):
        deadly.clear()
        service = reader(nats.url, Seen(killed_by_e1))
        await service.start()
        await asyncio.wait_for(deadly.wait(), PATIENCE_S)
        await crash(service)
    seen = Seen()
    async with reading(nats.url, seen):
        await publish(nats.url, "e3")
        await seen.times(1)
        await settled(nats.url)
    (letter,) = await letters(nats.url)
    assert letter.reason == f"its worker ended {MAX_ENDED} times while it handled this message, and reached no verdict"
    assert "e1" not in seen.ids


async def test_a_worker_without_its_consumer_keeps_one_subscription(
    nats: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rota_common.bus.consuming.RECOVER_S", 0.001)
    async with reading(nats.url, Seen()) as service:
        before, pull, opened = len(service.bus.client._subs), service.bus.pull, 0

        async def counted(*given: Any, **named: Any) -> Any:
            nonlocal opened
            opened += 1
            return await pull(*given, **named)

        monkeypatch.setattr(service.bus, "pull", counted)  # to see how often it began anew
        async with jetstream(nats.url) as js:
            await js.delete_consumer(CHANNEL.stream or "", DURABLE)
        async with asyncio.timeout(PATIENCE_S):
            while opened < 20:
                await asyncio.sleep(0.01)
        assert len(service.bus.client._subs) <= before + 1


async def test_a_message_is_one_line_of_the_log(nats: EmbeddedServer) -> None:
    seen = Seen(failing(Transient("busy", after=0.01)))
    with structlog.testing.capture_logs() as lines:
        async with reading(nats.url, seen):
            await publish(nats.url, "e1")
            await seen.times(2)
            await settled(nats.url)
    later, done = (line for line in lines if line["event"] == "handled")
    assert (later["outcome"], later["reason"], later["deliveries"]) == ("later", "busy", 1)
    assert (done["outcome"], done["deliveries"]) == ("done", 2)
    for line in (later, done):
        assert (line["service"], line["channel"], line["execution_id"]) == ("scheduler", CHANNEL.name, "e1")
        assert line["subject"] == CHANNEL.subject(TEAM, MEMBER)
        assert len(line["trace_id"]) == 32
        assert line["event_id"]
        assert line["seconds"] >= 0


async def test_a_fact_has_the_same_id_whenever_it_is_published(nats: EmbeddedServer) -> None:
    service = Service("executor", nats.url)
    async with running(service):
        first = await service.publish(CHANNEL, a_fact(), caused_by="e1")
        again = await service.publish(CHANNEL, a_fact(), caused_by=first, step="")
        repeated = await service.publish(CHANNEL, a_fact(), caused_by="e1", again=1)
        other = await service.publish(CHANNEL, a_fact(), caused_by="e1", step="second")
    assert first.id == repeated.id
    assert len({first.id, again.id, other.id}) == 3
    assert (again.cause, again.traceparent.split("-")[1]) == (first.id, first.traceparent.split("-")[1])
    async with jetstream(nats.url) as js:
        held = [await js.get_msg(CHANNEL.stream or "", seq) for seq in range(1, 5)]
    assert [(message.headers or {})[MSG_ID] for message in held] == [first.id, again.id, f"{first.id}:1", other.id]
