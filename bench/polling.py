"""Polling of conditions that other processes fulfil."""

import asyncio
from collections.abc import Awaitable, Callable

LOOK_S = 0.02


async def until(condition: Callable[[], Awaitable[bool]], *, patience: float = 300.0, look: float = LOOK_S) -> None:
    """Return once `condition` holds; TimeoutError if it doesn't within `patience` seconds."""
    async with asyncio.timeout(patience):
        while not await condition():  # noqa: ASYNC110  # other processes send no signal
            await asyncio.sleep(look)
