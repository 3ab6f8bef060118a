"""NATS in memory: streams, consumers, requests and plain subscriptions of one process, under the real bus code.

Publishing, consuming, the failure policy and request/reply run as in production; only the server is replaced. Buckets
(key-value, objects) are not here: services read those through ports of their own. tests/conformance/test_bus.py holds
this and a real nats-server to the same cases.
"""

import asyncio
import json
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, TypeVar
from uuid import uuid4

from nats.errors import Error as NatsError
from nats.errors import NoRespondersError
from nats.errors import TimeoutError as NatsTimeout

from rota_common.bus.publishing import Publish
from rota_common.bus.rpc import Ask, Responder, respond
from rota_common.clock import Clock, now
from rota_common.testing.in_memory_jetstream import InMemoryJetStream, check_size
from rota_common.testing.in_memory_stream import (
    DIRECT_GET,
    MAX_PAYLOAD,
    Delivered,
    InMemoryMessage,
    Pending,
    StreamLog,
    Take,
    matches,
)
from rota_contracts.catalog import Channel, Question
from rota_contracts.envelope import Event, parse_event
from rota_contracts.model import Part, Payload
from rota_contracts.streams import STREAMS, Consumer, consumers

P = TypeVar("P", bound=Payload)
Q = TypeVar("Q", bound=Part)
A = TypeVar("A", bound=Part)
Callback = Callable[[InMemoryMessage], Awaitable[None]]
Respond = Callable[[Any], Awaitable[Any]]


class InMemoryBus:
    """One bus for all services of a test: `Runtime(bus=bus)`, then `build(…)` and `start()` as usual.

    `available = False` is an outage: publishing and asking fail as they do without a server.
    """

    def __init__(self, *, clock: Clock = now) -> None:
        self.available = True
        self.clock = clock
        self.streams = {stream.name: StreamLog(stream) for stream in STREAMS}
        self.consumers = {each.durable: Pending(each, self.handled) for each in consumers()}
        self.subscriptions: dict[str, tuple[str, Callback]] = {}
        self.responders: dict[str, list[Respond]] = defaultdict(list)
        self.changed = asyncio.Condition()

    def connection(self, name: str) -> Any:
        """What a service of this name has in place of its connection to NATS."""
        return InMemoryConnection(self, name)

    async def publish(self, channel: Channel[P], data: P, *, caused_by: Event[Any] | str) -> Event[P]:
        """Publish as a service that the catalog names as a producer of the channel."""
        source = min(channel.producers)
        publish = Publish(self.connection(source), source=source, clock=self.clock)
        if channel.stream is None:
            await publish.observe(channel, data)
            return publish.event(channel, data, caused_by=caused_by)
        return await publish(channel, data, caused_by=caused_by)

    async def ask(self, question: Question[Q, A], request: Q, *, timeout: float | None = None) -> A:
        """Ask as a service that the catalog names as one that asks this question."""
        by = min(question.asked_by)
        return await Ask(self.connection(by), by=by)(question, request, timeout=timeout)

    def answer(self, question: Question[Q, A], handler: Callable[[Q], Awaitable[A]]) -> None:
        """Answer `question` in place of its service."""
        connection = self.connection(question.answered_by)
        respond(connection, question.answered_by, Responder(question, handler), ())
        for responder in connection.answering:
            responder.open()

    def serve(self, subject: str, handler: Callback) -> None:
        """Give messages under `subject` to `handler`, which can `respond` to requests, as a program outside would."""
        self.subscriptions[uuid4().hex] = (subject, handler)

    def responders_to(self, subject: str) -> list[Respond]:
        """The replicas that respond to requests under this subject."""
        return next((found for pattern, found in self.responders.items() if found and matches(pattern, subject)), [])

    def facts(self, channel: Channel[P]) -> list[Event[P]]:
        """Every event of the channel so far, oldest first."""
        log = self.streams[channel.stream or ""]
        return [
            parse_event(channel.payload, each.headers, each.data, expected=channel.type)
            for each in log.history
            if matches(channel.pattern, each.subject)
        ]

    @property
    def dead(self) -> list[InMemoryMessage]:
        """The dead letters, oldest first."""
        return list(self.streams["DEAD"].messages.values())

    async def settled(self, *, timeout: float = 20) -> None:
        """Return once every message has been handled by each running service that consumes it.

        Raises TimeoutError with what is still pending."""
        async with self.changed:
            try:
                await asyncio.wait_for(self.changed.wait_for(self._idle), timeout)
            except TimeoutError:
                left = {name: each.describe() for name, each in self.consumers.items() if not each.idle}
                raise TimeoutError(f"still pending after {timeout:g} s: {left}") from None

    def _idle(self) -> bool:
        return all(each.idle for each in self.consumers.values())

    async def notify(self) -> None:
        async with self.changed:
            self.changed.notify_all()

    async def handled(self, message: InMemoryMessage) -> None:
        """A consumer is done with the message."""
        if not any(each.holds(message.seq) for each in self._readers(message.stream, message.subject)):
            self.streams[message.stream].handled(message.seq)
        await self.notify()

    def _readers(self, stream: str, subject: str) -> list[Pending]:
        of_stream = (each for each in self.consumers.values() if each.config.stream == stream)
        return [each for each in of_stream if matches(each.config.filter_subject, subject)]

    async def store(self, subject: str, data: bytes, headers: Mapping[str, str]) -> Delivered:
        """Keep a message in the stream of its subject and hand it to consumers and subscribers."""
        log = next((each for each in self.streams.values() if each.takes(subject)), None)
        if log is None:
            raise NatsError(f"no stream takes {subject}")
        stored, message = log.append(subject, data, headers, at=datetime.now(UTC))
        if message is not None:
            await self.pass_on(message)
            readers = self._readers(log.name, subject)
            for consumer in readers:
                consumer.put(message)
            if not readers:
                log.handled(message.seq)
            await self.notify()
        return stored

    async def pass_on(self, message: InMemoryMessage) -> None:
        for pattern, callback in list(self.subscriptions.values()):
            if matches(pattern, message.subject):
                await callback(message)

    def check(self) -> None:
        if not self.available:
            raise NatsError("not connected to NATS")


@dataclass
class InMemoryConnection:
    """The part of `rota_common.bus.connection.Bus` that services use, over an `InMemoryBus`."""

    bus: InMemoryBus
    name: str
    answering: list["_Answering"] = field(default_factory=list)

    async def connect(self) -> None:
        self.bus.check()

    async def listen(self) -> None:
        for each in self.answering:
            each.open()

    async def finish_answers(self) -> None:
        for each in self.answering:
            each.close()

    async def stop(self) -> None:
        await self.finish_answers()

    def answer(self, subject: str, answerer: Respond, *, queue: str, workers: int) -> None:
        self.answering.append(_Answering(self.bus, subject, answerer))

    async def pull(self, consumer: Consumer, take: Take, _: Any) -> Any:
        self.bus.check()
        return self.bus.consumers[consumer.durable].pull(take)

    @property
    def connected(self) -> bool:
        return self.bus.available

    @property
    def client(self) -> "_Client":
        return _Client(self.bus)

    @property
    def jetstream(self) -> InMemoryJetStream:
        return InMemoryJetStream(self.bus, self.name)


@dataclass
class _Answering:
    """A handler of requests; open while its service listens."""

    bus: InMemoryBus
    subject: str
    handler: Respond

    def open(self) -> None:
        self.bus.responders[self.subject].append(self.handler)

    def close(self) -> None:
        if self.handler in self.bus.responders[self.subject]:
            self.bus.responders[self.subject].remove(self.handler)


@dataclass(frozen=True)
class _Client:
    bus: InMemoryBus

    @property
    def max_payload(self) -> int:
        return MAX_PAYLOAD

    def new_inbox(self) -> str:
        return f"_INBOX.{uuid4().hex}"

    async def publish(
        self, subject: str, payload: bytes = b"", reply: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        self.bus.check()
        check_size(payload)
        if subject.startswith(DIRECT_GET):
            for found in self.bus.streams[subject.removeprefix(DIRECT_GET)].batch(json.loads(payload)):
                await self.bus.pass_on(InMemoryMessage(reply, b"", found))
            return
        if reply:
            answer = await self._reply(subject, payload, dict(headers or {}), to=reply)
            await self.bus.pass_on(replace(answer, subject=reply))
            return
        await self.bus.pass_on(InMemoryMessage(subject, payload, dict(headers or {})))

    async def request(
        self, subject: str, payload: bytes = b"", timeout: float = 0.5, headers: Mapping[str, str] | None = None
    ) -> InMemoryMessage:
        """Raises NoRespondersError, or nats.errors.TimeoutError after `timeout` seconds."""
        self.bus.check()
        check_size(payload)
        try:
            return await asyncio.wait_for(self._reply(subject, payload, dict(headers or {})), timeout)
        except TimeoutError:
            raise NatsTimeout from None

    async def _reply(self, subject: str, payload: bytes, headers: dict[str, str], *, to: str = "") -> InMemoryMessage:
        if responders := self.bus.responders_to(subject):
            responders.append(responders.pop(0))  # the replicas take turns
            asked = SimpleNamespace(subject=subject, data=payload, headers=headers, reply=to)
            answer = await responders[-1](asked)
            return InMemoryMessage(subject, answer.data, dict(answer.headers))
        reply: asyncio.Future[InMemoryMessage] = asyncio.get_running_loop().create_future()
        for pattern, callback in self.bus.subscriptions.values():
            if matches(pattern, subject):
                await callback(InMemoryMessage(subject, payload, headers, reply=reply))
                return await reply
        raise NoRespondersError

    async def subscribe(self, subject: str, *, cb: Callback | None = None) -> Any:
        """A subscription that calls `cb` with each message, or keeps them for `next_msg`."""
        self.bus.check()
        name = uuid4().hex
        kept: asyncio.Queue[InMemoryMessage] = asyncio.Queue()
        self.bus.subscriptions[name] = (subject, cb or kept.put)

        async def next_msg(timeout: float = 1) -> InMemoryMessage:
            try:
                return await asyncio.wait_for(kept.get(), timeout)
            except TimeoutError:
                raise NatsTimeout from None

        async def unsubscribe() -> None:
            self.bus.subscriptions.pop(name, None)

        return SimpleNamespace(next_msg=next_msg, unsubscribe=unsubscribe)

    @property
    def is_closed(self) -> bool:
        return False

    async def _send_ping(self, pong: "asyncio.Future[bool]") -> None:
        self.bus.check()
        pong.set_result(True)
