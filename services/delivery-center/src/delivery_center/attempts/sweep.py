"""The loop that looks for deliveries that are due. Every replica runs one; claims share the work between them."""

import asyncio
from dataclasses import dataclass

from delivery_center.attempts.retry import Retry
from delivery_center.domain.delivery import Delivery
from rota_common.runtime.logs import logger

WORKERS = 32
"""Deliveries retried at once: a slow receiver takes a place of these for no longer than its timeout."""


@dataclass(frozen=True)
class Sweep:
    """`interval`: seconds between two looks while nothing is due."""

    retry: Retry
    interval: float

    async def __call__(self) -> None:
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
        except Exception as error:  # the store is away: the retries under way go on, and it is asked again
            logger(service="delivery-center").warning("can't claim", reason=repr(error))
            return None

    async def _one(self, delivery: Delivery, free: asyncio.Semaphore) -> None:
        try:
            await self.retry(delivery)
        except Exception:  # its claim ends by itself, and it is claimed again; the others go on
            logger(service="delivery-center").exception("retry failed", request_id=delivery.request_id)
        finally:
            free.release()
