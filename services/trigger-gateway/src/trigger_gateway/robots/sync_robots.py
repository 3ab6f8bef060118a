"""Publishes robots: first the copy that other services read, then the event, then a mark that both are done."""

from dataclasses import dataclass, field

from rota_common.runtime.logs import logger
from rota_contracts.robots.robot import Robot
from trigger_gateway.robots.ports import Definitions, RobotEvents, RobotRecords
from trigger_gateway.robots.record import RobotRecord

BATCH = 100
MANY = 1_000
LOG = logger(service="trigger-gateway")


@dataclass(frozen=True, kw_only=True)
class SyncRobots:
    """Safe to do twice and concurrently: the copy ignores an older `rev`, and an event is published once per `rev`."""

    records: RobotRecords
    definitions: Definitions
    events: RobotEvents
    _failed: dict[tuple[str, str], bool] = field(default_factory=dict, init=False)

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
        """Publish what was saved but not published, because something failed between; True if there may be more.

        A robot that can't be published is passed over, and tried again once all others were.
        """
        found = await self.records.unsynced(BATCH, apart_from=[*self._failed])
        for record in found:
            try:
                await self(record, confirmed=False)
            except Exception as error:
                self.check()  # NATS is away: that is no robot's fault, and none is passed over
                self._failed[record.robot.team_id, record.robot.member_id] = True
                LOG.warning("robot not published", member_id=record.robot.member_id, reason=repr(error))
        if not found or len(self._failed) > MANY:
            self._failed.clear()
        return bool(found)
