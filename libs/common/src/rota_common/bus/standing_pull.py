"""Standing pulls: one request to a durable consumer for as many messages as slots are free.

The request stands at the server until its messages have come or it expires, so a message needs no request of its own
while slots are free, and none is delivered beyond a free slot. There is one request at a time: once it is over, the
number of messages that may still come is known to be none.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Protocol

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError

from rota_common.bus.barrier import leave
from rota_contracts.streams import Consumer

Take = Callable[[Msg], Awaitable[None]]
Wake = Callable[[], None]

EXPIRES_S = 5.0
"""How long a request stands: a process that hangs is sent no more messages after it."""

LIFE_S = EXPIRES_S + 2.0
"""After this, a request of which the server has sent no end is lost."""

CLOSE_S = 2
EXPIRED = "408"


class Pull(Protocol):
    """The messages of a consumer, for one worker."""

    def standing(self) -> bool:
        """Whether `ask` would have nothing to do."""
        ...

    async def ask(self, free: int) -> None:
        """Request at most `free` messages, unless a request stands. Raises nats.errors.Error once the server serves the
        last one no more: the pull is to be closed then, and another one opened."""
        ...

    async def close(self) -> None:
        """Take the request back; return when every message that was on its way has been taken."""
        ...


class StandingPull:
    """The pull of a worker over NATS. `take` is called with each message, in their order; `wake` when the worker should
    ask again."""

    def __init__(self, client: Client, consumer: Consumer, *, take: Take, wake: Wake) -> None:
        self._client = client
        self._take, self._wake = take, wake
        self._request = f"$JS.API.CONSUMER.MSG.NEXT.{consumer.stream}.{consumer.durable}"
        self._inbox = client.new_inbox()
        self._connection = client.stats["reconnects"]
        self._time = asyncio.get_running_loop().time
        self._left, self._until = 0, 0.0
        self._ended = ""
        self._messages: Subscription | None = None

    async def open(self) -> "StandingPull":
        self._messages = await self._client.subscribe(self._inbox, cb=self._received, pending_bytes_limit=0)
        return self

    def standing(self) -> bool:
        return self._left > 0 and not self._ended

    async def ask(self, free: int) -> None:
        if self._client.stats["reconnects"] != self._connection:
            raise NatsError("the connection is another one: its server may have lost the request, or serve it still")
        if self._ended:
            raise NatsError(self._ended)
        if self._left and self._time() > self._until:
            raise NatsError(f"no sign of {self._left} requested messages, nor of the request's end")
        if self._left or not free:
            return
        self._left, self._until = free, self._time() + LIFE_S
        request = {"batch": free, "expires": int(EXPIRES_S * 1e9)}
        await self._client.publish(self._request, json.dumps(request).encode(), reply=self._inbox)

    async def close(self) -> None:
        if self._messages is not None:
            await leave(self._client, self._messages, timeout=CLOSE_S)

    async def _received(self, message: Msg) -> None:
        if message.reply:  # where to acknowledge it: what has none is a word about the request
            self._left = max(0, self._left - 1)
            await self._take(message)
            return
        headers = message.headers or {}
        self._left = 0
        if (status := headers.get("Status")) != EXPIRED:
            self._ended = f"the request ended: {status} {headers.get('Description', '')}"
        self._wake()
