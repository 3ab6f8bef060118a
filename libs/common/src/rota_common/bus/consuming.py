"""Consumers: messages of a durable consumer are requested for the slots that are free, and given to their handler.

FastStream's own pull subscriber prefetches and, while it stops, swallows messages until their ack wait is over; so the
pull below stands for free slots alone, and what arrives too late is returned.
"""

import asyncio
import contextlib
from dataclasses import dataclass, field
from random import Random

from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from rota_common.bus.connection import Bus
from rota_common.bus.failure_policy import hand_back
from rota_common.bus.handling import ChannelHandler, Handling
from rota_common.bus.handling_marks import HandlingMarks
from rota_common.bus.standing_pull import LIFE_S, Pull
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
    handling_limit: float = HANDLING_LIMIT_S
    marks: HandlingMarks | None = None
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _running: set[asyncio.Task[None]] = field(default_factory=set)
    _pull: Pull | None = None

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
        if self.handler.gate is not None:
            self.handler.gate.watch(self._wake.set)

    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    async def run(self) -> None:
        """Take messages until `stop`, through every outage of the server."""
        while not self._stopping.is_set():
            if not self._taking:
                await self._woken()
                continue
            try:
                await self._take_while_open()
            except (NatsError, OSError) as error:
                self._log.debug("pull failed", error=repr(error))
                await self._pause(RECOVER_S)

    async def stop(self, timeout: float) -> None:
        """Take nothing more; give running handlers `timeout` seconds, then return their messages."""
        self._stopping.set()
        self._wake.set()
        if self._running:
            _, late = await asyncio.wait(self._running, timeout=timeout)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    @property
    def _taking(self) -> bool:
        gate = self.handler.gate
        return not self._stopping.is_set() and (gate is None or gate.is_set())

    @property
    def _free(self) -> int:
        return self.handler.slots - len(self._running)

    async def _take_while_open(self) -> None:
        self._pull = pull = await self.bus.pull(self.config, self._take, self._wake.set)
        try:
            while self._taking:
                await pull.ask(self._free)
                await self._woken(LIFE_S)
        finally:
            self._pull = None
            await pull.close()

    async def _take(self, message: Msg) -> None:
        if self._pull is None or not self._taking:
            await hand_back(message)
            return
        task = asyncio.create_task(self._handling(message, self.config))
        self._running.add(task)
        task.add_done_callback(self._done)
        self._wake_if_over()

    def _done(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._wake_if_over()

    def _wake_if_over(self) -> None:
        if self._free and self._pull is not None and not self._pull.standing():
            self._wake.set()

    async def _woken(self, timeout: float | None = None) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._wake.wait()
        self._wake.clear()

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)


def _config(durable: str) -> ConsumerConfig:
    return next(consumer for consumer in consumers() if consumer.durable == durable)
