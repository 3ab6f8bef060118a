"""Events of sources, and the triggers that they became."""

import asyncio
from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, Field

from rota_contracts.catalog import READ_TRIGGER
from rota_contracts.messages.execution import ReadTrigger, TriggerState
from rota_contracts.model import Instant, Name
from rota_contracts.roles import Role
from trigger_gateway import rpc
from trigger_gateway.http.auth_routes import CallerDep, team_router
from trigger_gateway.http.dependencies import UseCasesDep
from trigger_gateway.http.webhooks import StartedRunView, event_url, run_view
from trigger_gateway.problems import NotFound
from trigger_gateway.use_cases import UseCases
from trigger_gateway.webhooks.inbound_log import LogLine, Status
from trigger_gateway.webhooks.posts import KeptPost, shown_body, shown_headers

router = team_router("events")

ASKED_AT_ONCE = 16
FOR_ADMINS = "headers and body are shown to keys of the role admin or above"
NOT_KEPT = "headers and body are not kept: for ROTA_POST_DAYS, and within ROTA_POST_BYTES_PER_TEAM, the oldest go first"


class EventTrigger(StartedRunView):
    state: TriggerState


class PostView(BaseModel):
    """A post as it came in, without credentials: the first one of an event, the last one of those that were refused."""

    received_at: Instant
    headers: dict[str, str]
    body: str
    size: int = Field(description="bytes of the body as it was sent")
    cut: bool = Field(description="the body is longer: this is its beginning")


class EventView(BaseModel):
    """An event; or posts of a minute that were refused for one reason, and `event_id` what the last one claims to be.

    `repeats` counts later posts: of the same event, which started nothing, or refused for the same reason.
    """

    event_id: str
    source: str
    status: Status
    type: str | None
    received_at: Instant
    repeats: int
    last_at: Instant
    triggers: list[EventTrigger]
    reason: str | None = Field(default=None, description="the error code of the refusal, or unwanted_type")
    cause: str | None = Field(default=None, description="why, in words that its sender isn't told")
    request_id: str | None = Field(default=None, description="the x-request-id of the last refused post")
    post: PostView | None = Field(default=None, description="for admins, while it is kept")
    no_post: str | None = Field(default=None, description="why there is no post")


class LogLineView(BaseModel):
    """An accepted event with its repeats, or all posts of a minute that were refused for one reason."""

    status: Status
    at: Instant = Field(description="the instant of the first post")
    count: int = Field(description="the number of posts")
    last_at: Instant
    event_id: str | None = Field(
        description="the sender's id of the event; of refused posts that of the last one, unverified"
    )
    type: str | None
    triggers: list[StartedRunView]
    status_url: str | None = Field(description="null for refused posts")
    reason: str | None = Field(description="the error code of the refusal, or unwanted_type")
    cause: str | None = Field(description="why, of the last such post, in words that its sender isn't told")
    request_id: str | None = Field(description="the x-request-id of the last refused post")


class SourceLog(BaseModel):
    """Newest first."""

    page: int
    page_size: int
    more: bool
    lines: list[LogLineView]


@router.get("/sources/{name}/log", summary="List the posts of a source: accepted, repeated, and refused with reasons")
async def read_source_log(
    team: Name,
    name: Name,
    use: UseCasesDep,
    page: Annotated[int, Query(ge=1, le=1000)] = 1,
    page_size: Annotated[int, Query(ge=1, le=100)] = 20,
) -> SourceLog:
    lines, more = await use.inbound.page(team, name, page=page, page_size=page_size)
    if not lines and page == 1:
        await use.sources.read(team, name)
    return SourceLog(page=page, page_size=page_size, more=more, lines=[_line(team, line) for line in lines])


@router.get(
    "/events/{source}/{event_id:path}",
    summary="Read an event of a source, its triggers, and for admins its headers and body",
    description="Refused posts are found by the event's id that the last of them names, or by its x-request-id.",
)
async def read_event(team: Name, source: Name, event_id: str, use: UseCasesDep, caller: CallerDep) -> EventView:
    line = await use.inbound.find(team, source, event_id)
    if line is None:
        text = f"no event {event_id} of source {source} is on record: it is logged a moment after it is accepted"
        raise NotFound("event_not_found", text)
    states = await _states(use, team, [run.trigger_id for run in line.runs])
    may_see = caller.role.covers(Role.ADMIN)
    post = await use.inbound.post(team, line) if may_see else None
    missing = NOT_KEPT if may_see else FOR_ADMINS
    return EventView(
        event_id=line.event_id,
        source=source,
        status=line.status,
        type=line.type,
        received_at=line.at,
        repeats=line.count - 1,
        last_at=line.last_at,
        triggers=[
            EventTrigger(**run_view(team, run), state=state) for run, state in zip(line.runs, states, strict=True)
        ],
        reason=line.reason or None,
        cause=line.cause or None,
        request_id=line.request_id or None,
        post=await asyncio.to_thread(_post, post) if post else None,
        no_post=None if post else missing,
    )


def _post(post: KeptPost) -> PostView:
    return PostView(
        received_at=post.at, headers=shown_headers(post), body=shown_body(post), size=post.size, cut=post.is_cut
    )


async def _states(use: UseCases, team: str, trigger_ids: list[str]) -> list[TriggerState]:
    turns = asyncio.Semaphore(ASKED_AT_ONCE)

    async def state(trigger_id: str) -> TriggerState:
        async with turns:
            return (await rpc.call(use.ask, READ_TRIGGER, ReadTrigger(team_id=team, trigger_id=trigger_id))).state

    return await asyncio.gather(*(state(trigger_id) for trigger_id in trigger_ids))


def _line(team: str, line: LogLine) -> LogLineView:
    accepted = line.status is Status.ACCEPTED
    return LogLineView(
        status=line.status,
        at=line.at,
        count=line.count,
        last_at=line.last_at,
        event_id=line.event_id or None,
        type=line.type,
        triggers=[StartedRunView(**run_view(team, run)) for run in line.runs],
        status_url=event_url(team, line.source, line.event_id) if accepted else None,
        reason=line.reason or None,
        cause=line.cause or None,
        request_id=line.request_id or None,
    )
