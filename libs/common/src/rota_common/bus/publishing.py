"""Publishing of facts: ids are derived from the cause, so publishing a fact twice stores it once."""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import TypeVar

from nats.errors import Error as NatsError

from rota_common.bus.connection import Bus
from rota_common.clock import Clock
from rota_common.errors import Permanent
from rota_common.runtime import metrics, traces
from rota_contracts.catalog import Channel
from rota_contracts.envelope import MSG_ID, Event
from rota_contracts.ids import fact_id, random_id
from rota_contracts.model import Payload

P = TypeVar("P", bound=Payload)

TIMEOUT_S = 5.0
"""Timeout of JetStream's acknowledgement; its own default is 0.5 s."""

GATHER_S = 0.025
"""How long a hint may wait, to be sent together with others."""

GATHERED = 64
"""Hints that are sent at once together."""

FRAMING = 1024
"""Bytes that a message's frame and the server's own headers may take."""

IN_FEED = "{type} is part of the feed, whose facts are counted: publish it with rota_common.bus.feed.Feed"


class TooLarge(Permanent):
    """The message has more bytes than a message of the bus may have: no retry will change that."""


def room(bus: Bus) -> int:
    """Bytes that a message's headers and body may have."""
    return bus.client.max_payload - FRAMING


def check_size(bus: Bus, what: str, body: bytes, headers: Mapping[str, str]) -> None:
    """Raise TooLarge for a message that the server would refuse, together with the connection that sends it."""
    limit = room(bus)
    size = len(body) + sum(map(len, headers)) + sum(map(len, headers.values())) + 4 * len(headers)
    if size > limit:
        raise TooLarge(
            f"{what} has {size} bytes, and a message may have {limit}: pass long texts and files on by reference"
        )


class NotInCatalog(ValueError):
    """The catalog does not list the service as a publisher or caller."""


class Publish:
    """`await publish(CHANNEL, payload, caused_by=event)`, for one service."""

    def __init__(self, bus: Bus, *, source: str, clock: Clock) -> None:
        self._bus = bus
        self._source, self._clock = source, clock
        self._hints: list[tuple[str, bytes, dict[str, str]]] = []
        self._sending: asyncio.Task[None] | None = None

    async def __call__(
        self,
        channel: Channel[P],
        data: P,
        *,
        caused_by: Event[Payload] | str,
        step: str = "",
        again: int = 0,
        trace: str = "",
    ) -> Event[P]:
        """Publish `data`, wait until the stream has stored it, and return the event.

        `caused_by` is the event being handled, or the id of the cause. `step` distinguishes several facts of one
        channel and cause. `again` > 0 resends a fact on purpose, past JetStream's deduplication.
        `trace` is the traceparent to continue if the cause is an id.
        Raises nats.errors.Error if the stream didn't store it, TooLarge if it never will, NotInCatalog for a channel of
        the feed.
        """
        event = self.event(channel, data, caused_by=caused_by, step=step, trace=trace)
        await self._store(channel, event, again)
        return event

    async def first(self, channel: Channel[P], data: P, *, caused_by: Event[Payload] | str, trace: str = "") -> bool:
        """Publish, and return whether the fact was new to the stream: False for a duplicate."""
        return await self._store(channel, self.event(channel, data, caused_by=caused_by, trace=trace), again=0)

    def event(
        self, channel: Channel[P], data: P, *, caused_by: Event[Payload] | str, step: str = "", trace: str = ""
    ) -> Event[P]:
        """The event as `publish` would send it, without publishing."""
        self._check(channel)
        cause, traceparent = (caused_by, trace) if isinstance(caused_by, str) else (caused_by.id, caused_by.traceparent)
        return Event(
            id=fact_id(cause, channel.subject(data.team_id, data.member_id), step),
            type=channel.type,
            source=self._source,
            time=self._clock(),
            data=data,
            cause=cause,
            traceparent=traces.continued(traceparent, cause=cause),
        )

    async def observe(self, channel: Channel[P], data: P) -> None:
        """Publish without a stream, for facts whose loss does no harm: a failure is ignored."""
        await self._send([self._observed(channel, data)])

    async def hint(self, channel: Channel[P], data: P) -> None:
        """`observe` for what may wait a moment: it goes with the next fact, or with the hints of the next 25 ms."""
        self._hints.append(self._observed(channel, data))
        if len(self._hints) >= GATHERED:
            await self.flush()
        elif self._sending is None:
            self._sending = asyncio.create_task(self._send_soon(), name=f"{self._source}: hints")

    async def flush(self) -> None:
        """Send the hints that wait, in their order."""
        if self._hints:
            hints, self._hints = self._hints, []
            await self._send(hints)

    async def stop(self) -> None:
        """Send the last ones: nothing is gathered any more."""
        if self._sending is not None:
            self._sending.cancel()
            self._sending = None
        await self.flush()

    async def _send_soon(self) -> None:
        await asyncio.sleep(GATHER_S)
        self._sending = None
        await self.flush()

    async def _send(self, observed: Sequence[tuple[str, bytes, dict[str, str]]]) -> None:
        """The client writes them together: it doesn't pause between them."""
        for subject, body, headers in observed:
            with contextlib.suppress(NatsError):
                await self._bus.client.publish(subject, body, headers=headers)

    def _observed(self, channel: Channel[P], data: P) -> tuple[str, bytes, dict[str, str]]:
        self._check(channel)
        event = Event(
            id=random_id(),
            type=channel.type,
            source=self._source,
            time=self._clock(),
            data=data,
        )
        return channel.subject(data.team_id, data.member_id), event.body(), event.headers()

    async def _store(self, channel: Channel[P], event: Event[P], again: int) -> bool:
        if channel.sequenced:
            raise NotInCatalog(IN_FEED.format(type=channel.type))
        headers = event.headers()
        if again:
            headers[MSG_ID] = f"{event.id}:{again}"
        subject, body = channel.subject(event.data.team_id, event.data.member_id), event.body()
        check_size(self._bus, channel.type, body, headers)
        await self.flush()  # a reader of both sees the hints before the fact that ends them
        stored = await self._bus.jetstream.publish(
            subject, body, timeout=TIMEOUT_S, stream=channel.stream, headers=headers
        )
        metrics.PUBLISHED.labels(self._source, channel.name).inc()
        return not stored.duplicate

    def _check(self, channel: Channel[P]) -> None:
        if self._source not in channel.producers:
            raise NotInCatalog(f"{self._source} is not a producer of {channel.type}: add it to rota_contracts.catalog")
