"""Canaries of robots: their share of new runs, their figures beside the current revision's, and their end."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from rota_contracts.messages.definition import CountRuns, RunCount
from rota_contracts.robots.robot import Robot
from trigger_gateway.problems import NotFound
from trigger_gateway.robots.canary import aborted, promoted, with_share
from trigger_gateway.robots.find_robot import find_robot
from trigger_gateway.robots.ports import EndedRuns, RobotRecords
from trigger_gateway.robots.save_robot import SaveRobot


@dataclass(frozen=True, kw_only=True)
class SteerRobotCanary:
    records: RobotRecords
    save: SaveRobot
    runs: EndedRuns

    async def figures(self, team: str, member: str) -> tuple[Robot, Sequence[RunCount]]:
        """How runs with the current revision and with the canary's have ended since it began, in this order. Raises
        NotFound where there is none."""
        robot = (await find_robot(self.records, team, member)).robot
        if (canary := robot.canary) is None:
            raise NotFound("no_canary", f"robot {member} has no canary")
        revs = [canary.beside, canary.rev]
        wanted = CountRuns(team_id=team, member_id=member, revs=revs, since=canary.since)
        return robot, (await self.runs.count(wanted)).counts

    async def set_share(self, team: str, member: str, share: int) -> Robot:
        """Raises Conflict where there is no canary, as the next two."""
        return await self.save.edit(team, member, partial(with_share, share=share))

    async def promote(self, team: str, member: str, *, by: str) -> Robot:
        return await self.save.edit(team, member, promoted, by=by)

    async def abort(self, team: str, member: str) -> Robot:
        return await self.save.edit(team, member, aborted)
