"""Messages that workers ended with: handled alone, and buried when it happens again and again."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rota_common.bus.router import Router
from rota_common.runtime.service import Runtime, Service
from rota_common.testing.in_memory_bus import InMemoryBus
from rota_common.testing.in_memory_stream import InMemoryMessage
from rota_common.testing.patience import PATIENCE_S
from rota_common.testing.samples import MEMBER, NOON, TEAM
from rota_contracts import catalog
from rota_contracts.envelope import Event
from rota_contracts.messages.execution import ExecutionStartedV1

CHANNEL = catalog.EXECUTION_STARTED
DURABLE = CHANNEL.durable("scheduler")


def mark_of(message: InMemoryMessage) -> str:
    return f"rota.v1.handling.{DURABLE}.{message.seq}"


async def publish(bus: InMemoryBus, count: int, *, ended: int, deliveries: int) -> list[InMemoryMessage]:
    """That many messages `c0` …; with the first `ended` of them two workers ended, at the last of its deliveries."""
    for number in range(count):
        fact = ExecutionStartedV1(execution_id=f"e{number}", team_id=TEAM, member_id=MEMBER, started_at=NOON)
        await bus.publish(CHANNEL, fact, caused_by=f"c{number}")
    messages = list(bus.consumers[DURABLE]._waiting)
    for message in messages[:ended]:
        message.deliveries = deliveries
        await bus.store(mark_of(message), b"2", {})
    return messages


@asynccontextmanager
async def handling(
    bus: InMemoryBus, handle: Callable[[Event[Any]], Awaitable[None]], **options: Any
) -> AsyncIterator[None]:
    """A service with this handler. Leaves when each message has its verdict."""
    service = Service("scheduler", "", runtime=Runtime(bus=bus))
    router = Router()
    router.on(CHANNEL, handle, **options)
    service.include(router)
    await service.start()
    await service.started.wait()
    yield
    await bus.settled()
    await service.stop(1)


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rota_common.bus.handling_marks.SUSPECT_WAIT_S", 0.1)


async def test_messages_that_workers_ended_with_are_handled_alone_one_right_after_another() -> None:
    bus, at_once, most = InMemoryBus(), 0, 0

    async def handle(_: Event[Any]) -> None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0)
        at_once -= 1

    messages = await publish(bus, 12, ended=12, deliveries=2)
    async with handling(bus, handle):
        pass
    assert (most, [message.deliveries for message in messages]) == (1, [3] * 12)


async def test_a_message_that_waits_for_another_one_for_long_holds_no_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rota_common.bus.handling_marks.TURN_S", 0.01)
    bus, verdicts, last_is_done = InMemoryBus(), list[str](), asyncio.Event()

    async def handle(event: Event[Any]) -> None:
        if event.cause == "c0":
            await last_is_done.wait()
        verdicts.append(event.cause)
        if event.cause == "c9":
            last_is_done.set()

    await publish(bus, 10, ended=2, deliveries=2)
    async with handling(bus, handle, slots=2):
        await asyncio.wait_for(last_is_done.wait(), PATIENCE_S)
    assert sorted(verdicts) == sorted(f"c{number}" for number in range(10))


@pytest.mark.parametrize("lives", [False, True], ids=["all have ended", "one lives still"])
async def test_a_message_that_ended_its_worker_again_and_again_is_buried_and_its_publisher_answered(
    lives: bool,
) -> None:
    bus, calls, buried = InMemoryBus(), [], []

    async def handle(event: Event[Any]) -> None:
        calls.append(event.id)

    async def when_buried(_: Event[Any], reason: str) -> None:
        buried.append(reason)

    (message,) = await publish(bus, 1, ended=1, deliveries=6)
    await bus.store(mark_of(message), b"4", {})

    async def reaches_its_verdict(mark_kept: InMemoryMessage) -> None:
        if lives and mark_kept.data == b"5":  # while the message waits
            await bus.store(mark_of(message), b"0", {})

    bus.serve(mark_of(message), reaches_its_verdict)
    async with handling(bus, handle, when_buried=when_buried):
        pass
    assert (len(calls), len(bus.dead)) == ((1, 0) if lives else (0, 1))
    assert ["ended 4 times" in reason for reason in buried] == [True] * len(bus.dead)
