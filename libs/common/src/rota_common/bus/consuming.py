"""Consumers: messages of a durable consumer are handled, and acknowledged or returned by the failure policy.

FastStream's own pull subscriber prefetches and, while it stops, swallows messages until their ack wait is over; so the
loop below fetches one message at a time, only when a slot is free, and returns one that arrives too late.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random
from time import perf_counter
from typing import Any, TypeVar

from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.errors import TimeoutError as NatsTimeout
from nats.js import JetStreamContext
from nats.js.errors import APIError

from rota_common.bus.connection import Bus
from rota_common.bus.failure_policy import (
    UNBURIED_CAP_S,
    Bury,
    Later,
    acknowledge,
    bury,
    decide,
    hand_back,
    still_working,
)
from rota_common.clock import Clock
from rota_common.retries import backoff
from rota_common.runtime import metrics, traces
from rota_common.runtime.logs import logger
from rota_contracts.catalog import Channel
from rota_contracts.envelope import Event, parse_event
from rota_contracts.model import Payload
from rota_contracts.streams import Consumer as ConsumerConfig
from rota_contracts.streams import consumers

P = TypeVar("P", bound=Payload)
Handler = Callable[[Event[Any]], Awaitable[None]]
OnBuried = Callable[[Event[Any], str], Awaitable[None]]
RECOVER_S = 0.5
UNBURIED = 10_000
"""Verdicts on messages that couldn't be buried yet that one worker remembers."""


@dataclass(frozen=True)
class ChannelHandler:
    """The handler of a channel. `slots` messages are handled at once; while `gate` is not set, none is fetched.

    `when_buried` runs before a message is buried, so that it can publish the failure to those that wait for a result.
    """

    channel: Channel[Any]
    handle: Handler
    slots: int = 16
    gate: asyncio.Event | None = None
    when_buried: OnBuried | None = None


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
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _running: set[asyncio.Task[None]] = field(default_factory=set)
    _unburied: dict[int, Bury] = field(default_factory=dict)

    def __post_init__(self) -> None:
        channel = self.handler.channel
        if self.service not in channel.consumers:
            raise ValueError(f"{self.service} is not a consumer of {channel.type}: add it to rota_contracts.catalog")
        self.config = _config(channel.durable(self.service))
        self._log = logger(service=self.service, channel=channel.name)

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
                source = None
                message = None
                self._log.debug("pull failed", error=repr(error))
                await self._pause(RECOVER_S)
            if message is None:
                free.release()
            elif self._stopping.is_set():
                await hand_back(message)
            else:
                task = asyncio.create_task(self._process(message))
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

    async def _process(self, message: Msg) -> None:
        """Handle one message, and log its outcome in one line."""
        started, beat = perf_counter(), asyncio.create_task(self._beat(message))
        facts: dict[str, Any] = {"deliveries": message.metadata.num_delivered, "subject": message.subject}
        try:
            outcome = await self._attempt(message, facts)
        except asyncio.CancelledError:
            outcome = "handed back"
            with contextlib.suppress(NatsError):
                await hand_back(message)
        except Exception as error:  # the acknowledgement failed: the server is down, and will redeliver the message
            outcome, facts["reason"] = "unsettled", repr(error)
        finally:
            beat.cancel()
        seconds = perf_counter() - started
        channel = self.handler.channel.name
        metrics.MESSAGES.labels(self.service, channel, outcome).inc()
        metrics.HANDLING_SECONDS.labels(self.service, channel).observe(seconds)
        log = self._log.info if outcome == "done" else self._log.warning
        log("handled", outcome=outcome, seconds=round(seconds, 4), **facts)

    async def _attempt(self, message: Msg, facts: dict[str, Any]) -> str:
        channel, event = self.handler.channel, None
        if (verdict := self._unburied.get(message.metadata.sequence.stream)) is not None:
            facts["reason"] = verdict.reason
            return await self._bury(message, verdict)
        try:
            event = parse_event(channel.payload, message.headers, message.data, expected=channel.type)
            facts |= {"event_id": event.id, "trace_id": traces.trace_id(event.traceparent)}
            facts |= {
                key: getattr(event.data, key) for key in ("execution_id", "trigger_id") if hasattr(event.data, key)
            }
            await self.handler.handle(event)
        except Exception as error:
            return await self._failed(message, event, error, facts)
        await acknowledge(message)
        return "done"

    async def _failed(self, message: Msg, event: Event[Any] | None, error: Exception, facts: dict[str, Any]) -> str:
        meta = message.metadata
        verdict = decide(
            error,
            deliveries=meta.num_delivered,
            age=self.clock() - meta.timestamp,
            random=self.random,
            outages=self.outages,
        )
        facts["reason"] = verdict.reason
        match verdict:
            case Later(delay):
                await hand_back(message, delay)
                return "later"
            case Bury():
                if event is not None and self.handler.when_buried is not None:
                    await self.handler.when_buried(event, verdict.reason)
                return await self._bury(message, verdict)

    async def _bury(self, message: Msg, verdict: Bury) -> str:
        """While the dead letters are full the message comes again later, to be buried then and not handled again."""
        seq = message.metadata.sequence.stream
        self._unburied[seq] = verdict
        if len(self._unburied) > UNBURIED:
            self._unburied.pop(next(iter(self._unburied)))
        try:
            await bury(message, self.bus.jetstream, consumer=self.config.durable, verdict=verdict, at=self.clock())
        except APIError as error:
            self._log.error("the dead letters are full", subject=message.subject, error=repr(error))
            deliveries = message.metadata.num_delivered
            await hand_back(message, backoff(deliveries, random=self.random, cap=UNBURIED_CAP_S))
            return "unburied"
        self._unburied.pop(seq, None)
        metrics.DEAD_LETTERS.labels(self.service, self.handler.channel.name).inc()
        return "buried"

    async def _beat(self, message: Msg) -> None:
        while True:
            await asyncio.sleep(self.config.ack_wait / 3)
            with contextlib.suppress(NatsError):
                await still_working(message)


def _config(durable: str) -> ConsumerConfig:
    return next(consumer for consumer in consumers() if consumer.durable == durable)
