"""Deliveries over days that pass in a moment: a clock that jumps, and a store that reports when nothing is due."""

import asyncio
from datetime import datetime, timedelta

from delivery_center.adapters.in_memory_deliveries import InMemoryDeliveries
from delivery_center.domain.delivery import Delivery
from rota_common.clock import now
from rota_common.testing.patience import PATIENCE_S


class Calendar:
    """The time of day, plus the time that was skipped."""

    def __init__(self) -> None:
        self._skipped = timedelta()

    def __call__(self) -> datetime:
        return now() + self._skipped

    def skip(self, **amount: float) -> None:
        self._skipped += timedelta(**amount)

    def skip_to(self, instant: datetime) -> None:
        self._skipped += max(instant - self(), timedelta())


class WatchedDeliveries(InMemoryDeliveries):
    """Notifies waiting tests of each change."""

    def __init__(self) -> None:
        super().__init__()
        self._changed = asyncio.Condition()

    async def insert(self, delivery: Delivery) -> Delivery:
        try:
            return await super().insert(delivery)
        finally:
            await self._notify()

    async def save(self, delivery: Delivery) -> bool:
        try:
            return await super().save(delivery)
        finally:
            await self._notify()

    async def resting(self, request_id: str, calendar: Calendar) -> Delivery:
        """The delivery, once nothing of it is due."""
        async with asyncio.timeout(PATIENCE_S), self._changed:
            while (found := await self.find(request_id)) is None or not _rests(found, calendar()):
                await self._changed.wait()
        return found

    async def finished(self, request_id: str, calendar: Calendar) -> Delivery:
        """The delivery once it is settled, skipping from one attempt to the next."""
        while (delivery := await self.resting(request_id, calendar)).due_at is not None:
            calendar.skip_to(delivery.due_at)
        return delivery

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()


def _rests(delivery: Delivery, at: datetime) -> bool:
    if any(target.unpublished for target in delivery.targets):
        return False
    return delivery.due_at is None or (not delivery.claimed and delivery.due_at > at)
