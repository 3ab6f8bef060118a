"""Retries of executions: one by its id, or those that a filter finds."""

from dataclasses import asdict
from typing import Annotated

from fastapi import Body, Path, Request, Response
from pydantic import BaseModel, Field

from rota_contracts.messages.execution import TriggerState
from rota_contracts.messages.retry import ListRetryable, RetryableStatus
from rota_contracts.model import Instant, Name
from trigger_gateway.http.auth_routes import caller_of, team_router
from trigger_gateway.http.deliveries import ID_LIMIT, Moment
from trigger_gateway.http.dependencies import UseCasesDep
from trigger_gateway.http.errors import TOO_MANY, repeated
from trigger_gateway.http.webhooks import TRACEPARENT, trigger_url
from trigger_gateway.problems import FieldProblem, Invalid
from trigger_gateway.runs.retry_execution import RetryAnswer, RetryOptions
from trigger_gateway.runs.retry_executions import RefusedRetry
from trigger_gateway.strict import Strict

router = team_router("executions")

NARROWER = ("member_id", "status", "since", "until")

ExecutionId = Annotated[str, Path(min_length=1, max_length=ID_LIMIT, description="rejected ones have one too")]
Force = Annotated[bool, Field(description="also if the outcome of one of its calls is unknown")]
DryRun = Annotated[bool, Field(description="only say what would be retried")]


class RetryRequest(Strict):
    force: Force = False
    dry_run: DryRun = False


class RetryRange(Strict):
    """All given conditions must hold; at least one is needed."""

    member_id: Name | None = None
    status: RetryableStatus | None = None
    since: Moment | None = Field(default=None, description="rejected or failed at this instant or later")
    until: Moment | None = Field(default=None, description="rejected or failed before this instant")
    limit: int = Field(default=100, ge=1, le=100)
    after: str = Field(default="", max_length=500, description="`next` of the previous page")
    force: Force = False
    dry_run: DryRun = False


class RetriedRun(BaseModel):
    """202 the first time; 200 for a repeat, which is the same new execution: to run it again, retry that one."""

    execution_id: str
    trigger_id: str
    retry_of: str
    repeated: bool
    state: TriggerState = Field(description="`unknown` until the scheduler has decided, and for a dry run")
    message: str
    status_url: str


class RefusedRun(BaseModel):
    """An execution that was not retried: the code and message that retrying it alone answers."""

    execution_id: str
    member_id: str
    status: RetryableStatus
    ended_at: Instant
    code: str
    message: str


class RetriedRuns(BaseModel):
    """Continue with `after` = `next` and the same conditions, until `next` is empty."""

    retried: list[RetriedRun]
    refused: list[RefusedRun]
    next: str


@router.post(
    "/executions/retry",
    status_code=202,
    summary="Retry rejected and failed executions of a range, page by page",
)
async def retry_executions(team: Name, body: RetryRange, request: Request, use: UseCasesDep) -> RetriedRuns:
    """The earliest end first. One that can't be retried stops no other. Those that a person stopped are retried by
    their id alone."""
    if not any(getattr(body, name) for name in NARROWER):
        text = f"expected at least one of {', '.join(NARROWER)}: all executions at once are refused"
        raise Invalid("invalid_request", "the request is not valid", fields=[FieldProblem("since", text)])
    wanted = ListRetryable(team_id=team, **body.model_dump(exclude={"force", "dry_run"}))
    page = await use.retry_executions(wanted, _options(body, request))
    return RetriedRuns(
        retried=[_view(team, each.answer) for each in page.retried],
        refused=[_refused(each) for each in page.refused],
        next=page.next,
    )


@router.post(
    "/executions/{execution_id}/retry",
    status_code=202,
    summary="Retry a rejected or failed execution: a new one on the robot's current revision",
    responses=repeated(RetriedRun) | TOO_MANY,
)
async def retry_execution(
    team: Name,
    execution_id: ExecutionId,
    request: Request,
    response: Response,
    use: UseCasesDep,
    body: Annotated[RetryRequest | None, Body()] = None,
) -> RetriedRun:
    answer = await use.retry_execution(team, execution_id, _options(body or RetryRequest(), request))
    if answer.repeated:
        response.status_code = 200
    return _view(team, answer)


def _options(body: RetryRequest | RetryRange, request: Request) -> RetryOptions:
    trace = request.headers.get(TRACEPARENT, "")
    return RetryOptions(caller_of(request).role, force=body.force, dry_run=body.dry_run, trace=trace)


def _view(team: str, answer: RetryAnswer) -> RetriedRun:
    return RetriedRun(**asdict(answer), status_url=trigger_url(team, answer.trigger_id))


def _refused(refused: RefusedRetry) -> RefusedRun:
    shown = refused.execution.model_dump(include={"execution_id", "member_id", "status", "ended_at"})
    return RefusedRun(**shown, code=refused.code, message=refused.message)
