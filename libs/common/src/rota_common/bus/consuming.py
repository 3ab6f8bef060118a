"""Consumers: messages of a durable consumer are fetched when a slot is free, and given to their handler.

FastStream's own pull subscriber prefetches and, while it stops, swallows messages until their ack wait is over; so the
loop below fetches one message at a time, and returns one that arrives too late.
"""

import asyncio
import contextlib
from dataclasses import dataclass, field
from random import Random

from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.errors import TimeoutError as NatsTimeout
from nats.js import JetStreamContext

from rota_common.bus.connection import Bus
from rota_common.bus.failure_policy import hand_back
from rota_common.bus.handling import ChannelHandler, Handling
from rota_common.bus.handling_marks import HandlingMarks
from rota_common.clock import Clock
from rota_common.runtime.logs import logger
from rota_contracts.streams import Consumer as ConsumerConfig
from rota_contracts.streams import consumers

RECOVER_S = 0.5
HANDLING_LIMIT_S = 6 * 3600.0
"""After this a handler is ended and its message handed back."""


@dataclass
class Worker:
    """Runs the handler of a channel for one service."""

    handler: ChannelHandler
    service: str
    bus: Bus
    clock: Clock
    random: Random
    outages: tuple[type[Exception], ...] = ()
    fetch_timeout: float = 2.0
    handling_limit: float = HANDLING_LIMIT_S
    marks: HandlingMarks | None = None
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _running: set[asyncio.Task[None]] = field(default_factory=set)

    def __post_init__(self) -> None:
        channel = self.handler.channel
        if self.service not in channel.consumers:
            raise ValueError(f"{self.service} is not a consumer of {channel.type}: add it to rota_contracts.catalog")
        self.config = _config(channel.durable(self.service))
        self._log = logger(service=self.service, channel=channel.name)
        self._handling = Handling(
            handler=self.handler,
            service=self.service,
            bus=self.bus,
            clock=self.clock,
            random=self.random,
            outages=self.outages,
            limit=self.handling_limit,
            marks=self.marks or HandlingMarks(bus=self.bus),
        )

    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    async def run(self) -> None:
        """Fetch messages until `stop`, through every outage of the server."""
        free = asyncio.Semaphore(self.handler.slots)
        source: JetStreamContext.PullSubscription | None = None
        while not self._stopping.is_set():
            await self._gate_open()
            await free.acquire()
            if self._stopping.is_set():
                return
            try:
                source = source or await self._bind()
                message = await self._next(source)
            except (NatsError, OSError) as error:
                await _leave(source)
                source = None
                message = None
                self._log.debug("pull failed", error=repr(error))
                await self._pause(RECOVER_S)
            if message is None:
                free.release()
            elif self._stopping.is_set():
                await hand_back(message)
            else:
                task = asyncio.create_task(self._handling(message, self.config))
                self._running.add(task)
                task.add_done_callback(self._running.discard)
                task.add_done_callback(lambda _: free.release())

    async def stop(self, timeout: float) -> None:
        """Fetch nothing more; give running handlers `timeout` seconds, then return their messages."""
        self._stopping.set()
        if self._running:
            _, late = await asyncio.wait(self._running, timeout=timeout)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _bind(self) -> JetStreamContext.PullSubscription:
        return await self.bus.jetstream.pull_subscribe_bind(durable=self.config.durable, stream=self.config.stream)

    async def _next(self, source: JetStreamContext.PullSubscription) -> Msg | None:
        try:
            return (await source.fetch(1, timeout=self.fetch_timeout))[0]
        except (TimeoutError, NatsTimeout):
            return None

    async def _gate_open(self) -> None:
        gate = self.handler.gate
        if gate is None or gate.is_set():
            return
        waits = [asyncio.ensure_future(gate.wait()), asyncio.ensure_future(self._stopping.wait())]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)


async def _leave(source: JetStreamContext.PullSubscription | None) -> None:
    """Give the subscription back: binding anew makes another one."""
    if source is not None:
        with contextlib.suppress(NatsError, OSError):
            await source.unsubscribe()


def _config(durable: str) -> ConsumerConfig:
    return next(consumer for consumer in consumers() if consumer.durable == durable)
