"""Robots as the API shows them: their records, and their states from the scheduler."""

from collections.abc import Sequence
from dataclasses import dataclass

from rota_common.errors import Transient
from rota_contracts.messages.robot_state import RobotState
from trigger_gateway.problems import Invalid
from trigger_gateway.robots.find_robot import find_robot
from trigger_gateway.robots.ports import RobotRecords, RobotStates
from trigger_gateway.robots.record import RobotView, as_read

PATIENCE_S = 1.0
"""Timeout of the scheduler's answer when robots are read; without it none is shown as working."""


@dataclass(frozen=True)
class RobotViews:
    """`total` counts all pages. `states` is empty when the scheduler didn't answer."""

    robots: list[RobotView]
    states: list[RobotState]
    total: int


@dataclass(frozen=True, kw_only=True)
class ViewRobots:
    records: RobotRecords
    robot_states: RobotStates

    async def page(self, team: str, *, page: int, page_size: int) -> RobotViews:
        robots, total = await self.records.page(team, page=page, page_size=page_size)
        states = await self._states(team, [robot.member_id for robot in robots])
        by_name = {state.member_id: state for state in states}
        return RobotViews([as_read(robot, by_name.get(robot.member_id)) for robot in robots], states, total)

    async def one(self, team: str, member: str) -> RobotView:
        """Raise NotFound if there is no such robot."""
        record = await find_robot(self.records, team, member)
        return as_read(record.robot, next(iter(await self._states(team, [member])), None))

    async def state(self, team: str, member: str, *, upcoming: int) -> RobotState:
        """Raise NotFound if there is no such robot, Transient when the scheduler doesn't answer."""
        await find_robot(self.records, team, member)
        states = await self.robot_states.states(team, [member], upcoming=upcoming)
        if not states:
            raise Transient(f"the scheduler doesn't know robot {member} yet: try again in a moment")
        return states[0]

    async def _states(self, team: str, members: Sequence[str]) -> list[RobotState]:
        if not members:
            return []
        try:
            return await self.robot_states.states(team, members, within=PATIENCE_S)
        except (Transient, Invalid):
            return []
