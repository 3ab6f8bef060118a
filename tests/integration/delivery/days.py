"""Days that pass in a moment: a clock that jumps, and a store that says when there is nothing left to do until then."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

from delivery_center.adapters.mongo_deliveries import MongoDeliveries
from delivery_center.domain.delivery import Delivery
from rota_common.clock import now
from rota_common.testing.patience import PATIENCE_S


class Calendar:
    """The time of day, plus what was jumped over."""

    def __init__(self) -> None:
        self._jumped = timedelta()

    def __call__(self) -> datetime:
        return now() + self._jumped

    def jump(self, **amount: float) -> None:
        self._jumped += timedelta(**amount)

    def jump_to(self, instant: datetime) -> None:
        self._jumped += max(instant - self(), timedelta())


class WatchedDeliveries(MongoDeliveries):
    """The real store; whoever waits for a delivery is told of each change."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._changed = asyncio.Condition()

    async def insert(self, delivery: Delivery) -> Delivery:
        try:
            return await super().insert(delivery)
        finally:
            await self._tell()

    async def save(self, delivery: Delivery) -> bool:
        try:
            return await super().save(delivery)
        finally:
            await self._tell()

    async def resting(self, request_id: str, calendar: Calendar) -> Delivery:
        """The delivery, once nothing is to be done about it now."""
        async with asyncio.timeout(PATIENCE_S), self._changed:
            while (found := await self.find(request_id)) is None or not _rests(found, calendar()):
                await self._changed.wait()
        return found

    async def played(self, request_id: str, calendar: Calendar) -> Delivery:
        """The delivery at its end, jumping from one attempt to the next."""
        while (delivery := await self.resting(request_id, calendar)).due_at is not None:
            calendar.jump_to(delivery.due_at)
        return delivery

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()


def _rests(delivery: Delivery, at: datetime) -> bool:
    if any(target.unpublished for target in delivery.targets):
        return False
    return delivery.due_at is None or (not delivery.claimed and delivery.due_at > at)
