"""Events of sources, and the triggers that they became."""

import asyncio
from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, Field

from rota_contracts.catalog import READ_TRIGGER
from rota_contracts.messages.execution import ReadTrigger, TriggerState
from rota_contracts.model import Instant, Name
from trigger_gateway import rpc
from trigger_gateway.http.auth_routes import team_router
from trigger_gateway.http.dependencies import UseCasesDep
from trigger_gateway.http.webhooks import StartedRunView, event_url, run_view
from trigger_gateway.problems import NotFound
from trigger_gateway.use_cases import UseCases
from trigger_gateway.webhooks.inbound_log import LogLine, Status

router = team_router("events")

ASKED_AT_ONCE = 16


class EventTrigger(StartedRunView):
    state: TriggerState


class EventView(BaseModel):
    """`repeats` counts later posts of the same event, which started nothing."""

    event_id: str
    source: str
    status: Status
    type: str | None
    received_at: Instant
    repeats: int
    last_at: Instant
    triggers: list[EventTrigger]


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
    cause: str | None = Field(description="why a signature was refused, of the last such post; its sender isn't told")
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


@router.get("/events/{source}/{event_id:path}", summary="Read an event of a source and its triggers")
async def read_event(team: Name, source: Name, event_id: str, use: UseCasesDep) -> EventView:
    line = await use.inbound.find(team, source, event_id)
    if line is None:
        text = f"no event {event_id} of source {source} is on record: it is logged a moment after it is accepted"
        raise NotFound("event_not_found", text)
    states = await _states(use, team, [run.trigger_id for run in line.runs])
    return EventView(
        event_id=event_id,
        source=source,
        status=line.status,
        type=line.type,
        received_at=line.at,
        repeats=line.count - 1,
        last_at=line.last_at,
        triggers=[
            EventTrigger(**run_view(team, run), state=state) for run, state in zip(line.runs, states, strict=True)
        ],
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
