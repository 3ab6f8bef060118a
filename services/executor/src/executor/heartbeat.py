"""Saying again and again that this executor is alive, and how much it can take: the scheduler counts on it."""

import asyncio

from rota_common.bus.publishing import Publish
from rota_common.clock import Clock
from rota_contracts import catalog
from rota_contracts.messages.executor_capacity import REPORT_S, ExecutorReportedV1
from rota_contracts.model import ALL


class Heartbeat:
    """A report that is lost does no harm: the next one comes in a second, and one missing is noticed after five."""

    def __init__(self, publish: Publish, clock: Clock, *, executor_id: str, capacity: int) -> None:
        self._publish, self._clock = publish, clock
        self._id, self._capacity = executor_id, capacity
        self._told = False

    async def run(self) -> None:
        """For ever, beginning now."""
        while True:
            await self._tell(self._capacity)
            self._told = True
            await asyncio.sleep(REPORT_S)

    async def stop(self) -> None:
        """It takes nothing from now on."""
        if self._told:
            await self._tell(0)

    async def _tell(self, capacity: int) -> None:
        report = ExecutorReportedV1(
            team_id=ALL, member_id=ALL, executor_id=self._id, capacity=capacity, at=self._clock()
        )
        await self._publish.observe(catalog.EXECUTOR_REPORTED, report)
