"""A reader and a writer on a real bus: a service that listens to one channel, and another that publishes on it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import nats
from nats.js import JetStreamContext

from rota_common.bus.router import Router
from rota_common.clock import now
from rota_common.runtime.service import Runtime, Service
from rota_common.testing.patience import PATIENCE_S
from rota_common.testing.samples import MEMBER, NOON, TEAM
from rota_contracts import catalog
from rota_contracts.envelope import Event
from rota_contracts.messages.execution import ExecutionStartedV1

Started = Event[ExecutionStartedV1]
Handler = Callable[[Started], Awaitable[None]]
CHANNEL = catalog.EXECUTION_STARTED
DURABLE = CHANNEL.durable("scheduler")


class Seen:
    """A handler that remembers what it was given; `then` is what it does with it."""

    def __init__(self, then: Handler | None = None) -> None:
        self.then = then
        self.ids: list[str] = []
        self._more = asyncio.Condition()

    async def __call__(self, event: Started) -> None:
        async with self._more:
            self.ids.append(event.data.execution_id)
            self._more.notify_all()
        if self.then is not None:
            await self.then(event)

    async def times(self, count: int, *, timeout: float = PATIENCE_S) -> list[str]:
        """The executions that were handled, once there are `count`."""
        async with asyncio.timeout(timeout), self._more:
            await self._more.wait_for(lambda: len(self.ids) >= count)
        return self.ids


def reader(url: str, handler: Handler, **subscription: Any) -> Service:
    """A service that handles CHANNEL; not started yet."""
    outages = subscription.pop("outages", ())
    service = Service("scheduler", url, runtime=Runtime(clock=now), outages=outages)
    router = Router()
    router.on(CHANNEL, handler, **subscription)
    service.include(router)
    return service


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


@contextlib.asynccontextmanager
async def reading(url: str, handler: Handler, **subscription: Any) -> AsyncIterator[Service]:
    service = reader(url, handler, **subscription)
    async with running(service):
        yield service


@contextlib.asynccontextmanager
async def jetstream(url: str) -> AsyncIterator[JetStreamContext]:
    client = await nats.connect(url)
    yield client.jetstream(timeout=PATIENCE_S)
    await client.close()


def a_fact(execution_id: str = "e1") -> ExecutionStartedV1:
    return ExecutionStartedV1(execution_id=execution_id, team_id=TEAM, member_id=MEMBER, started_at=NOON)


async def publish(url: str, *execution_ids: str) -> None:
    """As the executor does."""
    service = Service("executor", url)
    async with running(service):
        for execution_id in execution_ids:
            await service.publish(CHANNEL, a_fact(execution_id), caused_by=execution_id)


async def pending(url: str) -> tuple[int, int]:
    """The numbers of undelivered and of unacknowledged messages."""
    async with jetstream(url) as js:
        info = await js.consumer_info(CHANNEL.stream or "", DURABLE)
    return info.num_pending or 0, info.num_ack_pending or 0


async def settled(url: str, *, timeout: float = PATIENCE_S) -> None:
    """Return once nothing is pending."""
    async with asyncio.timeout(timeout):
        while await pending(url) != (0, 0):
            await asyncio.sleep(0.02)
