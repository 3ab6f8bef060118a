"""Work that a cancellation must not cut off: a lease that is released though its loop is cancelled again."""

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, or its error; the caller's cancellations wait until then. Services cancel their loops
    again and again while they stop."""
    task = asyncio.ensure_future(work)
    while not task.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait((task,))
    return task.result()
