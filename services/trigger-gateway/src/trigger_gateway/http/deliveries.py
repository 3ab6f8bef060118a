"""The log of deliveries: every attempt at every target, and replays."""

from datetime import UTC
from typing import Annotated, Literal, TypeVar
from uuid import uuid4

from fastapi import Body, Path, Query, Request
from pydantic import AfterValidator, BaseModel, Field, ValidationInfo, field_validator
from starlette.responses import Response

from rota_contracts.catalog import LIST_DELIVERIES, READ_DELIVERY, REPLAY_DELIVERIES, RETRY_DELIVERIES
from rota_contracts.messages.delivery import DeliveryReply, ReadDelivery
from rota_contracts.messages.delivery_log import (
    DeliveryPage,
    DeliveryState,
    Limit,
    ListDeliveries,
    ReplayDeliveries,
    ReplayedDelivery,
    RetriedDelivery,
    RetryDeliveries,
)
from rota_contracts.model import Instant, Name
from trigger_gateway import rpc
from trigger_gateway.http.auth_routes import team_router
from trigger_gateway.http.dependencies import UseCasesDep, idempotency_key
from trigger_gateway.problems import Conflict, FieldProblem, Invalid, NotFound
from trigger_gateway.strict import Strict
from trigger_gateway.use_cases import UseCases

MARKDOWN = "text/markdown"
router = team_router("deliveries")

ID_LIMIT = 200
NARROWER = ("member_id", "execution_id", "target_id", "since", "until")


def _in_utc(at: Instant) -> Instant:
    try:
        return at.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("expected an instant between the years 1 and 9999") from error


Moment = Annotated[Instant, AfterValidator(_in_utc)]
Id = Annotated[str, Field(min_length=1, max_length=ID_LIMIT)]
RequestId = Annotated[str, Path(min_length=1, max_length=ID_LIMIT, description="as in the list of deliveries")]
Sent = Annotated[
    Literal["failed", "all"],
    Field(description="failed: targets that were given up; all: every final target. Never a pending one"),
]
DryRun = Annotated[bool, Field(description="only list what would be sent")]
ReplayId = Annotated[Id | None, Field(description="same as the header Idempotency-Key; generated when missing")]


class DeliveryFilter(Strict):
    """All given conditions must hold."""

    member_id: Name | None = None
    execution_id: Id | None = None
    target_id: Id | None = None
    since: Moment | None = Field(default=None, description="requested at this instant or later")
    until: Moment | None = Field(default=None, description="requested before this instant")
    after: str = Field(default="", max_length=500, description="`next` of the previous page")

    @field_validator("until")
    @classmethod
    def _ends_after_it_begins(cls, until: Instant | None, given: ValidationInfo) -> Instant | None:
        since = given.data.get("since")
        if until is not None and since is not None and until <= since:
            raise ValueError(f"expected an instant after since ({since.isoformat()})")
        return until


F = TypeVar("F", bound=DeliveryFilter)


class DeliveryQuery(DeliveryFilter):
    state: DeliveryState | None = None
    limit: Limit = 50


class ReplayRange(DeliveryFilter):
    targets: Sent = "failed"
    dry_run: DryRun = False
    limit: Limit = 100
    replay_id: ReplayId = None


class RetryRange(DeliveryFilter):
    limit: Limit = 100


class RetriedPage(BaseModel):
    """Continue with `after` = `next` until `next` is empty."""

    retried: list[RetriedDelivery]
    count: int
    next: str


class ReplayRequest(Strict):
    targets: Sent = "failed"
    dry_run: DryRun = False
    replay_id: ReplayId = None


class ReplayedView(ReplayedDelivery):
    """A replay is a delivery of its own."""

    status_url: str | None = Field(description="null for a dry run")


class ReplayedOne(ReplayedView):
    """A repeat with the same `replay_id` sends nothing again."""

    replay_id: str


class ReplayedPage(BaseModel):
    """Continue with `after` = `next` and the same `replay_id`, until `next` is empty."""

    replay_id: str
    replayed: list[ReplayedView]
    count: int
    next: str


@router.get("/deliveries", summary="List the deliveries, newest first")
async def list_deliveries(team: Name, use: UseCasesDep, wanted: Annotated[DeliveryQuery, Query()]) -> DeliveryPage:
    return await rpc.call(
        use.ask, LIST_DELIVERIES, ListDeliveries(team_id=team, **wanted.model_dump()), show_reason=True
    )


@router.get("/deliveries/{request_id}", summary="Read a delivery: its targets and every attempt")
async def read_delivery_request(team: Name, request_id: RequestId, use: UseCasesDep) -> DeliveryReply:
    return await _read(use, team, request_id)


@router.get(
    "/deliveries/{request_id}/body",
    response_class=Response,
    responses={200: {"content": {MARKDOWN: {"schema": {"type": "string"}}}}},
    summary="Read the body of a delivery: the whole report",
)
async def read_delivery_body(team: Name, request_id: RequestId, use: UseCasesDep) -> Response:
    """Markdown. The feed refers to a long body instead of holding it."""
    read = await _read(use, team, request_id, with_body=True)
    return Response(read.body or "", media_type=MARKDOWN)


@router.post("/deliveries/replay", status_code=202, summary="Replay a range of deliveries, page by page")
async def replay_deliveries(team: Name, body: ReplayRange, request: Request, use: UseCasesDep) -> ReplayedPage:
    """Oldest first, one page per call: continue with `next` until it is empty."""
    _narrowed(body)
    replay_id = _replay_id(request, body.replay_id)
    question = ReplayDeliveries(team_id=team, **body.model_dump() | {"replay_id": replay_id})
    answer = await rpc.call(use.ask, REPLAY_DELIVERIES, question, show_reason=True)
    sent = [_view(team, each, dry_run=body.dry_run) for each in answer.replayed]
    return ReplayedPage(replay_id=replay_id, replayed=sent, count=len(sent), next=answer.next)


@router.post("/deliveries/{request_id}/replay", status_code=202, summary="Replay a delivery")
async def replay_delivery(
    team: Name,
    request_id: RequestId,
    request: Request,
    use: UseCasesDep,
    body: Annotated[ReplayRequest | None, Body()] = None,
) -> ReplayedOne:
    wanted, read = body or ReplayRequest(), await _read(use, team, request_id)
    replay_id = _replay_id(request, wanted.replay_id)
    given = wanted.model_dump() | {"replay_id": replay_id}
    question = ReplayDeliveries(team_id=team, request_id=request_id, **given)
    answer = await rpc.call(use.ask, REPLAY_DELIVERIES, question, show_reason=True)
    if not answer.replayed:
        raise Conflict("nothing_to_replay", _why_nothing(read))
    view = _view(team, answer.replayed[0], dry_run=wanted.dry_run)
    return ReplayedOne(replay_id=replay_id, **view.model_dump())


@router.post("/deliveries/retry", status_code=202, summary="Retry what is pending now, page by page")
async def retry_deliveries(team: Name, body: RetryRange, use: UseCasesDep) -> RetriedPage:
    """Pending attempts are made within seconds, under the same delivery ids. Continue with `next` until it is empty."""
    question = RetryDeliveries(team_id=team, **_narrowed(body).model_dump())
    answer = await rpc.call(use.ask, RETRY_DELIVERIES, question, show_reason=True)
    return RetriedPage(retried=answer.retried, count=len(answer.retried), next=answer.next)


@router.post("/deliveries/{request_id}/retry", status_code=202, summary="Retry a pending delivery now")
async def retry_delivery(team: Name, request_id: RequestId, use: UseCasesDep) -> RetriedDelivery:
    """Its pending attempts are made within seconds, under the same delivery ids."""
    read = await _read(use, team, request_id)
    answer = await rpc.call(use.ask, RETRY_DELIVERIES, RetryDeliveries(team_id=team, request_id=request_id))
    if not answer.retried:
        raise Conflict("nothing_to_retry", _why_no_retry(read))
    return answer.retried[0]


def _narrowed(body: F) -> F:
    """Raises Invalid without any condition."""
    if not any(getattr(body, name) for name in NARROWER):
        text = f"expected at least one of {', '.join(NARROWER)}: all deliveries at once are refused"
        raise Invalid("invalid_request", "the request is not valid", fields=[FieldProblem("since", text)])
    return body


async def _read(use: UseCases, team: str, request_id: str, *, with_body: bool = False) -> DeliveryReply:
    question = ReadDelivery(team_id=team, request_id=request_id, with_body=with_body)
    read = await rpc.call(use.ask, READ_DELIVERY, question, show_reason=with_body)
    if read.request_id is None:
        text = f"team {team} has no delivery {request_id}: it never existed, or has expired"
        raise NotFound("delivery_not_found", text)
    return read


def _replay_id(request: Request, in_body: str | None) -> str:
    return idempotency_key(request.headers, in_body, limit=ID_LIMIT) or str(uuid4())


def _view(team: str, each: ReplayedDelivery, *, dry_run: bool) -> ReplayedView:
    url = None if dry_run else f"/v1/teams/{team}/deliveries/{each.request_id}"
    return ReplayedView(**each.model_dump(), status_url=url)


def _why_nothing(read: DeliveryReply) -> str:
    if not read.targets:
        return "this delivery has no targets: the robot had no delivery preferences"
    if not read.settled:
        return "this delivery is still pending and no target was given up: retry makes its next attempt now"
    if not all(target.result.success for target in read.targets):
        return "another replay of this delivery has reached its targets, or is still pending"
    return "every target of this delivery was reached: replay all targets to send it again"


def _why_no_retry(read: DeliveryReply) -> str:
    if read.settled:
        return "no target of this delivery is pending: replay sends it again"
    return "its pending attempts are made within seconds, or their targets are disabled: read it, and see the targets"
