"""Pausing, resuming and stopping: an execution, a robot, a team."""

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Body
from pydantic import BaseModel, Field

from rota_contracts.messages.control import ControlAction
from rota_contracts.model import Name
from trigger_gateway.http.auth_routes import team_router
from trigger_gateway.http.dependencies import UseCasesDep
from trigger_gateway.runs.control_executions import ControlOutcome
from trigger_gateway.strict import Strict

router = team_router("control")

Endpoint = Callable[..., Awaitable["ControlResult"]]

SUMMARIES = {
    "execution": {
        ControlAction.PAUSE: "Pause an execution after its current step",
        ControlAction.RESUME: "Resume a paused execution",
        ControlAction.STOP: "Stop an execution: it is cancelled, and nothing more of it is delivered",
    },
    "robot": {
        ControlAction.PAUSE: "Pause a robot: its status becomes paused, nothing new starts, its executions pause",
        ControlAction.RESUME: "Resume a robot: its status becomes idle, its paused executions continue",
        ControlAction.STOP: "Stop all executions of a robot, queued ones too; its status is unchanged",
    },
    "team": {
        ControlAction.PAUSE: "Pause a team: its idle robots become paused, nothing new starts, its executions pause",
        ControlAction.RESUME: "Resume a team: the robots paused by its pause become idle, its executions continue",
        ControlAction.STOP: "Stop all executions of a team, queued ones too; its robots are unchanged",
    },
}


PROGRESSIVE = {ControlAction.PAUSE: "pausing", ControlAction.RESUME: "resuming", ControlAction.STOP: "stopping"}


class ControlRequest(Strict):
    reason: str = Field(default="", max_length=500, description="stored with each execution")


OptionalReason = Annotated[ControlRequest | None, Body()]


class ControlResult(BaseModel):
    """The executions that were signalled. The signal takes effect at each execution's next step."""

    execution_ids: list[str]
    withdrawn: list[str] = Field(description="those of them that were queued and will not start")
    robots: list[str] = Field(description="robots whose status was set")
    message: str


def of_execution(action: ControlAction) -> Endpoint:
    async def control(team: Name, execution_id: str, use: UseCasesDep, body: OptionalReason = None) -> ControlResult:
        return _result(action, await use.control.one(team, execution_id, action, _reason(body)))

    return control


def of_robot(action: ControlAction) -> Endpoint:
    async def control(team: Name, member: Name, use: UseCasesDep, body: OptionalReason = None) -> ControlResult:
        return _result(action, await use.control_robots.robot(team, member, action, _reason(body)))

    return control


def of_team(action: ControlAction) -> Endpoint:
    async def control(team: Name, use: UseCasesDep, body: OptionalReason = None) -> ControlResult:
        return _result(action, await use.control_robots.team(team, action, _reason(body)))

    return control


ENDPOINTS: dict[str, tuple[str, Callable[[ControlAction], Endpoint]]] = {
    "execution": ("/executions/{execution_id}", of_execution),
    "robot": ("/robots/{member}", of_robot),
    "team": ("", of_team),
}

for scope, (path, endpoint) in ENDPOINTS.items():
    for action in ControlAction:
        router.add_api_route(
            f"{path}/{action}",
            endpoint(action),
            methods=["POST"],
            status_code=202,
            summary=SUMMARIES[scope][action],
            name=f"{action}_{scope}",
        )


def _reason(body: ControlRequest | None) -> str:
    return body.reason if body else ""


def _result(action: ControlAction, outcome: ControlOutcome) -> ControlResult:
    return ControlResult(
        execution_ids=list(outcome.execution_ids),
        withdrawn=list(outcome.withdrawn),
        robots=list(outcome.robots),
        message=_message(action, outcome),
    )


def _message(action: ControlAction, outcome: ControlOutcome) -> str:
    count = len(outcome.execution_ids)
    runs = f"{PROGRESSIVE[action]} {count} execution{'s' if count > 1 else ''}" if count else "no execution was running"
    queued = f", {len(outcome.withdrawn)} of them queued" if outcome.withdrawn else ""
    robots = f"; {len(outcome.robots)} robot{'s' if len(outcome.robots) > 1 else ''} set" if outcome.robots else ""
    return f"{runs}{queued}{robots}"
