"""Runs follow their robot's status: what its pause holds goes on when the pause ends."""

from dataclasses import dataclass

from executor.domain.run import Run, Signal
from executor.domain.signals import control
from executor.ports import Robots, Runs, Scope
from executor.runs.signals import SendSignal
from rota_common.clock import Clock
from rota_common.errors import Transient
from rota_contracts.envelope import Event
from rota_contracts.ids import derived_id
from rota_contracts.messages.control import ControlAction
from rota_contracts.messages.robot_facts import RobotChangedV1
from rota_contracts.robots.robot import Robot, RobotStatus

RUNS_LIMIT = 10_000
BEHIND_S = 1.0

STARTS_HELD = {
    RobotStatus.PAUSED: "the robot is paused",
    RobotStatus.MAINTENANCE: "the robot is in maintenance",
}
"""Statuses in which nothing begins. A run that got its slot nevertheless waits for their end."""


@dataclass(frozen=True, kw_only=True)
class FollowRobotStatus:
    """The status in the bucket counts, not the one at the time of the event: the order of events doesn't matter."""

    runs: Runs
    robots: Robots
    send: SendSignal
    clock: Clock

    async def __call__(self, event: Event[RobotChangedV1]) -> None:
        """Raises Transient while the bucket is behind the event."""
        changed = event.data
        robot = await self.robots.find(changed.team_id, changed.member_id)
        if robot is not None and robot.rev < changed.rev:
            raise Transient(f"revision {changed.rev} of robot {changed.member_id} isn't there yet", after=BEHIND_S)
        await self.align(changed.team_id, changed.member_id)

    async def align(self, team: str, member: str) -> None:
        """Hold the robot's runs, or let them go on. Its status may change meanwhile: then once more."""
        followed = 0
        while (robot := await self.robots.find(team, member)) and robot.rev > followed:
            followed = robot.rev
            for run_id in await self.runs.under_way(team, member, limit=RUNS_LIMIT):
                await self._align(run_id, robot)

    async def _align(self, run_id: str, robot: Robot) -> None:
        run = await self.runs.find(run_id)
        if run is None or run.over:
            return
        held = control.apply_signals(run, now=self.clock()).held
        if robot.robot_status is RobotStatus.PAUSED and not held:
            signal = self._signal(run, robot, ControlAction.PAUSE, "the robot was paused")
        elif robot.robot_status is RobotStatus.IDLE and held:
            signal = self._signal(run, robot, ControlAction.RESUME, "the robot is idle again")
        else:
            return
        await self.send(Scope(robot.team_id, robot.member_id, run_id), signal)

    def beginning(self, run: Run, robot: Robot) -> Run:
        """A new run as its robot's status has it, at whichever revision it begins: held from the start, or free."""
        reason = STARTS_HELD.get(robot.robot_status)
        if reason is None:
            return run
        return run.model_copy(update={"inbox": [self._signal(run, robot, ControlAction.PAUSE, reason)]})

    def _signal(self, run: Run, robot: Robot, action: ControlAction, reason: str) -> Signal:
        signal_id = derived_id("status", run.id, robot.rev, action)
        return Signal(id=signal_id, action=action, reason=reason, of_robot=True, rev=robot.rev, at=self.clock())
