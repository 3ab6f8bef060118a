"""Maintains a robot's error status from the outcomes of its runs.

Reports arrive in any order, late and more than once. The newest instant wins, and a status set by the owner counts as
a report, so an old failure neither comes back nor undoes the owner's change.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from rota_common.clock import Clock
from rota_common.errors import Transient
from rota_contracts.envelope import Event
from rota_contracts.messages.robot_facts import RobotFailedV1, RobotRecoveredV1
from rota_contracts.robots.robot import RunFailure
from trigger_gateway.robots.ports import RobotRecords
from trigger_gateway.robots.record import with_health
from trigger_gateway.robots.sync_robots import SyncRobots

TRIES = 5
"""Attempts while others change the robot concurrently."""


async def notify_nothing(event: Event[RobotFailedV1] | Event[RobotRecoveredV1]) -> None: ...


@dataclass(frozen=True, kw_only=True)
class TrackRobotHealth:
    records: RobotRecords
    sync: SyncRobots
    clock: Clock
    notify_failed: Callable[[Event[RobotFailedV1]], Awaitable[None]] = notify_nothing
    notify_recovered: Callable[[Event[RobotRecoveredV1]], Awaitable[None]] = notify_nothing

    async def on_failed(self, event: Event[RobotFailedV1]) -> None:
        fact = event.data
        error = RunFailure(execution_id=fact.execution_id, message=fact.message, at=fact.at)
        await self._track(fact.team_id, fact.member_id, error, fact.at)
        await self.notify_failed(event)

    async def on_recovered(self, event: Event[RobotRecoveredV1]) -> None:
        fact = event.data
        await self._track(fact.team_id, fact.member_id, None, fact.at)
        await self.notify_recovered(event)

    async def _track(self, team: str, member: str, error: RunFailure | None, at: datetime) -> None:
        """Raise Transient when others keep changing the robot. A saved change that can't be published now is swept."""
        for _ in range(TRIES):
            record = await self.records.find(team, member)
            if record is None or record.robot.deleted or record.health_known_at(at):
                return
            after = with_health(record, error, reported_at=at, now=self.clock())
            if after.robot.rev == record.robot.rev:
                if await self.records.note_health(record, at):
                    return
            elif await self.records.replace(after, expected=record):
                await self.sync(after, confirmed=False)
                return
        raise Transient(f"robot {member} of team {team} is being changed by others all the time")
