"""Publishes robots: first the copy that other services read, then the event, then a mark that both are done."""

from dataclasses import dataclass

from rota_contracts.robots.robot import Robot
from trigger_gateway.robots.ports import Definitions, RobotEvents, RobotRecords
from trigger_gateway.robots.record import RobotRecord

BATCH = 100


@dataclass(frozen=True, kw_only=True)
class SyncRobots:
    """Safe to do twice and concurrently: the copy ignores an older `rev`, and an event is published once per `rev`."""

    records: RobotRecords
    definitions: Definitions
    events: RobotEvents

    def check(self) -> None:
        """Raise Transient if it can't work now, so that nothing is saved that other services would not see."""
        self.events.check()

    async def __call__(self, record: RobotRecord, *, confirmed: bool) -> Robot:
        """`confirmed`: the owner is about to get the answer. Raises Transient when NATS is away."""
        robot = record.robot
        if not record.synced:
            await self.definitions.put(robot)
            await self.events.publish(robot, created=not record.announced)
        await self.records.mark_synced(robot, confirmed=confirmed)
        return robot

    async def sweep(self) -> bool:
        """Publish what was saved but not published, because something failed between; True if there may be more."""
        found = await self.records.unsynced(BATCH)
        for record in found:
            await self(record, confirmed=False)
        return bool(found)
