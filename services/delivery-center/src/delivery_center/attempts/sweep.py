"""The sweeper: claims deliveries that are due and retries them. Every replica runs one; claims divide the work."""

import asyncio
from dataclasses import dataclass

from delivery_center.attempts.retry import Retry
from delivery_center.domain.delivery import Delivery
from rota_common.runtime.logs import logger

WORKERS = 32
"""Concurrent retries: a slow receiver occupies one of these for no longer than its timeout."""


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """`interval`: seconds between two claims while nothing is due."""

    retry: Retry
    interval: float

    async def __call__(self) -> None:
        """Run for ever. Each claim starts a retry, and goes on while earlier ones run."""
        free = asyncio.Semaphore(WORKERS)
        async with asyncio.TaskGroup() as running:
            while True:
                await free.acquire()
                delivery = await self._claim()
                if delivery is None:
                    free.release()
                    await asyncio.sleep(self.interval)
                else:
                    running.create_task(self._one(delivery, free))

    async def _claim(self) -> Delivery | None:
        try:
            return await self.retry.claim()
        except Exception as error:  # the store is unavailable: running retries go on, and the claim is repeated
            logger(service="delivery-center").warning("can't claim", reason=repr(error))
            return None

    async def _one(self, delivery: Delivery, free: asyncio.Semaphore) -> None:
        try:
            await self.retry(delivery)
        except Exception:  # its claim expires, and it is claimed again; the others go on
            logger(service="delivery-center").exception("retry failed", request_id=delivery.request_id)
        finally:
            free.release()
