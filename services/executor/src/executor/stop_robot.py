"""A robot is deleted: its executions stop (TG-20)."""

import contextlib

from executor.domain.run import Signal
from executor.ports import Runs, Scope
from executor.signals import SendSignal
from executor.worker import RunWorker
from rota_common.clock import Clock
from rota_common.errors import Transient
from rota_contracts.ids import derived_id
from rota_contracts.messages.control import ControlAction
from rota_contracts.messages.robot_facts import RobotDeletedV1

AGAIN_S = 1.0


class StopRobot:
    def __init__(self, runs: Runs, drive: RunWorker, give: SendSignal, clock: Clock) -> None:
        self._runs, self._drive, self._give, self._clock = runs, drive, give, clock

    async def __call__(self, deleted: RobotDeletedV1) -> None:
        """Say so to every run of the robot: those that wait end at once, those in hand in the middle of their step.

        Raises Transient until all of them have ended and everybody knows.
        """
        word = Signal(
            id=derived_id("deleted", deleted.team_id, deleted.member_id, deleted.rev),
            action=ControlAction.STOP,
            reason="the robot was deleted",
            at=self._clock(),
        )
        left = 0
        for told in await self._give(Scope(deleted.team_id, deleted.member_id), word):
            with contextlib.suppress(Transient):  # a worker has it in hand, and hears the word with its next write
                await self._drive.resume(told.id)
            run = await self._runs.find(told.id)
            left += run is not None and not run.over
        if left:
            raise Transient(f"{left} executions of the robot are still at a step", after=AGAIN_S)
