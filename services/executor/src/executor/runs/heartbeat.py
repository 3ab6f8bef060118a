"""The executor's heartbeat: it is alive, has so much capacity, and follows definitions so far."""

from dataclasses import dataclass, field

from executor.agents.team_view import TeamViews
from rota_common.bus.publishing import Publish
from rota_common.clock import Clock
from rota_contracts import catalog
from rota_contracts.messages.executor_capacity import ExecutorReportedV1
from rota_contracts.model import ALL


@dataclass(kw_only=True)
class Heartbeat:
    """A lost one does no harm: the next follows within a second, and an executor is missed after five."""

    publish: Publish
    clock: Clock
    executor_id: str
    capacity: int
    views: TeamViews
    _published: bool = field(init=False, default=False)

    async def __call__(self) -> None:
        await self._report(self.capacity)
        self._published = True

    async def stop(self) -> None:
        """Report that this executor takes nothing from now on."""
        if self._published:
            await self._report(0)

    async def _report(self, capacity: int) -> None:
        report = ExecutorReportedV1(
            team_id=ALL,
            member_id=ALL,
            executor_id=self.executor_id,
            capacity=capacity,
            at=self.clock(),
            definitions_seen=self.views.sequence,
        )
        await self.publish.observe(catalog.EXECUTOR_REPORTED, report)
