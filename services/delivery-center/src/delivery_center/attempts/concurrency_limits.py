"""How many attempts run at one place at once, so that a slow one doesn't take all the workers there are."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

PATIENCE_S = 2.0
"""How long an attempt waits for its turn at a place. Who can't expect it by then doesn't wait at all."""


@dataclass
class _Slots:
    """`users`: under way or waiting. `began`: when those under way did. `took`: seconds, the one that ended last."""

    free: asyncio.Semaphore
    users: int = 0
    began: list[float] = field(default_factory=list)
    took: float = 0.0


class ConcurrencyLimits:
    """`limit` attempts at each place at once, first come, first served."""

    def __init__(self, limit: int, *, patience: float = PATIENCE_S) -> None:
        self._limit, self._patience = limit, patience
        self._places: dict[str, _Slots] = {}

    @asynccontextmanager
    async def slot(self, name: str) -> AsyncIterator[bool]:
        """Is it this attempt's turn at the place? False if it doesn't come soon."""
        place = self._places.setdefault(name, _Slots(asyncio.Semaphore(self._limit)))
        place.users += 1
        try:
            if not await self._acquire(place):
                yield False
                return
            began = _now()
            place.began.append(began)
            try:
                yield True
            finally:
                place.began.remove(began)
                place.took = _now() - began
                place.free.release()
        finally:
            place.users -= 1
            if place.users == 0:
                del self._places[name]

    async def _acquire(self, place: _Slots) -> bool:
        if self._expected(place) > self._patience:
            return False
        try:
            async with asyncio.timeout(self._patience):
                await place.free.acquire()
        except TimeoutError:
            return False
        return True

    def _expected(self, place: _Slots) -> float:
        """Seconds until whoever comes now has its turn, going by the slowest that is known of."""
        waiting = place.users - len(place.began)
        if place.users <= self._limit:
            return 0.0
        slowest = max(place.took, _now() - min(place.began, default=_now()))
        return slowest * waiting / self._limit


def _now() -> float:
    return asyncio.get_running_loop().time()
