"""Pauses, resumes and stops all that a robot or a team does: the robots first, so that nothing new begins meanwhile.

A team's pause remembers which robots it has paused, because its resume must not wake those that were paused by a word
of their own.
"""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from rota_contracts.messages.control import ControlAction
from rota_contracts.robots.robot import RobotStatus
from trigger_gateway.problems import NotFound, no_robot
from trigger_gateway.robots.ports import RobotRecords
from trigger_gateway.robots.save_robot import SaveRobot
from trigger_gateway.runs.control_executions import ControlExecutions, Told
from trigger_gateway.teams.ports import Teams

PAGE = 100
AT_ONCE = 16

CHANGES: dict[ControlAction, tuple[RobotStatus, Collection[RobotStatus]]] = {
    ControlAction.PAUSE: (RobotStatus.PAUSED, (RobotStatus.IDLE, RobotStatus.PAUSED)),
    ControlAction.RESUME: (RobotStatus.IDLE, (RobotStatus.IDLE, RobotStatus.PAUSED)),
}
"""The status that a word to one robot sets, and of which it does so: setting it also ends an error (DEC-15). A
robot in maintenance stays there (TG-18)."""


@dataclass(frozen=True, kw_only=True)
class ControlRobots:
    robots: RobotRecords
    teams: Teams
    save: SaveRobot
    executions: ControlExecutions

    async def robot(self, team: str, member: str, action: ControlAction, reason: str) -> Told:
        """Raise NotFound if there is no such robot. Stopping leaves its status as it is."""
        record = await self.robots.find(team, member)
        if record is None or record.robot.deleted:
            raise no_robot(team, member)
        touched: tuple[str, ...] = ()
        if action in CHANGES:
            status, of = CHANGES[action]
            await self.forget(team, member)
            robot = await self.save.set_status(team, member, status, of=of)
            touched = (member,) if robot.robot_status is status else ()
        return replace(await self.executions.every(team, member, action, reason), robots=touched)

    async def team(self, team: str, action: ControlAction, reason: str) -> Told:
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
        """The robot's status has been set by a word of its own: the team's resume leaves it alone."""
        await self.teams.forget_paused(team, [member])

    async def _pause(self, team: str) -> list[str]:
        idle = await self._idle(team)
        await self.teams.note_paused(team, idle)  # first: one that is paused and not noted would never be woken
        return await self._set(team, idle, RobotStatus.PAUSED, of=RobotStatus.IDLE)

    async def _resume(self, team: str) -> list[str]:
        paused = await self.teams.paused(team)
        woken = await self._set(team, paused, RobotStatus.IDLE, of=RobotStatus.PAUSED)
        await self.teams.forget_paused(team, paused)
        return woken

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
                except NotFound:  # deleted meanwhile
                    return False
                return robot.robot_status is status

        done = await asyncio.gather(*(one(member) for member in members))
        return [member for member, changed in zip(members, done, strict=True) if changed]
