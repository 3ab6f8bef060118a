"""The dispatcher's lease, renewed beside the work that it is held for."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from time import monotonic

from scheduler.ports import LeaseLost, Queue

STUCK_AFTER = 5
"""Leases that a takeover or a turn may take: the lease of a dispatcher that hangs is not renewed, and ends."""


@dataclass(kw_only=True)
class KeepLease:
    """A takeover or a turn may take longer than the `lease` (in seconds) on a busy machine. If another replica began
    the same then, and needed as long, none would ever get on."""

    queue: Queue
    owner: str
    lease: float
    _got_on: float = field(default=0, init=False)

    def get_on(self) -> None:
        """To be called before each takeover and turn."""
        self._got_on = monotonic()

    async def during(self, work: Coroutine[None, None, None], *, epoch: int) -> None:
        """Raises what the work raises, or LeaseLost when the lease isn't this epoch's any more; the work is cancelled
        then."""
        self.get_on()
        working, renewing = asyncio.create_task(work), asyncio.create_task(self._renew(epoch))
        try:
            await asyncio.wait([working, renewing], return_when=asyncio.FIRST_COMPLETED)
            for ended in (working, renewing):
                if ended.done():
                    return ended.result()
        finally:
            working.cancel()
            renewing.cancel()
            await asyncio.gather(working, renewing, return_exceptions=True)

    async def _renew(self, epoch: int) -> None:
        while True:
            await asyncio.sleep(self.lease / 3)
            stuck = monotonic() - self._got_on > STUCK_AFTER * self.lease
            if not stuck and await self.queue.acquire(self.owner) != epoch:
                raise LeaseLost(f"epoch {epoch} of the dispatcher's lease is over")
