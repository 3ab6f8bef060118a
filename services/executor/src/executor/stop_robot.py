"""A robot is deleted: its executions stop (TG-20)."""

from executor.drive import Drive
from executor.ports import Runs
from rota_common.errors import Transient
from rota_contracts.robot import RobotDeletedV1


class StopRobot:
    def __init__(self, runs: Runs, drive: Drive) -> None:
        self._runs, self._drive = runs, drive

    async def __call__(self, deleted: RobotDeletedV1) -> None:
        """Note it in every run of the robot; those that wait end at once, those in hand at their next step."""
        for run_id in await self._runs.cancel_all(deleted.team_id, deleted.member_id, "the robot was deleted"):
            try:
                await self._drive.resume(run_id)
            except Transient:  # a worker has it in hand, and reads the note with its next write
                continue
