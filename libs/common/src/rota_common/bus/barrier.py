"""Barriers: what was written before one has been processed by the server, and what the server sent has arrived."""

import asyncio
import contextlib

from nats.aio.client import Client
from nats.aio.subscription import Subscription
from nats.errors import ConnectionClosedError, FlushTimeoutError
from nats.errors import Error as NatsError


async def barrier(client: Client, *, timeout: int = 10) -> None:
    """Return once the server has processed everything written before, subscriptions included. Raises NatsError if a
    round trip takes longer than `timeout` seconds.

    Two round trips: nats-py sends a PING ahead of commands that still wait for the flusher (2.16); by the
    time of the first PONG they are sent, so the second PING follows them.
    """
    for _ in range(2):
        await _round_trip(client, timeout=timeout)


async def _round_trip(client: Client, *, timeout: int) -> None:
    """As nats-py's `flush`, whose PONG, if it comes after the flush was cancelled or timed out, ends the reading of the
    connection for good, while that counts as connected (2.16): here it finds a future that takes it."""
    if client.is_closed:
        raise ConnectionClosedError
    pong: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
    await client._send_ping(pong)
    try:
        await asyncio.wait_for(asyncio.shield(pong), timeout)
    except TimeoutError:
        raise FlushTimeoutError from None


async def leave(client: Client, subscription: Subscription, *, timeout: int) -> None:
    """End a subscription; return once its callback has had every message that the server sent.

    Not nats-py's `drain`: its PING may overtake its UNSUB (2.16), and what the server sends between is dropped. Without
    a server, or when it doesn't answer within `timeout` seconds, the subscription ends at once.
    """
    with contextlib.suppress(NatsError, OSError, TimeoutError):
        if client.is_connected:
            await client._send_unsubscribe(subscription._id)
            await barrier(client, timeout=timeout)
            await asyncio.wait_for(subscription._pending_queue.join(), timeout)
    with contextlib.suppress(NatsError, OSError):
        await subscription.unsubscribe()
