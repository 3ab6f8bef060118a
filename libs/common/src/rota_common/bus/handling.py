"""The handling of one message: parse it, run its handler, and acknowledge or return it by the failure policy."""

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from time import perf_counter
from typing import Any

from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.js.errors import APIError

from rota_common.bus.connection import Bus
from rota_common.bus.failure_policy import (
    UNBURIED_CAP_S,
    Attempt,
    Bury,
    Later,
    acknowledge,
    bury,
    decide,
    hand_back,
    still_working,
)
from rota_common.bus.gate import Gate
from rota_common.bus.handling_marks import HandlingMarks
from rota_common.clock import Clock
from rota_common.errors import Transient
from rota_common.retries import backoff
from rota_common.runtime import metrics, traces
from rota_common.runtime.logs import logger
from rota_contracts.catalog import Channel
from rota_contracts.envelope import Event, parse_event
from rota_contracts.streams import Consumer

Handler = Callable[[Event[Any]], Awaitable[None]]
OnBuried = Callable[[Event[Any], str], Awaitable[None]]
REMEMBERED = 10_000
UNREADABLE = "unreadable"


@dataclass(frozen=True)
class ChannelHandler:
    """The handler of a channel. `slots` messages are handled at once; while `gate` is not set, none is fetched.

    `when_buried` runs before a message is buried, so that it can publish the failure to those that wait for a result.
    """

    channel: Channel[Any]
    handle: Handler
    slots: int = 16
    gate: Gate | None = None
    when_buried: OnBuried | None = None


class FirstFailures:
    """The instants at which messages began to fail, as this process saw it; the newest `REMEMBERED` messages."""

    def __init__(self) -> None:
        self._at: OrderedDict[int, datetime] = OrderedDict()

    def failing(self, seq: int, now: datetime) -> timedelta:
        first = self._at.setdefault(seq, now)
        if len(self._at) > REMEMBERED:
            self._at.popitem(last=False)
        return now - first

    def forget(self, seq: int) -> None:
        self._at.pop(seq, None)


@dataclass(kw_only=True)
class Handling:
    """Handles the messages of a channel for one service. `limit`: seconds after which a handler is ended."""

    handler: ChannelHandler
    service: str
    bus: Bus
    clock: Clock
    random: Random
    outages: tuple[type[Exception], ...]
    limit: float
    marks: HandlingMarks
    _failures: FirstFailures = field(default_factory=FirstFailures, init=False)
    _unburied: dict[int, Bury] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._log = logger(service=self.service, channel=self.handler.channel.name)
        metrics.DEAD_LETTERS.labels(self.service, self.handler.channel.name)  # 0 first: a rate needs where it began

    async def __call__(self, message: Msg, config: Consumer) -> None:
        """Handle one message, and log its outcome in one line."""
        started, beat = perf_counter(), Heartbeat(message, config.ack_wait / 3)
        facts: dict[str, Any] = {"deliveries": message.metadata.num_delivered, "subject": message.subject}
        try:
            outcome = await self._attempt(message, config, facts)
        except asyncio.CancelledError:
            outcome = "handed back"
            with contextlib.suppress(NatsError):
                await hand_back(message)
        except Exception as error:  # the acknowledgement failed: the server is down, and will redeliver the message
            outcome, facts["reason"] = "unsettled", repr(error)
        finally:
            beat.stop()
        seconds = perf_counter() - started
        channel = self.handler.channel.name
        metrics.MESSAGES.labels(self.service, channel, outcome).inc()
        exemplar = metrics.exemplar(facts.get("trace_id", ""))
        metrics.HANDLING_SECONDS.labels(self.service, channel).observe(seconds, exemplar)
        log = self._log.info if outcome == "done" else self._log.warning
        if outcome == UNREADABLE and facts["deliveries"] > 1:  # it was logged, and comes again all day
            log = self._log.debug
        log("handled", outcome=outcome, seconds=round(seconds, 4), **facts)

    async def _attempt(self, message: Msg, config: Consumer, facts: dict[str, Any]) -> str:
        channel, event = self.handler.channel, None
        if (verdict := self._unburied.get(message.metadata.sequence.stream)) is not None:
            facts["reason"] = verdict.reason
            return await self._bury(message, config, verdict)
        try:
            event = parse_event(channel.payload, message.headers, message.data, expected=channel.type)
            facts |= {"event_id": event.id, "trace_id": traces.trace_id(event.traceparent)}
            facts |= {
                key: getattr(event.data, key) for key in ("execution_id", "trigger_id") if hasattr(event.data, key)
            }
            async with self.marks.around(message, config.durable):
                await self._handle(event)
        except Exception as error:
            return await self._failed(message, config, event, error, facts)
        await acknowledge(message)
        self._failures.forget(message.metadata.sequence.stream)
        return "done"

    async def _handle(self, event: Event[Any]) -> None:
        limit = asyncio.timeout(self.limit)
        try:
            async with limit:
                await self.handler.handle(event)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise Transient(f"its handler was ended after {self.limit:g} s (ROTA_HANDLING_LIMIT)") from error

    async def _failed(
        self, message: Msg, config: Consumer, event: Event[Any] | None, error: Exception, facts: dict[str, Any]
    ) -> str:
        meta, now = message.metadata, self.clock()
        attempt = Attempt(
            deliveries=meta.num_delivered,
            age=now - meta.timestamp,
            failing=self._failures.failing(meta.sequence.stream, now),
            parsed=event is not None,
        )
        verdict = decide(error, attempt, random=self.random, outages=self.outages)
        facts["reason"] = verdict.reason
        match verdict:
            case Later(delay):
                await hand_back(message, delay)
                return "later" if event is not None else UNREADABLE
            case Bury():
                if event is not None and self.handler.when_buried is not None:
                    await self.handler.when_buried(event, verdict.reason)
                return await self._bury(message, config, verdict)

    async def _bury(self, message: Msg, config: Consumer, verdict: Bury) -> str:
        """While the dead letters are full the message comes again later, to be buried then and not handled again."""
        seq = message.metadata.sequence.stream
        self._unburied[seq] = verdict
        if len(self._unburied) > REMEMBERED:
            self._unburied.pop(next(iter(self._unburied)))
        try:
            await bury(message, self.bus.jetstream, consumer=config.durable, verdict=verdict, at=self.clock())
        except APIError as error:
            self._log.error("the dead letters are full", subject=message.subject, error=repr(error))
            deliveries = message.metadata.num_delivered
            await hand_back(message, backoff(deliveries, random=self.random, cap=UNBURIED_CAP_S))
            return "unburied"
        self._unburied.pop(seq, None)
        self._failures.forget(seq)
        metrics.DEAD_LETTERS.labels(self.service, self.handler.channel.name).inc()
        return "buried"


class Heartbeat:
    """A sign of life for a message every so many seconds, from when it is made until `stop`; by a timer, as most
    messages are handled before the first."""

    def __init__(self, message: Msg, every: float) -> None:
        self._message, self._every = message, every
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(every, self._beat)
        self._sending: asyncio.Task[None] | None = None

    def stop(self) -> None:
        self._timer.cancel()

    def _beat(self) -> None:
        self._sending = asyncio.create_task(self._send())
        self._timer = self._loop.call_later(self._every, self._beat)

    async def _send(self) -> None:
        with contextlib.suppress(NatsError):
            await still_working(self._message)
