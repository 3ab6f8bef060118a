"""JetStream's client over streams in memory, for `in_memory_bus`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from nats.js.errors import NotFoundError

from rota_common.testing.in_memory_stream import Delivered, InMemoryMessage, Pending, StreamLog, headers_of, matches


class Server(Protocol):
    """What the client needs of the bus."""

    streams: dict[str, StreamLog]
    consumers: dict[str, Pending]

    def check(self) -> None:
        """Raise nats.errors.Error during an outage."""
        ...

    async def store(self, subject: str, data: bytes, headers: Mapping[str, str]) -> Delivered: ...


@dataclass(frozen=True)
class InMemoryJetStream:
    bus: Server

    async def publish(
        self,
        subject: str,
        payload: bytes = b"",
        timeout: float | None = None,
        stream: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Delivered:
        self.bus.check()
        return await self.bus.store(subject, payload, dict(headers or {}))

    async def pull_subscribe_bind(self, *, durable: str, stream: str) -> Pending:
        self.bus.check()
        return self.bus.consumers[durable]

    async def consumer_info(self, stream: str, durable: str, timeout: float | None = None) -> Any:
        self.bus.check()
        self.bus.consumers[durable].bound = True  # by a service that starts
        return self.bus.consumers[durable].config

    async def get_msg(
        self, stream: str, seq: int | None = None, subject: str | None = None, next: bool = False, direct: bool = False
    ) -> InMemoryMessage:
        """Raises NotFoundError."""
        self.bus.check()
        messages = self.bus.streams[stream].messages
        later = (each for at, each in messages.items() if at >= (seq or 1) and matches(subject or ">", each.subject))
        found = next_of(later) if next else messages.get(seq or 0)
        if found is None:
            raise NotFoundError
        return replace(found, headers=headers_of(found)) if direct else found

    async def get_last_msg(self, stream: str, subject: str, direct: bool = False) -> InMemoryMessage:
        """Raises NotFoundError."""
        log = self.bus.streams[stream]
        return await self.get_msg(stream, log.last_seq(subject) or None, direct=direct)

    async def delete_msg(self, stream: str, seq: int) -> bool:
        self.bus.check()
        return self.bus.streams[stream].messages.pop(seq, None) is not None


def next_of(found: Iterator[InMemoryMessage]) -> InMemoryMessage | None:
    return next(found, None)
