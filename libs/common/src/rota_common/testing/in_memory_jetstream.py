"""JetStream's client over streams in memory, for `in_memory_bus`."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, Protocol

from nats.errors import MaxPayloadError
from nats.js.errors import NotFoundError

from rota_common.testing.in_memory_stream import (
    MAX_PAYLOAD,
    Delivered,
    InMemoryMessage,
    Pending,
    StreamLog,
    headers_of,
    matches,
)


class Server(Protocol):
    """What the client needs of the bus."""

    streams: dict[str, StreamLog]
    consumers: dict[str, Pending]

    def check(self) -> None:
        """Raise nats.errors.Error during an outage."""
        ...

    async def store(self, subject: str, data: bytes, headers: Mapping[str, str]) -> Delivered: ...


def check_size(payload: bytes) -> None:
    if len(payload) > MAX_PAYLOAD:
        raise MaxPayloadError


@dataclass(frozen=True)
class InMemoryJetStream:
    """`name`: its service."""

    bus: Server
    name: str

    async def publish(
        self,
        subject: str,
        payload: bytes = b"",
        timeout: float | None = None,
        stream: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Delivered:
        self.bus.check()
        check_size(payload)
        return await self.bus.store(subject, payload, dict(headers or {}))

    async def consumer_info(self, stream: str, durable: str, timeout: float | None = None) -> Any:
        self.bus.check()
        consumer = self.bus.consumers[durable]
        consumer.bound = consumer.bound or consumer.config.service == self.name  # by a service that starts
        return SimpleNamespace(config=consumer.config, ack_floor=SimpleNamespace(stream_seq=consumer.ack_floor))

    async def stream_info(self, name: str, subjects_filter: str | None = None) -> Any:
        """The part of a stream's state that services read."""
        self.bus.check()
        log = self.bus.streams.get(name)
        if log is None:  # of a bucket
            raise NotFoundError
        wanted = (each.subject for each in log.messages.values())
        subjects = Counter(subject for subject in wanted if matches(subjects_filter or "", subject))
        state = SimpleNamespace(messages=len(log.messages), bytes=log.size, last_seq=log.last, subjects=dict(subjects))
        return SimpleNamespace(config=SimpleNamespace(name=name, max_bytes=log.stream.max_bytes), state=state)

    async def get_msg(
        self, stream: str, seq: int | None = None, subject: str | None = None, next: bool = False, direct: bool = False
    ) -> InMemoryMessage:
        """Raises NotFoundError."""
        self.bus.check()
        messages = self.bus.streams[stream].messages
        later = (each for at, each in messages.items() if at >= (seq or 1) and matches(subject or ">", each.subject))
        found = [*later][0:1] if next else [messages[seq]] if seq in messages else []
        if not found:
            raise NotFoundError
        return replace(found[0], headers=headers_of(found[0])) if direct else found[0]

    async def get_last_msg(self, stream: str, subject: str, direct: bool = False) -> InMemoryMessage:
        """Raises NotFoundError."""
        log = self.bus.streams[stream]
        return await self.get_msg(stream, log.last_seq(subject) or None, direct=direct)

    async def delete_msg(self, stream: str, seq: int) -> bool:
        self.bus.check()
        return self.bus.streams[stream].remove(seq)
