"""Pausing, resuming and stopping: an execution, a robot, a whole team (TG-16, F11)."""

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Body
from pydantic import BaseModel, Field

from rota_contracts.messages.control import ControlAction
from rota_contracts.model import Name
from trigger_gateway.http.auth_routes import team_router
from trigger_gateway.http.dependencies import Strict, UseCasesDep
from trigger_gateway.runs.control_executions import Told

router = team_router("control")

Endpoint = Callable[..., Awaitable["ControlResult"]]

SUMMARIES = {
    "execution": {
        ControlAction.PAUSE: "Pause an execution: it finishes its current step, then holds",
        ControlAction.RESUME: "Resume a paused execution",
        ControlAction.STOP: "Stop an execution: it is cancelled, nothing of it is delivered any more",
    },
    "robot": {
        ControlAction.PAUSE: "Pause a robot: its status becomes paused, nothing new begins, its executions hold",
        ControlAction.RESUME: "Resume a robot: its status becomes idle, its paused executions go on",
        ControlAction.STOP: "Stop all executions of a robot, also those that wait for a slot; its status stays",
    },
    "team": {
        ControlAction.PAUSE: "Pause a team: its idle robots become paused, nothing new begins, its executions hold",
        ControlAction.RESUME: "Resume a team: the robots that its pause has paused become idle, its executions go on",
        ControlAction.STOP: "Stop all executions of a team, also those that wait for a slot; its robots stay",
    },
}


class Why(Strict):
    reason: str = Field(default="", max_length=500, description="kept with each execution")


Because = Annotated[Why | None, Body()]


class ControlResult(BaseModel):
    """The executions that the word was given to; each heeds it at its next step."""

    execution_ids: list[str]
    withdrawn: list[str] = Field(description="of these, the ones that had waited for a slot and will not start")
    robots: list[str] = Field(description="the robots whose status was set")
    message: str


def of_execution(action: ControlAction) -> Endpoint:
    async def control(team: Name, execution_id: str, use: UseCasesDep, body: Because = None) -> ControlResult:
        return _result(action, await use.control.one(team, execution_id, action, _reason(body)))

    return control


def of_robot(action: ControlAction) -> Endpoint:
    async def control(team: Name, member: Name, use: UseCasesDep, body: Because = None) -> ControlResult:
        return _result(action, await use.control_robots.robot(team, member, action, _reason(body)))

    return control


def of_team(action: ControlAction) -> Endpoint:
    async def control(team: Name, use: UseCasesDep, body: Because = None) -> ControlResult:
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


def _reason(body: Why | None) -> str:
    return body.reason if body else ""


def _result(action: ControlAction, told: Told) -> ControlResult:
    return ControlResult(
        execution_ids=list(told.execution_ids),
        withdrawn=list(told.withdrawn),
        robots=list(told.robots),
        message=_message(action, told),
    )


def _message(action: ControlAction, told: Told) -> str:
    count = len(told.execution_ids)
    runs = (
        "no execution was under way" if not count else f"{count} execution{'s' if count > 1 else ''} told to {action}"
    )
    waited = f", {len(told.withdrawn)} of them still in the queue" if told.withdrawn else ""
    robots = f"; {len(told.robots)} robot{'s' if len(told.robots) > 1 else ''} set" if told.robots else ""
    return f"{runs}{waited}{robots}"
