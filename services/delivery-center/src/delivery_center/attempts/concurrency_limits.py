"""Concurrency limits: how many attempts run at one target at once, so that a slow one doesn't take all workers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

MAX_WAIT_S = 2.0
"""How long an attempt waits for a slot. One that expects to wait longer doesn't wait at all."""


@dataclass
class _Slots:
    """`users`: running or waiting. `started`: when the running ones started. `last_s`: seconds that the last took."""

    free: asyncio.Semaphore
    users: int = 0
    started: list[float] = field(default_factory=list)
    last_s: float = 0.0


class ConcurrencyLimits:
    """`limit` concurrent attempts at each target, first come, first served."""

    def __init__(self, limit: int, *, max_wait: float = MAX_WAIT_S) -> None:
        self._limit = limit
        self._max_wait = max_wait
        self._targets: dict[str, _Slots] = {}

    @asynccontextmanager
    async def slot(self, target: str) -> AsyncIterator[bool]:
        """A slot of the target; False if none is free soon."""
        slots = self._targets.setdefault(target, _Slots(asyncio.Semaphore(self._limit)))
        slots.users += 1
        try:
            if not await self._acquire(slots):
                yield False
                return
            started = _now()
            slots.started.append(started)
            try:
                yield True
            finally:
                slots.started.remove(started)
                slots.last_s = _now() - started
                slots.free.release()
        finally:
            slots.users -= 1
            if slots.users == 0:
                del self._targets[target]

    async def _acquire(self, slots: _Slots) -> bool:
        if self._expected_wait(slots) > self._max_wait:
            return False
        try:
            async with asyncio.timeout(self._max_wait):
                await slots.free.acquire()
        except TimeoutError:
            return False
        return True

    def _expected_wait(self, slots: _Slots) -> float:
        """Seconds until a slot is free for an attempt that comes now, by the slowest known one."""
        waiting = slots.users - len(slots.started)
        if slots.users <= self._limit:
            return 0.0
        slowest = max(slots.last_s, _now() - min(slots.started, default=_now()))
        return slowest * waiting / self._limit


def _now() -> float:
    return asyncio.get_running_loop().time()
