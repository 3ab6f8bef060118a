"""Triggers by hand, and the states of triggers."""

from typing import Any, Literal

from fastapi import Request, Response
from pydantic import BaseModel, Field

from rota_contracts.catalog import READ_TRIGGER
from rota_contracts.messages.execution import ExecStatus, ReadTrigger, TriggerReply
from rota_contracts.messages.trigger import ExecutorMode, Message, TriggerType
from rota_contracts.model import Instant, Name
from trigger_gateway import rpc
from trigger_gateway.http.auth_routes import CallerDep, team_router
from trigger_gateway.http.dependencies import UseCasesDep, idempotency_key
from trigger_gateway.http.errors import repeated
from trigger_gateway.http.webhooks import TRACEPARENT, event_url, trigger_url
from trigger_gateway.runs.request_run import RunAnswer, RunRequest
from trigger_gateway.strict import Strict
from trigger_gateway.webhooks.inbound_log import LogLine

router = team_router("runs")


class ManualTrigger(Strict):
    """A trigger by hand, in place of a clock, a person or an event."""

    type: Literal[TriggerType.CLOCK, TriggerType.HUMAN, TriggerType.EVENT]
    messages: list[Message] = []
    source: str | None = None
    event_type: str | None = None
    data: dict[str, Any] = {}
    executor_mode: ExecutorMode | None = None
    locale: str | None = None
    follows: str | None = Field(default=None, max_length=200, description="human: the execution before this one")
    request_id: str | None = Field(default=None, description="same as the header Idempotency-Key")


class ExecutionResult(BaseModel):
    """202 the first time, 200 for a repeat with the same idempotency key."""

    execution_id: str
    trigger_id: str
    status: ExecStatus
    message: str
    status_url: str


class TriggeringEvent(BaseModel):
    source: str
    event_id: str
    type: str | None
    received_at: Instant
    status_url: str


class TriggerView(TriggerReply):
    """`state` is `unknown` until the scheduler has received the trigger, and for one that never existed."""

    execution_url: str | None = None
    event: TriggeringEvent | None = Field(default=None, description="the event of a source that it came from")


@router.post(
    "/robots/{member}/trigger",
    status_code=202,
    summary="Trigger a robot by hand",
    responses=repeated(ExecutionResult),
)
async def trigger(
    team: Name,
    member: Name,
    body: ManualTrigger,
    request: Request,
    response: Response,
    use: UseCasesDep,
    caller: CallerDep,
) -> ExecutionResult:
    wanted = RunRequest(
        type=body.type,
        messages=body.messages,
        source=body.source,
        event_type=body.event_type,
        data=body.data,
        executor_mode=body.executor_mode,
        locale=body.locale,
        follows=body.follows,
        key=idempotency_key(request.headers, body.request_id),
    )
    trace = request.headers.get(TRACEPARENT, "")
    answer = await use.request_run(team, member, wanted, role=caller.role, trace=trace)
    if answer.repeated:
        response.status_code = 200
    return run_result(team, answer)


@router.get("/triggers/{trigger_id}", summary="Read a trigger", response_model_exclude={"trigger"})
async def read_trigger(team: Name, trigger_id: str, use: UseCasesDep) -> TriggerView:
    line = await use.inbound.by_trigger(team, trigger_id)
    read = await rpc.call(use.ask, READ_TRIGGER, ReadTrigger(team_id=team, trigger_id=trigger_id))
    url = f"/v1/teams/{team}/executions/{read.execution_id}" if read.execution_id else None
    return TriggerView(**read.model_dump(), execution_url=url, event=_event(team, line) if line else None)


def _event(team: str, line: LogLine) -> TriggeringEvent:
    return TriggeringEvent(
        source=line.source,
        event_id=line.event_id,
        type=line.type,
        received_at=line.at,
        status_url=event_url(team, line.source, line.event_id),
    )


def run_result(team: str, answer: RunAnswer) -> ExecutionResult:
    return ExecutionResult(
        execution_id=answer.execution_id,
        trigger_id=answer.trigger_id,
        status=answer.status,
        message=answer.message,
        status_url=trigger_url(team, answer.trigger_id),
    )
