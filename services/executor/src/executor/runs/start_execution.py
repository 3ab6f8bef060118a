"""The start of an execution that was given a slot, with the robot and its team's definitions of this moment."""

from dataclasses import dataclass

from executor.agents.team_view import TeamViews
from executor.domain import phases
from executor.ports import Robots, Runs
from executor.runs.follow_robot_status import FollowRobotStatus
from executor.runs.worker import RunWorker
from rota_common.bus.publishing import Publish
from rota_common.clock import Clock
from rota_contracts import catalog
from rota_contracts.envelope import Event
from rota_contracts.messages.execution import ExecStatus, ExecutionFinishedV1, ExecutionRequestedV1
from rota_contracts.robots.robot import RobotStatus


@dataclass(frozen=True, kw_only=True)
class StartExecution:
    runs: Runs
    worker: RunWorker
    robots: Robots
    status: FollowRobotStatus
    publish: Publish
    clock: Clock
    views: TeamViews

    async def __call__(self, event: Event[ExecutionRequestedV1]) -> None:
        """Run it up to where it must wait. Raises Transient while another worker holds it."""
        requested = event.data
        if requested.grant and await self.runs.find(requested.execution_id):
            await self.worker.resume(requested.execution_id, grant=requested.grant)
            return
        of = requested.team_id, requested.member_id
        robot = await self.robots.known(*of, rev=requested.trigger.robot_rev)
        if robot is None or robot.deleted:
            await self.give_up(event, "the robot was deleted before the execution began", ExecStatus.CANCELLED)
            return
        run = phases.begin(
            requested.execution_id,
            requested.trigger,
            robot.begun_by(requested.execution_id),
            now=self.clock(),
            traceparent=event.traceparent,
            definitions_rev=await self.views.begin(requested.team_id, requested.execution_id),
        )
        created = await self.worker.start(self.status.beginning(run, robot))
        latest = await self.robots.known(*of, rev=robot.rev)  # a change of its status may have missed the run
        if not created or latest is None or not robot.robot_status is latest.robot_status is RobotStatus.IDLE:
            await self.status.align(*of)

    async def give_up(
        self, event: Event[ExecutionRequestedV1], reason: str, status: ExecStatus = ExecStatus.FAILED
    ) -> None:
        """Publish that this execution is over, so that the scheduler frees its slot; sent again, its request starts
        nothing any more."""
        requested = event.data
        if not await self.runs.give_up(requested.execution_id, self.clock()):
            await self.worker.resume(requested.execution_id)
            return
        fact = ExecutionFinishedV1(
            execution_id=requested.execution_id,
            team_id=requested.team_id,
            member_id=requested.member_id,
            trigger_id=requested.trigger.trigger_id,
            status=status,
            error=reason,
            finished_at=self.clock(),
        )
        await self.publish(catalog.EXECUTION_FINISHED, fact, caused_by=requested.execution_id, trace=event.traceparent)
