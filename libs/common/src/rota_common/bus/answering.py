"""Answering: the plain subscription of a service to a question, whose replicas share the requests."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError

from rota_common.bus.barrier import leave

LEAVE_S = 10
"""A server that doesn't answer keeps a stop no longer than this from those who still wait for an answer."""


@dataclass(frozen=True)
class Answer:
    """The reply to a request."""

    data: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


Answerer = Callable[[Msg], Awaitable[Answer]]


class Answering:
    """At most `workers` requests are answered at once; others wait for their turn."""

    def __init__(self, subject: str, answerer: Answerer, *, queue: str, workers: int) -> None:
        self.subject = subject
        self._answerer, self._queue = answerer, queue
        self._free = asyncio.Semaphore(workers)
        self._running: set[asyncio.Task[None]] = set()
        self._requests: Subscription | None = None
        self._abandoned = False
        self._client: Client

    async def open(self, client: Client) -> None:
        self._client = client
        self._requests = await client.subscribe(self.subject, queue=self._queue, cb=self._received)

    async def close(self, timeout: float) -> None:
        """Take no more requests, answer those that came; end what isn't answered within `timeout` seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                requests, self._requests = self._requests, None
                if requests is not None:
                    await leave(self._client, requests, timeout=LEAVE_S)
                if self._running:
                    await asyncio.wait(self._running)
        await self.abandon()

    async def abandon(self) -> None:
        """End what is being answered; what waits for its turn never begins."""
        self._abandoned = True
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _received(self, message: Msg) -> None:
        await self._free.acquire()
        if self._abandoned:
            self._free.release()
            return
        task = asyncio.create_task(self._answer(message))
        self._running.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._free.release()

    async def _answer(self, message: Msg) -> None:
        with contextlib.suppress(NatsError):  # the connection is gone, and the one who asked has its timeout
            answer = await self._answerer(message)
            await self._client.publish(message.reply, answer.data, headers=dict(answer.headers) or None)
