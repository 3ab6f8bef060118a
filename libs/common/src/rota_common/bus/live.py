"""Live events: plain subscriptions to facts as they are published, without storage or acknowledgement."""

import asyncio
import contextlib
import itertools
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any

from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from pydantic import ValidationError

from rota_common.bus.barrier import barrier
from rota_common.bus.connection import Bus
from rota_common.runtime.logs import logger
from rota_contracts.catalog import Channel
from rota_contracts.envelope import EnvelopeError, Event, parse_event
from rota_contracts.upcasting import Upcast, readings

EVENTS_LIMIT = 256
FLUSH_S = 2


class Events:
    """The buffer of one listener: at most `limit` events, then the oldest is dropped and counted."""

    def __init__(self, limit: int) -> None:
        self._waiting: deque[Event[Any]] = deque(maxlen=limit)
        self._more = asyncio.Event()
        self._dropped = 0

    def put(self, event: Event[Any]) -> None:
        self._dropped += len(self._waiting) == self._waiting.maxlen
        self._waiting.append(event)
        self._more.set()

    async def next(self) -> Event[Any]:
        """The oldest buffered event; waits for one."""
        while not self._waiting:
            self._more.clear()
            await self._more.wait()
        return self._waiting.popleft()

    def dropped(self) -> int:
        """The number of events dropped since the last call."""
        count, self._dropped = self._dropped, 0
        return count


class LiveEvents:
    """Plain subscriptions of one service. Events during an outage of NATS are missed."""

    def __init__(self, bus: Bus, *, service: str) -> None:
        self._bus, self._log = bus, logger(service=service)

    @contextlib.asynccontextmanager
    async def listen(
        self, channels: Iterable[Channel[Any]], *, team: str = "*", member: str = "*", limit: int = EVENTS_LIMIT
    ) -> AsyncIterator[Events]:
        """Receive the facts of `channels` of a team and member, until the end of the block.

        The server has the subscriptions when the block begins, so that nothing published inside it is missed.
        Raises nats.errors.Error if the bus isn't connected.
        """
        if not self._bus.connected:
            raise NatsError("not connected to NATS")
        events, client = Events(limit), self._bus.client
        async with contextlib.AsyncExitStack() as stack:
            for channel, upcast in itertools.chain.from_iterable(map(readings, channels)):
                subscription = await client.subscribe(
                    channel.subject(team, member), cb=self._receiving(channel, upcast, events)
                )
                stack.push_async_callback(_leave, subscription.unsubscribe)
            await barrier(client, timeout=FLUSH_S)
            yield events

    def _receiving(
        self, channel: Channel[Any], upcast: Upcast[Any], events: Events
    ) -> Callable[[Msg], Awaitable[None]]:
        async def receive(message: Msg) -> None:
            try:
                event = parse_event(channel.payload, message.headers, message.data, expected=channel.type)
                events.put(upcast(event))
            except (EnvelopeError, ValidationError) as error:  # its consumers bury it; a listener only misses it
                self._log.debug("unreadable", subject=message.subject, error=str(error))

        return receive


async def _leave(unsubscribe: Callable[[], Awaitable[None]]) -> None:
    with contextlib.suppress(NatsError):  # the connection may be gone, and the subscription with it
        await unsubscribe()
