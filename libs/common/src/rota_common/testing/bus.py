"""Observers of a real bus, as programs outside see it."""

import asyncio
import json
from collections.abc import Callable
from typing import Any, TypeVar

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.api import ConsumerConfig

from rota_common.bus.barrier import barrier
from rota_common.testing.patience import PATIENCE_S
from rota_contracts.catalog import Channel
from rota_contracts.envelope import Event, parse_event
from rota_contracts.model import Payload
from rota_contracts.streams import STREAMS, consumers

WITNESS = "witness"
"""The name of the consumer of `keep_all`."""

P = TypeVar("P", bound=Payload)


class Listener:
    """Receives every message under `subject` from now on; `await received(n)` waits for the n-th."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.messages: list[Msg] = []
        self._more = asyncio.Condition()

    @classmethod
    async def to(cls, url: str, subject: str) -> "Listener":
        listener = cls(await nats.connect(url))
        await listener._client.subscribe(subject, cb=listener._receive)
        await barrier(listener._client)
        return listener

    async def _receive(self, message: Msg) -> None:
        async with self._more:
            self.messages.append(message)
            self._more.notify_all()

    async def received(self, count: int = 1, *, timeout: float = PATIENCE_S) -> list[Msg]:
        """The messages, once there are at least `count`; TimeoutError names the number received."""
        try:
            async with self._more:
                await asyncio.wait_for(self._more.wait_for(lambda: len(self.messages) >= count), timeout)
        except TimeoutError:
            raise TimeoutError(f"expected {count} messages within {timeout} s, got {len(self.messages)}") from None
        return self.messages

    async def until(self, last: Callable[[dict[str, Any]], bool], *, timeout: float = PATIENCE_S) -> list[Msg]:
        """The messages, once the payload of one is the `last` that is waited for."""
        while not any(last(json.loads(message.data)) for message in self.messages):
            await self.received(len(self.messages) + 1, timeout=timeout)
        return self.messages

    async def distinct(
        self, count: int, name: Callable[[dict[str, Any]], str], *, timeout: float = PATIENCE_S
    ) -> list[str]:
        """The payloads' names, each once, as soon as there are `count`: a plain listener also receives duplicates that
        the stream drops."""
        while True:
            seen = len(self.messages)
            found = list(dict.fromkeys(name(json.loads(message.data)) for message in self.messages))
            if len(found) >= count:
                return found
            await self.received(seen + 1, timeout=timeout)

    async def close(self) -> None:
        await self._client.close()


async def keep_all(url: str) -> None:
    """Keep what is handled in the streams that keep by interest, by a consumer that acknowledges nothing, so that tests
    can look at it: `stored`."""
    client = await nats.connect(url)
    for stream in STREAMS:
        if stream.retention == "interest":
            await client.jetstream().add_consumer(stream.name, ConsumerConfig(durable_name=WITNESS, filter_subject=">"))
    await client.close()


async def keep_none(url: str) -> None:
    """Undo `keep_all`."""
    client = await nats.connect(url)
    for stream in STREAMS:
        if stream.retention == "interest":
            await client.jetstream().delete_consumer(stream.name, WITNESS)
    await client.close()


async def stored(url: str, channel: Channel[P]) -> list[Event[P]]:
    """All stored events of a channel, oldest first; those that are handled too, on a server with `keep_all`."""
    client = await nats.connect(url)
    jetstream = client.jetstream()
    events: list[Event[P]] = []
    try:
        unlimited = ConsumerConfig(max_ack_pending=-1)  # nothing is acknowledged; the server would stop at 1,000
        source = await jetstream.pull_subscribe(channel.pattern, stream=channel.stream, config=unlimited)
        pending = (await source.consumer_info()).num_pending or 0
        while len(events) < pending:
            for message in await source.fetch(pending - len(events), timeout=PATIENCE_S):
                events.append(parse_event(channel.payload, message.headers, message.data, expected=channel.type))
    finally:
        await client.close()
    return events


async def short_ack_wait(url: str, service: str) -> None:
    """Redeliver the messages of a dead replica of this service after a second."""
    client = await nats.connect(url)
    jetstream = client.jetstream()
    for consumer in (each for each in consumers() if each.service == service):
        config = (await jetstream.consumer_info(consumer.stream, consumer.durable)).config
        config.ack_wait = 1
        await jetstream.add_consumer(consumer.stream, config)
    await client.close()


async def shorten_duplicate_window(url: str, stream: str, *, after: float = 0.1) -> None:
    """Shorten the stream's duplicate window to `after` seconds."""
    client = await nats.connect(url)
    jetstream = client.jetstream()
    config = (await jetstream.stream_info(stream)).config
    config.duplicate_window = after
    await jetstream.update_stream(config)
    await client.close()
