"""Tells everybody else what a robot is now: into the bucket they read, then the fact, then a note that it is done."""

from rota_contracts.robots.robot import Robot
from trigger_gateway.ports import Definitions, RobotRecords
from trigger_gateway.robots.record import RobotRecord

BATCH = 100


class SyncRobots:
    """Safe to do twice and side by side: the bucket ignores an older `rev`, and a fact of one `rev` is one fact."""

    def __init__(self, records: RobotRecords, definitions: Definitions) -> None:
        self._records, self._definitions = records, definitions

    def check(self) -> None:
        """Raise Transient if it can't work now, so that nothing is saved that only half the system would know."""
        self._definitions.check()

    async def __call__(self, record: RobotRecord, *, confirmed: bool) -> Robot:
        """`confirmed`: the owner is about to be told that it worked. Raises Transient when NATS is away."""
        robot = record.robot
        if not record.synced:
            await self._definitions.put(robot)
            await self._definitions.announce(robot, created=not record.announced)
        await self._records.mark_synced(robot, confirmed=confirmed)
        return robot

    async def sweep(self) -> int:
        """What was saved but not told, because something failed between; how many there were."""
        found = await self._records.unsynced(BATCH)
        for record in found:
            await self(record, confirmed=False)
        return len(found)
