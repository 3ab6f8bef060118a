"""A team's activity as it happens, as server-sent events."""

from collections.abc import AsyncIterator

from pydantic_core import to_json
from sse_starlette import EventSourceResponse, ServerSentEvent

from rota_contracts.model import Name
from trigger_gateway.follow_activity import as_cloud_event, execution_of, shown_channels
from trigger_gateway.http.auth_routes import team_router
from trigger_gateway.http.dependencies import Parts, PartsDep, jetstream_of

router = team_router("stream")

DROPPED = "rota.dropped"


@router.get(
    "/stream",
    summary="Follow triggers, executions and deliveries live",
    response_class=EventSourceResponse,
    responses={200: {"content": {"text/event-stream": {}}, "description": "CloudEvents as JSON, one per message"}},
)
async def follow(
    team: Name, parts: PartsDep, execution_id: str | None = None, member_id: Name | None = None
) -> EventSourceResponse:
    """Whoever reads too slowly loses the oldest of 256 waiting events and is told so: event `rota.dropped`."""
    jetstream_of(parts)  # before the answer begins: afterwards there is no status to say it with
    return EventSourceResponse(_events(parts, team, execution_id, member_id or "*"), ping=parts.heartbeat)


async def _events(parts: Parts, team: str, execution_id: str | None, member: str) -> AsyncIterator[ServerSentEvent]:
    async with parts.watch.listen(shown_channels(), team=team, member=member) as heard:
        yield ServerSentEvent(comment="listening")
        while True:
            event = await heard.next()
            if count := heard.dropped():
                yield ServerSentEvent(event=DROPPED, data=to_json({"dropped": count}).decode())
            if execution_id in (None, execution_of(event.data)):
                yield ServerSentEvent(id=event.id, data=to_json(as_cloud_event(event)).decode())
