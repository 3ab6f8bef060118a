"""An execution was given a slot: run it with the robot as it is now, and pin that revision."""

from executor.domain import phases
from executor.domain.run import Run, Signal
from executor.ports import Runs
from executor.worker import RunWorker
from rota_common.bus.publishing import Publish
from rota_common.bus.robots import Robots
from rota_common.clock import Clock
from rota_contracts import catalog
from rota_contracts.envelope import Event
from rota_contracts.ids import derived_id
from rota_contracts.messages.control import ControlAction
from rota_contracts.messages.execution import ExecStatus, ExecutionFinishedV1, ExecutionRequestedV1
from rota_contracts.robots.robot import RobotStatus


class StartExecution:
    def __init__(self, runs: Runs, drive: RunWorker, robots: Robots, publish: Publish, clock: Clock) -> None:
        self._runs, self._drive, self._robots, self._publish, self._clock = runs, drive, robots, publish, clock

    async def __call__(self, event: Event[ExecutionRequestedV1]) -> None:
        """Run it, up to where it must wait. Raises Transient while another worker holds it."""
        requested = event.data
        if requested.grant and await self._runs.find(requested.execution_id):
            await self._drive.resume(requested.execution_id, grant=requested.grant)
            return
        robot = await self._robots.find(requested.team_id, requested.member_id)
        if robot is None or robot.deleted:
            await self.give_up(event, "the robot was deleted before the execution began", ExecStatus.CANCELLED)
            return
        run = phases.begin(
            requested.execution_id,
            requested.trigger,
            robot,
            now=self._clock(),
            traceparent=event.traceparent,
        )
        await self._drive.start(_paused(run) if robot.robot_status is RobotStatus.PAUSED else run)

    async def give_up(
        self, event: Event[ExecutionRequestedV1], reason: str, status: ExecStatus = ExecStatus.FAILED
    ) -> None:
        """Tell the scheduler that this execution is over, so that its slot is free."""
        requested = event.data
        if run := await self._runs.find(requested.execution_id):
            await self._drive.resume(run.id)
            return
        fact = ExecutionFinishedV1(
            execution_id=requested.execution_id,
            team_id=requested.team_id,
            member_id=requested.member_id,
            trigger_id=requested.trigger.trigger_id,
            status=status,
            error=reason,
            finished_at=self._clock(),
        )
        await self._publish(catalog.EXECUTION_FINISHED, fact, caused_by=requested.execution_id)


def _paused(run: Run) -> Run:
    """A run whose robot was paused after it had got its slot: it holds at once, until the robot is resumed."""
    word = Signal(
        id=derived_id("paused", run.id),
        action=ControlAction.PAUSE,
        reason="the robot was paused before the execution began",
        at=run.execution.created_at,
    )
    return run.model_copy(update={"inbox": [word]})
