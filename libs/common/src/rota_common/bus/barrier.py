"""A barrier: everything that was written before it has been processed by the server."""

from nats.aio.client import Client


async def barrier(client: Client, *, timeout: int = 10) -> None:
    """Return once the server has processed everything written before, subscriptions included. Raises NatsError if a
    round trip takes longer than `timeout` seconds.

    Two round trips: nats-py's `flush` sends its PING ahead of commands that still wait for the flusher (2.16); by the
    time of the first PONG they are sent, so the second PING follows them.
    """
    for _ in range(2):
        await client.flush(timeout)
