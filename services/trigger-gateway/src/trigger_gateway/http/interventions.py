"""Interventions of people: in a running execution, in the plan, or as a run of its own."""

from typing import Annotated

from fastapi import Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from rota_contracts.catalog import LIST_PLANS
from rota_contracts.messages.control import TaskChange
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.plan import ListPlans, PlanPage, PlanState
from rota_contracts.messages.trigger import ExecutorMode, InterventionAction, Message
from rota_contracts.model import Instant, Name
from trigger_gateway import rpc
from trigger_gateway.http.auth_routes import CallerDep, team_router
from trigger_gateway.http.dependencies import UseCasesDep, idempotency_key
from trigger_gateway.http.errors import repeated
from trigger_gateway.http.runs import ExecutionResult, run_result
from trigger_gateway.http.webhooks import TRACEPARENT
from trigger_gateway.runs.intervene_robot import PlanUpdated, SignalSent
from trigger_gateway.runs.interventions import Intervention
from trigger_gateway.strict import Strict

router = team_router("interventions")


class StrictTask(TaskChange):
    """A change of a task; an unknown field is an error."""

    model_config = ConfigDict(extra="forbid")


class InterveneRequest(Strict):
    """Without `execution_id` it goes to the robot's only running execution."""

    action: InterventionAction
    messages: list[Message] = []
    task: StrictTask | None = Field(default=None, description="task.add, task.update, task.cancel: the change")
    goal: str | None = Field(default=None, description='goal.…: the goal, as in the plan, for example "Goal 2"')
    execution_id: str | None = Field(default=None, description="not for plan.…")
    plan_id: str | None = Field(default=None, description="plan.update, plan.remove")
    plan_time: Instant | None = Field(default=None, description="plan.add, plan.update; null: at the next cycle")
    executor_mode: ExecutorMode | None = Field(default=None, description="of a run that it starts or plans")
    locale: str | None = Field(default=None, description="of a run that it starts or plans")
    follows: str | None = Field(
        default=None, max_length=200, description="of a run that it starts: the execution before"
    )
    request_id: str | None = Field(default=None, description="same as the header Idempotency-Key")


class InterventionResult(BaseModel):
    """The execution has it in its inbox. 202, or 200 for a repeat with the same idempotency key."""

    execution_id: str
    intervention_id: str
    status: ExecStatus
    message: str
    status_url: str


class PlanResult(BaseModel):
    """The plan is changed. 202, or 200 for a repeat with the same idempotency key."""

    plan_id: str
    state: PlanState
    plan_time: Instant | None
    message: str
    status_url: str


@router.post(
    "/robots/{member}/intervene",
    status_code=202,
    summary="Intervene in a robot's work: in a running execution, in its plan, or by a new run",
    responses=repeated(InterventionResult | PlanResult | ExecutionResult),
)
async def intervene(
    team: Name,
    member: Name,
    body: InterveneRequest,
    request: Request,
    response: Response,
    use: UseCasesDep,
    caller: CallerDep,
) -> InterventionResult | PlanResult | ExecutionResult:
    """`task.add`, `goal.add` and `instruct` start a run if none is running; several running executions are a 409."""
    wanted = Intervention(
        action=body.action,
        messages=body.messages,
        task=TaskChange.model_validate(body.task.model_dump()) if body.task else None,
        goal=body.goal,
        execution_id=body.execution_id,
        plan_id=body.plan_id,
        plan_time=body.plan_time,
        executor_mode=body.executor_mode,
        locale=body.locale,
        follows=body.follows,
        key=idempotency_key(request.headers, body.request_id),
    )
    trace = request.headers.get(TRACEPARENT, "")
    done = await use.intervene_robot(team, member, wanted, role=caller.role, trace=trace)
    if done.repeated:
        response.status_code = 200
    match done:
        case SignalSent():
            return _signalled(team, done)
        case PlanUpdated():
            return _planned(team, member, done)
        case _:
            return run_result(team, done)


@router.get("/plans", summary="List the plans of the team or of one robot, soonest first")
async def list_plans(
    team: Name, use: UseCasesDep, member_id: Name | None = None, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> PlanPage:
    return await rpc.call(use.ask, LIST_PLANS, ListPlans(team_id=team, member_id=member_id, limit=limit))


def _signalled(team: str, done: SignalSent) -> InterventionResult:
    when = "when it is resumed" if done.status is ExecStatus.PAUSED else "at its next step"
    return InterventionResult(
        execution_id=done.execution_id,
        intervention_id=done.intervention_id,
        status=done.status,
        message="this request was made before" if done.repeated else f"accepted; the execution applies it {when}",
        status_url=f"/v1/teams/{team}/executions/{done.execution_id}",
    )


def _planned(team: str, member: str, done: PlanUpdated) -> PlanResult:
    return PlanResult(
        plan_id=done.item.plan_id,
        state=done.item.state,
        plan_time=done.item.plan_time,
        message="this request was made before" if done.repeated else done.item.state.value,
        status_url=f"/v1/teams/{team}/plans?member_id={member}",
    )
