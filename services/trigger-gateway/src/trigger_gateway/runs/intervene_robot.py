"""Carries out a person's intervention: in a running execution, in the plan, or as a run of its own.

An intervention with a key is carried out once. Whether it signalled an execution or started one is recorded before the
answer is sent, because a repeat must never signal the run that the first one has started.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal, TypeVar

from pydantic import Field, TypeAdapter

from rota_contracts.ids import derived_id
from rota_contracts.messages.control import Intervene
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.plan import ChangePlan, PlanAction, PlanItem
from rota_contracts.messages.trigger import TriggerType
from rota_contracts.model import Part
from rota_contracts.roles import Role
from trigger_gateway.problems import Conflict, NotFound
from trigger_gateway.robots.find_robot import find_robot
from trigger_gateway.robots.ports import RobotRecords
from trigger_gateway.runs.guard_input import GuardInput
from trigger_gateway.runs.idempotency import find_repeat
from trigger_gateway.runs.interventions import (
    PLANNING,
    Intervention,
    check_allowed,
    check_start,
    target_execution,
    validate_intervention,
)
from trigger_gateway.runs.ports import Executions, Requests, Schedule
from trigger_gateway.runs.request_run import RequestRun, RunAnswer, RunRequest


class SignalSent(Part):
    """The execution has it in its inbox. `status` is the execution's."""

    kind: Literal["given"] = "given"
    execution_id: str
    intervention_id: str
    status: ExecStatus
    repeated: bool = False


class PlanUpdated(Part):
    """The plan is changed."""

    kind: Literal["planned"] = "planned"
    item: PlanItem
    repeated: bool = False


class RunRequested(Part):
    """No execution was running: a run was requested."""

    kind: Literal["started"] = "started"


RECORDED: TypeAdapter[SignalSent | PlanUpdated | RunRequested] = TypeAdapter(
    Annotated[SignalSent | PlanUpdated | RunRequested, Field(discriminator="kind")]
)


Outcome = TypeVar("Outcome", SignalSent, PlanUpdated, RunRequested)


@dataclass(frozen=True, kw_only=True)
class InterveneRobot:
    robots: RobotRecords
    executions: Executions
    schedule: Schedule
    requests: Requests
    request_run: RequestRun
    new_id: Callable[[], str]
    guard: GuardInput = field(default_factory=GuardInput)

    async def __call__(
        self, team: str, member: str, given: Intervention, *, role: Role, trace: str = ""
    ) -> SignalSent | PlanUpdated | RunAnswer:
        """`role`: of the key that asks. Raise Invalid, NotFound or Conflict when it can't be done; then nothing is
        changed."""
        wanted = self._cut(given)
        validate_intervention(wanted)
        record = await find_robot(self.robots, team, member)
        check_allowed(record.robot, wanted.action)
        self.guard.check(team, [member], *(message.text() for message in given.input_messages), given.goal)
        request_id, noted = await self._identify(team, member, given)
        if isinstance(noted, SignalSent | PlanUpdated):
            return noted.model_copy(update={"repeated": True})
        if wanted.action in PLANNING:
            return await self._note(request_id, wanted, await self._plan(team, member, wanted, request_id, role))
        if noted is None and (sent := await self._signal(team, member, wanted, request_id, role)):
            return await self._note(request_id, wanted, sent)
        check_start(wanted)
        await self._note(request_id, wanted, RunRequested())
        return await self.request_run(team, member, run_request(given), role=role, trace=trace, guarded=True)

    def _cut(self, given: Intervention) -> Intervention:
        described = given.task.description if given.task else None
        task = given.task
        if task is not None and described:
            task = task.model_copy(update={"description": self.guard.cut_text(described)})
        return replace(given, messages=self.guard.cut(given.messages), task=task)

    async def _identify(
        self, team: str, member: str, wanted: Intervention
    ) -> tuple[str, SignalSent | PlanUpdated | RunRequested | None]:
        """The intervention's id, and the recorded outcome if this is a repeat."""
        if wanted.key is None:
            return self.new_id(), None
        request_id = derived_id("intervention", team, member, wanted.key)
        earlier = await find_repeat(self.requests, request_id, wanted)
        return request_id, RECORDED.validate_json(earlier.answer) if earlier and earlier.answer else None

    async def _note(self, request_id: str, wanted: Intervention, outcome: Outcome) -> Outcome:
        if wanted.key is not None:
            await self.requests.note(request_id, outcome.model_dump_json())
        return outcome

    async def _signal(
        self, team: str, member: str, wanted: Intervention, intervention_id: str, role: Role
    ) -> SignalSent | None:
        """None if no execution is running and the intervention may start a run."""
        intervention = Intervene(
            intervention_id=intervention_id,
            team_id=team,
            member_id=member,
            execution_id=wanted.execution_id,
            action=wanted.action,
            messages=list(wanted.messages),
            task=wanted.task,
            goal=wanted.goal,
            starts=wanted.of_a_start,
            role=role,
        )
        execution_id = target_execution(wanted, await self.executions.intervene(intervention))
        if execution_id is None:
            return None
        status = await self.executions.status(team, execution_id) or ExecStatus.RUNNING
        return SignalSent(execution_id=execution_id, intervention_id=intervention_id, status=status)

    async def _plan(self, team: str, member: str, wanted: Intervention, request_id: str, role: Role) -> PlanUpdated:
        change = ChangePlan(
            team_id=team,
            member_id=member,
            action=PlanAction(wanted.action),
            plan_id=wanted.plan_id or request_id,
            messages=list(wanted.messages),
            plan_time=wanted.plan_time,
            executor_mode=wanted.executor_mode,
            locale=wanted.locale,
            role=role,
        )
        done = await self.schedule.change_plan(change)
        if done.refused:
            raise Conflict("plan_refused", done.refused)
        if done.item is None:
            text = f"robot {member} has no plan {change.plan_id}: GET /v1/teams/{team}/plans lists what is planned"
            raise NotFound("plan_not_found", text)
        return PlanUpdated(item=done.item)


def run_request(wanted: Intervention) -> RunRequest:
    """The run that an intervention starts when none is running."""
    return RunRequest(
        type=TriggerType.HUMAN,
        action=wanted.action,
        messages=wanted.input_messages,
        executor_mode=wanted.executor_mode,
        locale=wanted.locale,
        key=wanted.key,
        follows=wanted.follows,
    )
