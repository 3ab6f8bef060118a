"""The bus, on a real nats-server and in memory: the same services see the same."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest
from nats.js.errors import NotFoundError

from rota_common import topology
from rota_common.bus import dead_letters
from rota_common.bus.publishing import TooLarge
from rota_common.bus.router import Router
from rota_common.bus.rpc import NoReply
from rota_common.bus.subject_log import SubjectLog
from rota_common.errors import Permanent, Transient
from rota_common.runtime import metrics
from rota_common.runtime.service import Runtime, Service
from rota_common.testing import in_memory_bus
from rota_common.testing.bus import keep_none
from rota_common.testing.in_memory_bus import InMemoryBus, InMemoryConnection
from rota_common.testing.patience import PATIENCE_S
from rota_common.testing.samples import MEMBER, NOON, TEAM, a_trigger
from rota_contracts import catalog
from rota_contracts.catalog import Channel
from rota_contracts.envelope import Event
from rota_contracts.messages.delivery import DeliveryType
from rota_contracts.messages.execution import (
    ExecStatus,
    Execution,
    ExecutionReply,
    ExecutionStartedV1,
    ReadExecution,
)
from rota_contracts.messages.targets import TargetEnabledV1
from rota_contracts.messages.trigger import ExecutorMode
from rota_contracts.model import Instant, Payload
from rota_contracts.robots.robot import Phase
from rota_contracts.streams import STREAMS
from rota_contracts.upcasting import Upcaster

CHANNEL, QUESTION = catalog.EXECUTION_STARTED, catalog.READ_EXECUTION


class ExecutionStartedV2(Payload):
    """Published when an execution has started, by whom as one field."""

    run: str
    began: Instant


def second_version(first: ExecutionStartedV1) -> ExecutionStartedV2:
    who = {"team_id": first.team_id, "member_id": first.member_id}
    return ExecutionStartedV2(run=first.execution_id, began=first.started_at, **who)


CHANNEL_2 = Channel(
    "execution.started.v2",
    ExecutionStartedV2,
    "EXECUTIONS",
    CHANNEL.producers,
    CHANNEL.consumers,
    version=2,
    upcaster=Upcaster(CHANNEL, second_version),
)
Make = Callable[[str], Service]


@pytest.fixture
def two_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The catalog with CHANNEL_2, and its stream with the subject."""
    monkeypatch.setitem(catalog.CHANNELS, CHANNEL_2.name, CHANNEL_2)
    streams = tuple(
        replace(each, subjects=(*each.subjects, f"{CHANNEL_2.type}.>")) if each.name == CHANNEL_2.stream else each
        for each in STREAMS
    )
    for module in (topology, in_memory_bus):
        monkeypatch.setattr(module, "STREAMS", streams)


@pytest.fixture(params=["memory", pytest.param("nats", marks=pytest.mark.integration)])
def make(request: pytest.FixtureRequest) -> Make:
    """Makes a service of a name, on one bus."""
    if request.param == "nats":
        url = request.getfixturevalue("nats").url
        request.getfixturevalue("beside")(keep_none(url))
        return lambda name: Service(name, url)
    bus = InMemoryBus()
    return lambda name: Service(name, "", runtime=Runtime(bus=bus))


class Handler:
    """Counts what it is given; raises these errors one after the other, then no more."""

    def __init__(self, *errors: Exception) -> None:
        self.events: list[Event[Any]] = []
        self._errors = list(errors)
        self._more = asyncio.Condition()

    async def __call__(self, event: Event[Any]) -> None:
        async with self._more:
            self.events.append(event)
            self._more.notify_all()
        if self._errors:
            raise self._errors.pop(0)

    async def called(self, times: int) -> list[str]:
        async with asyncio.timeout(PATIENCE_S), self._more:
            await self._more.wait_for(lambda: len(self.events) >= times)
        return [getattr(event.data, "execution_id", "") for event in self.events]


@contextlib.asynccontextmanager
async def running(*services: Service) -> AsyncIterator[None]:
    for service in services:
        await service.start()
        await service.started.wait()
    try:
        yield
    finally:
        for service in services:
            await service.stop(1)


def consuming(make: Make, handler: Handler, channel: Channel[Any] = CHANNEL, **settings: Any) -> Service:
    service, router = make("scheduler"), Router()
    router.on(channel, handler, **settings)
    service.include(router)
    return service


def answering(make: Make, error: Exception | None = None) -> Service:
    async def answer(request: ReadExecution) -> ExecutionReply:
        if error is not None:
            raise error
        return ExecutionReply(execution=None)

    service, router = make("executor"), Router()
    router.answer(QUESTION, answer)
    service.include(router)
    return service


def started(execution_id: str) -> ExecutionStartedV1:
    return ExecutionStartedV1(execution_id=execution_id, team_id=TEAM, member_id=MEMBER, started_at=NOON)


def question() -> ReadExecution:
    return ReadExecution(team_id=TEAM, execution_id="e1")


async def dead_letter(service: Service) -> Any:
    """The last dead letter of CHANNEL, once there is one: its publisher is answered before the message is buried."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            with contextlib.suppress(NotFoundError):
                return await service.bus.jetstream.get_last_msg(
                    "DEAD", catalog.dead_subject(CHANNEL.subject(TEAM, MEMBER))
                )
            await asyncio.sleep(0.02)


async def test_a_service_that_knows_the_second_version_reads_both_by_its_upcaster(
    two_versions: None, make: Make
) -> None:  # F7
    handler, publisher, buried = Handler(Permanent("no")), make("executor"), list[Event[Any]]()

    async def note(event: Event[Any], reason: str) -> None:
        buried.append(event)

    async with running(publisher):
        if not isinstance(publisher.bus, InMemoryConnection):
            await topology.apply(publisher.bus.jetstream)
        async with running(consuming(make, handler, CHANNEL_2, when_buried=note)):
            refused = await publisher.publish(CHANNEL, started("e0"), caused_by="c0")
            letter = await dead_letter(publisher)
            first = await publisher.publish(CHANNEL, started("e1"), caused_by="c1")
            second = await publisher.publish(CHANNEL_2, second_version(started("e2")), caused_by="c2")
            await handler.called(3)
    read = {event.id: event.data for event in handler.events}
    assert read == {
        refused.id: second_version(started("e0")),
        first.id: second_version(started("e1")),
        second.id: second_version(started("e2")),
    }
    assert [event.data for event in buried] == [second_version(started("e0"))]
    assert ExecutionStartedV1.model_validate_json(letter.data) == started("e0"), "it is redriven as it was"


async def test_a_fact_published_twice_reaches_its_consumer_once(make: Make) -> None:
    handler, publisher = Handler(), make("executor")
    async with running(consuming(make, handler), publisher):
        assert await publisher.publish.first(CHANNEL, started("e1"), caused_by="c1")
        assert not await publisher.publish.first(CHANNEL, started("e1"), caused_by="c1")
        await publisher.publish(CHANNEL, started("e2"), caused_by="c2")
        assert await handler.called(2) == ["e1", "e2"]


async def test_a_transient_failure_brings_the_message_back_to_any_replica(make: Make) -> None:
    handler, publisher = Handler(Transient("later", after=0.05)), make("executor")
    async with running(consuming(make, handler), consuming(make, handler), publisher):
        await publisher.publish(CHANNEL, started("e1"), caused_by="c1")
        assert await handler.called(2) == ["e1", "e1"]


async def test_a_permanent_failure_is_buried_once_its_publisher_has_been_answered(make: Make) -> None:
    buried = Handler()

    async def when_buried(event: Event[Any], reason: str) -> None:
        assert reason == "never"
        await buried(event)

    handler, publisher = Handler(Permanent("never")), make("executor")
    async with running(consuming(make, handler, when_buried=when_buried), publisher):
        await publisher.publish(CHANNEL, started("e1"), caused_by="c1")
        assert await buried.called(1) == ["e1"]
        await publisher.publish(CHANNEL, started("e2"), caused_by="c2")
        assert await handler.called(2) == ["e1", "e2"]
        letter = await dead_letter(publisher)
        assert (letter.headers or {})["rota-dead-reason"] == "never"


async def test_a_message_outlives_the_service_that_was_to_handle_it(make: Make) -> None:
    handler, publisher = Handler(), make("executor")
    async with running(publisher):
        await publisher.publish(CHANNEL, started("e1"), caused_by="c1")
    async with running(consuming(make, handler)):
        assert await handler.called(1) == ["e1"]


async def test_a_live_subscription_receives_what_is_published_while_it_lasts(make: Make) -> None:
    publisher, reader = make("executor"), make("trigger-gateway")
    async with running(publisher, reader):
        await publisher.publish(CHANNEL, started("e1"), caused_by="c1")
        async with reader.live.listen([CHANNEL], team=TEAM) as events:
            await publisher.publish(CHANNEL, started("e2"), caused_by="c2")
            async with asyncio.timeout(PATIENCE_S):
                assert (await events.next()).data.execution_id == "e2"
        async with reader.live.listen([CHANNEL], team="other") as others:
            await publisher.publish(CHANNEL, started("e3"), caused_by="c3")
            await publisher.publish(CHANNEL, started("e4").model_copy(update={"team_id": "other"}), caused_by="c4")
            async with asyncio.timeout(PATIENCE_S):
                assert (await others.next()).data.execution_id == "e4"


async def test_what_is_stored_is_read_by_its_subject(make: Make) -> None:
    publisher = make("executor")
    async with running(publisher):
        log, subject = SubjectLog(publisher.bus, CHANNEL.stream or ""), CHANNEL.subject(TEAM, MEMBER)
        assert (await log.last(subject), await log.after(subject, 0)) == (None, [])
        events = [await publisher.publish(CHANNEL, started(each), caused_by=each) for each in ("e1", "e2", "e3")]
        first, *others = await log.after(subject, 0)
        assert [kept.id for kept in (first, *others)] == [event.id for event in events]
        assert await log.after(subject, first.seq) == others
        assert await log.last(subject) == others[-1]


@pytest.mark.parametrize("error", [None, Permanent("no such"), Transient("busy"), RuntimeError("bug")], ids=repr)
async def test_a_request_is_answered_or_fails_as_its_handler_did(make: Make, error: Exception | None) -> None:
    asker = make("trigger-gateway")
    async with running(answering(make, error), asker):
        if error is None:
            assert await asker.ask(QUESTION, question()) == ExecutionReply(execution=None)
            return
        with pytest.raises(Permanent if isinstance(error, Permanent) else Transient):
            await asker.ask(QUESTION, question())


async def test_a_request_that_no_service_answers_fails_at_once(make: Make) -> None:
    asker = make("trigger-gateway")
    async with running(asker):
        async with running(answering(make)):
            await asker.ask(QUESTION, question())
        with pytest.raises(NoReply):
            await asker.ask(QUESTION, question())


async def kept(service: Service, stream: str) -> int:
    return int((await service.bus.jetstream.stream_info(stream)).state.messages)


async def test_what_all_consumers_have_handled_leaves_the_stream(make: Make) -> None:
    handler, publisher = Handler(Transient("later", after=0.05)), make("executor")
    async with running(consuming(make, handler), publisher):
        before = await kept(publisher, "EXECUTIONS")
        await publisher.publish(CHANNEL, started("e1"), caused_by="c1")
        assert await handler.called(2) == ["e1", "e1"]
        async with asyncio.timeout(PATIENCE_S):
            while await kept(publisher, "EXECUTIONS") > before:
                await asyncio.sleep(0.02)
        assert not await publisher.publish.first(CHANNEL, started("e1"), caused_by="c1")  # its id is remembered


async def test_a_fact_that_no_service_consumes_is_confirmed_and_not_kept(make: Make) -> None:
    publisher = make("delivery-center")
    event = TargetEnabledV1(
        team_id=TEAM, member_id=MEMBER, target_id="t1", type=DeliveryType.EMAIL, target="ada@acme.test", at=NOON
    )
    async with running(publisher):
        before = await kept(publisher, "FACTS")
        assert await publisher.publish.first(catalog.TARGET_ENABLED, event, caused_by="c1")
        assert await kept(publisher, "FACTS") == before


async def test_a_message_that_no_consumer_has_handled_stays_for_it(make: Make) -> None:
    handler, publisher = Handler(), make("executor")
    async with running(publisher):
        before = await kept(publisher, "EXECUTIONS")
        await publisher.publish(CHANNEL, started("e1"), caused_by="c1")
        assert await kept(publisher, "EXECUTIONS") == before + 1
    async with running(consuming(make, handler)):
        assert await handler.called(1) == ["e1"]


async def test_a_stream_is_searched_for_what_no_consumer_has_handled(make: Make) -> None:
    handler, publisher = Handler(), make("executor")
    log, subject = SubjectLog(publisher.bus, "EXECUTIONS"), CHANNEL.subject(TEAM, MEMBER)
    durable = CHANNEL.durable("scheduler")
    async with running(publisher):
        events = [await publisher.publish(CHANNEL, started(name), caused_by=name) for name in ("e1", "e2")]
        found = [
            await log.waits(subject, name, durable=durable) for name in (*(event.id for event in events), "another")
        ]
        assert found == [True, True, False]
        async with running(consuming(make, handler)):
            await handler.called(2)
            async with asyncio.timeout(PATIENCE_S):
                while await log.waits(subject, events[1].id, durable=durable):
                    await asyncio.sleep(0.02)


async def limit_bytes(service: Service, stream: str, *, to: int) -> None:
    if isinstance(service.bus, InMemoryConnection):
        log = service.bus.bus.streams[stream]
        log.stream = replace(log.stream, max_bytes=to)
    else:
        await service.bus.jetstream.update_stream(
            (await service.bus.jetstream.stream_info(stream)).config, max_bytes=to
        )


async def test_what_is_too_long_for_a_message_is_refused_for_good_and_says_so(make: Make) -> None:
    long = "x" * 1024 * 1024
    service, asker = with_long(make, 17 * long), make("trigger-gateway")
    async with running(service, asker):
        with pytest.raises(TooLarge, match="rota.v1.execution.started has .* bytes, and a message may have"):
            await service.publish(CHANNEL, started(long[:-600]), caused_by="c1")  # its headers don't fit any more
        with pytest.raises(Permanent, match="the request to .* has .* bytes"):
            await asker.ask(QUESTION, ReadExecution(team_id=TEAM, execution_id=long))
        with pytest.raises(Permanent, match="the answer to .* has .* bytes"):
            await asker.ask(QUESTION, question())
        await service.publish(CHANNEL, started("e1"), caused_by="c2")  # the connection is as before


def with_long(make: Make, error: str) -> Service:
    """Answers with an execution of this error."""
    failed = Execution(
        execution_id="e1",
        team_id=TEAM,
        member_id=MEMBER,
        robot_rev=1,
        executor_mode=ExecutorMode.STANDARD,
        status=ExecStatus.FAILED,
        phase=Phase.RUN,
        trigger=a_trigger(),
        created_at=NOON,
        error=error,
    )

    async def answer(request: ReadExecution) -> ExecutionReply:
        return ExecutionReply(execution=failed)

    service, router = make("executor"), Router()
    router.answer(QUESTION, answer)
    service.include(router)
    return service


async def test_an_answer_longer_than_a_message_is_read_whole_also_by_many_at_once(make: Make) -> None:
    long = "\u00fc" * 2_500_000
    service, asker = with_long(make, long), make("trigger-gateway")
    async with running(service, asker):
        for reply in await asyncio.gather(*(asker.ask(QUESTION, question(), timeout=PATIENCE_S) for _ in range(5))):
            assert reply.execution is not None
            assert reply.execution.error == long
        older = await asker.bus.client.request(QUESTION.subject, question().model_dump_json().encode(), timeout=5)
        assert (older.headers or {})["rota-error"] == "permanent"  # to a version that takes no parts


async def test_a_letter_that_the_dead_letters_have_no_room_for_goes_without_its_payload(make: Make) -> None:
    handler, publisher = Handler(Permanent("never")), make("executor")
    async with running(consuming(make, handler), publisher):
        await limit_bytes(publisher, "DEAD", to=4000)
        await publisher.publish(CHANNEL, started("e" * 8000), caused_by="c1")
        letter = await dead_letter(publisher)
        headers = letter.headers or {}
        assert (letter.data or b"", headers["rota-dead-reason"]) == (b"", "never")
        (listed,) = await dead_letters.listed(publisher.bus.jetstream)
        assert "bytes of EXECUTIONS" in listed.left_out
        with pytest.raises(Permanent, match="it can't be sent back"):
            await dead_letters.redrive(publisher.bus.jetstream, listed.seq)


async def test_a_message_that_can_not_be_buried_yet_comes_again_and_is_not_handled_again(make: Make) -> None:
    answered = Handler()

    async def when_buried(event: Event[Any], reason: str) -> None:
        await answered(event)

    handler, publisher, service = Handler(Permanent("never")), make("executor"), make("scheduler")
    router, before = Router(), unburied(service)
    router.on(CHANNEL, handler, when_buried=when_buried)
    service.include(router)
    async with running(service, publisher):
        await limit_bytes(publisher, "DEAD", to=10)
        await publisher.publish(CHANNEL, started("e1"), caused_by="c1")
        await answered.called(1)
        async with asyncio.timeout(PATIENCE_S):
            while unburied(service) < before + 2:
                await asyncio.sleep(0.02)
        await limit_bytes(publisher, "DEAD", to=100_000)
        assert (await dead_letter(publisher)).headers["rota-dead-reason"] == "never"
    assert (len(handler.events), len(answered.events)) == (1, 1)


def unburied(service: Service) -> float:
    return metrics.MESSAGES.labels(service.name, CHANNEL.name, "unburied")._value.get()
