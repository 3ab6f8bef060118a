"""A robot is deleted: its executions stop (TG-20)."""

import contextlib

from executor.drive import Drive
from executor.ports import Runs
from rota_common.errors import Transient
from rota_contracts.robot import RobotDeletedV1

AGAIN_S = 1.0


class StopRobot:
    def __init__(self, runs: Runs, drive: Drive) -> None:
        self._runs, self._drive = runs, drive

    async def __call__(self, deleted: RobotDeletedV1) -> None:
        """Note it in every run of the robot: those that wait end at once, those in hand at their next step.

        Raises Transient until all of them have ended and everybody knows.
        """
        left = 0
        for run_id in await self._runs.cancel_all(deleted.team_id, deleted.member_id, "the robot was deleted"):
            with contextlib.suppress(Transient):  # a worker has it in hand, and reads the note with its next write
                await self._drive.resume(run_id)
            run = await self._runs.find(run_id)
            left += run is not None and not run.over
        if left:
            raise Transient(f"{left} executions of the robot are still at a step", after=AGAIN_S)
