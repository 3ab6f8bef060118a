"""Publishes robots: first the copy that other services read, then the event, then a mark that both are done."""

from dataclasses import dataclass, field
from functools import partial

from rota_contracts.robots.robot import Robot
from trigger_gateway.robots.ports import Definitions, RobotEvents, RobotRecords
from trigger_gateway.robots.record import RobotRecord
from trigger_gateway.sweep import BATCH, Sweep


@dataclass(frozen=True, kw_only=True)
class SyncRobots:
    """Safe to do twice and concurrently: the copy ignores an older `rev`, and an event is published once per `rev`."""

    records: RobotRecords
    definitions: Definitions
    events: RobotEvents
    _sweep: Sweep[tuple[str, str]] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_sweep", Sweep(failing="robot not published", check=self.check))

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
        found = await self.records.unsynced(BATCH, apart_from=[*self._sweep.failed])
        return await self._sweep({_key(each): partial(self, each, confirmed=False) for each in found})


def _key(record: RobotRecord) -> tuple[str, str]:
    return record.robot.team_id, record.robot.member_id
