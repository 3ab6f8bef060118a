"""Pauses, resumes and stops everything of a robot or a team: the robots first, so that nothing new begins.

A team's pause records which robots it has paused, because its resume must not resume robots that were paused on their
own.
"""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from rota_contracts.messages.control import ControlAction
from rota_contracts.robots.robot import RobotStatus
from trigger_gateway.problems import NotFound
from trigger_gateway.robots.find_robot import find_robot
from trigger_gateway.robots.ports import RobotRecords
from trigger_gateway.robots.save_robot import SaveRobot
from trigger_gateway.runs.control_executions import ControlExecutions, ControlOutcome
from trigger_gateway.teams.ports import Teams

PAGE = 100
AT_ONCE = 16

CHANGES: dict[ControlAction, tuple[RobotStatus, Collection[RobotStatus]]] = {
    ControlAction.PAUSE: (RobotStatus.PAUSED, (RobotStatus.IDLE, RobotStatus.PAUSED)),
    ControlAction.RESUME: (RobotStatus.IDLE, (RobotStatus.IDLE, RobotStatus.PAUSED)),
}
"""The status that an action on one robot sets, and the statuses that it replaces. Setting it also ends an error; a
robot in maintenance stays there."""


@dataclass(frozen=True, kw_only=True)
class ControlRobots:
    robots: RobotRecords
    teams: Teams
    save: SaveRobot
    executions: ControlExecutions

    async def robot(self, team: str, member: str, action: ControlAction, reason: str) -> ControlOutcome:
        """Raise NotFound if there is no such robot. Stopping leaves its status as it is."""
        await find_robot(self.robots, team, member)
        touched: tuple[str, ...] = ()
        if action in CHANGES:
            status, of = CHANGES[action]
            await self.forget(team, member)
            robot = await self.save.set_status(team, member, status, of=of)
            touched = (member,) if robot.robot_status is status else ()
        return replace(await self.executions.every(team, member, action, reason), robots=touched)

    async def team(self, team: str, action: ControlAction, reason: str) -> ControlOutcome:
        """Every robot of the team. Stopping leaves their status as it is."""
        match action:
            case ControlAction.PAUSE:
                robots = await self._pause(team)
            case ControlAction.RESUME:
                robots = await self._resume(team)
            case ControlAction.STOP:
                robots = []
        return replace(await self.executions.every(team, None, action, reason), robots=tuple(robots))

    async def forget(self, team: str, member: str) -> None:
        """Record that the robot's status was set on its own: the team's resume leaves it alone."""
        await self.teams.forget_paused(team, [member])

    async def _pause(self, team: str) -> list[str]:
        idle = await self._idle(team)
        await self.teams.note_paused(team, idle)  # first: one that is paused and not recorded would never be resumed
        return await self._set(team, idle, RobotStatus.PAUSED, of=RobotStatus.IDLE)

    async def _resume(self, team: str) -> list[str]:
        paused = await self.teams.paused(team)
        resumed = await self._set(team, paused, RobotStatus.IDLE, of=RobotStatus.PAUSED)
        await self.teams.forget_paused(team, paused)
        return resumed

    async def _idle(self, team: str) -> list[str]:
        found: list[str] = []
        page, total = 0, 1
        while page * PAGE < total:
            page += 1
            robots, total = await self.robots.page(team, page=page, page_size=PAGE)
            found += [robot.member_id for robot in robots if robot.robot_status is RobotStatus.IDLE]
        return found

    async def _set(self, team: str, members: Sequence[str], status: RobotStatus, *, of: RobotStatus) -> list[str]:
        turns = asyncio.Semaphore(AT_ONCE)

        async def one(member: str) -> bool:
            async with turns:
                try:
                    robot = await self.save.set_status(team, member, status, of=[of])
                except NotFound:  # deleted concurrently
                    return False
                return robot.robot_status is status

        done = await asyncio.gather(*(one(member) for member in members))
        return [member for member, changed in zip(members, done, strict=True) if changed]
