"""The dispatcher's lease, as a test acquires it before it writes."""

import asyncio

from scheduler.ports import Queue


async def acquired(queue: Queue, owner: str = "first") -> int:
    """The epoch, once the lease is free and the database has said so: a busy one says it at a later try."""
    while (epoch := await queue.acquire(owner)) is None:
        await asyncio.sleep(0.01)
    return epoch
