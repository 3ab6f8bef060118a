"""A budget of bytes in memory, for what is large."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class ByteBudget:
    """`limit` bytes for all holders together, first come, first served. One that needs more than all waits for all."""

    def __init__(self, limit: int) -> None:
        self._limit = self._free = limit
        self._turn = asyncio.Lock()
        self._returned = asyncio.Condition()

    @asynccontextmanager
    async def taken(self, count: int) -> AsyncIterator[None]:
        if count == 0:
            yield
            return
        wanted = min(count, self._limit)
        async with self._turn, self._returned:
            await self._returned.wait_for(lambda: self._free >= wanted)
            self._free -= wanted
        try:
            yield
        finally:
            self._free += wanted
            async with self._returned:
                self._returned.notify_all()
