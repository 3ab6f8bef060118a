"""Request and reply between services on a real bus."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from rota_common.bus.barrier import barrier
from rota_common.bus.router import Router
from rota_common.errors import Permanent, Transient
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.runtime.service import Service
from rota_contracts.catalog import READ_TRIGGER
from rota_contracts.messages.execution import ReadTrigger, TriggerReply, TriggerState
from tests.integration.common.harness import running

Answer = Callable[[ReadTrigger], Awaitable[TriggerReply]]
QUESTION = ReadTrigger(team_id="acme", trigger_id="t1")


@contextlib.asynccontextmanager
async def asked(url: str, *answers: Answer, outages: tuple[type[Exception], ...] = ()) -> AsyncIterator[Service]:
    """The calling service, with one replica of the responder for each of `answers`."""
    caller, replicas = Service("trigger-gateway", url), []
    for answer in answers:
        router = Router()
        router.answer(READ_TRIGGER, answer)
        service = Service("scheduler", url, outages=outages)
        service.include(router)
        replicas.append(service)
    async with running(caller, *replicas):
        yield caller


async def echo(question: ReadTrigger) -> TriggerReply:
    return TriggerReply(trigger_id=question.trigger_id, state=TriggerState.QUEUED)


def raising(error: Exception) -> Answer:
    async def answer(_: ReadTrigger) -> TriggerReply:
        raise error

    return answer


async def test_a_request_gets_its_reply(shared_nats: EmbeddedServer) -> None:
    async with asked(shared_nats.url, echo) as service:
        assert await service.ask(READ_TRIGGER, QUESTION) == TriggerReply(trigger_id="t1", state=TriggerState.QUEUED)


async def test_without_a_responder_a_request_fails_at_once(shared_nats: EmbeddedServer) -> None:
    async with asked(shared_nats.url) as service:
        began = asyncio.get_running_loop().time()
        with pytest.raises(
            Transient, match=r"scheduler is down: no responder on rota\.v1\.rpc\.scheduler\.read_trigger"
        ):
            await service.ask(READ_TRIGGER, QUESTION)
        assert asyncio.get_running_loop().time() - began < 1  # and not the question's 5 s


async def test_a_request_ends_at_its_timeout(shared_nats: EmbeddedServer) -> None:
    never = asyncio.Event()

    async def slow(question: ReadTrigger) -> TriggerReply:
        await never.wait()
        return await echo(question)

    async with asked(shared_nats.url, slow) as service:
        with pytest.raises(Transient, match=r"scheduler didn't answer .* within 0\.2 s"):
            await service.ask(READ_TRIGGER, QUESTION, timeout=0.2)
        never.set()


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (Permanent("no such team"), Permanent, "no such team"),
        (Transient("busy"), Transient, "scheduler can't answer now: busy"),
        (ConnectionResetError("mongo"), Transient, "scheduler can't answer now: mongo"),
        (KeyError("secret detail"), Transient, "scheduler failed: KeyError"),
    ],
)
async def test_the_caller_receives_the_failure(
    shared_nats: EmbeddedServer, error: Exception, kind: type[Exception], words: str
) -> None:
    async with asked(shared_nats.url, raising(error), outages=(ConnectionResetError,)) as service:
        with pytest.raises(kind) as raised:
            await service.ask(READ_TRIGGER, QUESTION)
    assert str(raised.value) == words


async def test_each_request_is_handled_by_one_replica(shared_nats: EmbeddedServer) -> None:
    counts = [0, 0]

    def counting(number: int) -> Answer:
        async def answer(question: ReadTrigger) -> TriggerReply:
            counts[number] += 1
            return await echo(question)

        return answer

    async with asked(shared_nats.url, counting(0), counting(1)) as service:
        questions = [ReadTrigger(team_id="acme", trigger_id=f"t{number}") for number in range(60)]
        answers = await asyncio.gather(*(service.ask(READ_TRIGGER, question) for question in questions))
    assert [answer.trigger_id for answer in answers] == [question.trigger_id for question in questions]
    assert sum(counts) == 60
    assert min(counts) > 0


async def test_a_request_being_handled_is_answered_before_a_service_closes_its_connections(
    shared_nats: EmbeddedServer,
) -> None:
    reached, go, done = asyncio.Event(), asyncio.Event(), list[str]()

    async def slow(question: ReadTrigger) -> TriggerReply:
        reached.set()
        await go.wait()
        done.append("answered")
        return await echo(question)

    async def let_it_go_on() -> None:
        go.set()

    async def close() -> None:
        done.append("closed")

    router = Router()
    router.answer(READ_TRIGGER, slow)
    replica, caller = Service("scheduler", shared_nats.url), Service("trigger-gateway", shared_nats.url)
    replica.include(router)
    replica.on_close(close)
    replica.on_stop(let_it_go_on)
    async with running(caller):
        await replica.start()
        await replica.started.wait()
        asking = asyncio.create_task(caller.ask(READ_TRIGGER, QUESTION))
        await reached.wait()
        await replica.stop(10)
        assert (await asking).trigger_id == "t1"
    assert done == ["answered", "closed"]


async def test_no_request_is_lost_while_a_replica_stops(shared_nats: EmbeddedServer) -> None:
    """What the server sends it before it knows of the stop is answered all the same."""
    async with asked(shared_nats.url, echo) as service:
        router = Router()
        router.answer(READ_TRIGGER, echo)
        leaving = Service("scheduler", shared_nats.url)
        leaving.include(router)
        await leaving.start()
        await leaving.started.wait()
        asking = [asyncio.create_task(service.ask(READ_TRIGGER, QUESTION)) for _ in range(300)]
        await asking[0]
        await leaving.stop(10)
        assert len(await asyncio.gather(*asking)) == 300


async def test_a_stop_that_can_not_wait_ends_what_is_answered_and_begins_nothing_more(
    shared_nats: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rota_common.bus.connection.GRACE_S", 0.5)
    began = list[str]()

    async def never(question: ReadTrigger) -> TriggerReply:
        began.append(question.trigger_id)
        await asyncio.Event().wait()
        raise AssertionError

    router, leaving = Router(), Service("scheduler", shared_nats.url)
    router.answer(READ_TRIGGER, never, workers=1)
    leaving.include(router)
    caller = Service("trigger-gateway", shared_nats.url)
    async with running(caller):
        await leaving.start()
        await leaving.started.wait()
        asking = [asyncio.create_task(caller.ask(READ_TRIGGER, QUESTION)) for _ in range(3)]
        await barrier(caller.bus.client)
        while not began:
            await asyncio.sleep(0.01)
        await barrier(leaving.bus.client)  # the others have come, too, and wait
        await leaving.stop(1)
        results = await asyncio.gather(*asking, return_exceptions=True)
    assert all(isinstance(each, Transient) for each in results), results
    assert began == ["t1"]
