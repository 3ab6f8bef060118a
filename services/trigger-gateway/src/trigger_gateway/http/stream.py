"""A team's activity as it happens, as server-sent events."""

from collections.abc import AsyncIterator
from typing import Any

from pydantic_core import to_json
from sse_starlette import EventSourceResponse, ServerSentEvent

from rota_contracts.catalog import CHANNELS, Channel
from rota_contracts.envelope import Event
from rota_contracts.ids import execution_id as execution_id_of
from rota_contracts.model import Name, Payload
from trigger_gateway.http.auth_routes import team_router
from trigger_gateway.http.dependencies import UseCasesDep, jetstream_of
from trigger_gateway.use_cases import UseCases

router = team_router("stream")

DROPPED = "rota.dropped"

_SHOWN = {
    *("validation.completed", "learning.completed", "activity.observed", "plan.changed", "notification.posted"),
    *("robot.failed", "robot.recovered", "target.disabled", "target.enabled"),
    *(f"delivery.{verb}" for verb in ("completed", "attempted", "settled", "failed")),
}


@router.get(
    "/stream",
    summary="Follow triggers, executions and deliveries live",
    response_class=EventSourceResponse,
    responses={200: {"content": {"text/event-stream": {}}, "description": "CloudEvents as JSON, one per message"}},
)
async def follow(
    team: Name, use: UseCasesDep, execution_id: str | None = None, member_id: Name | None = None
) -> EventSourceResponse:
    """A slow reader loses the oldest of 256 buffered events and receives `rota.dropped`."""
    jetstream_of(use)  # before the response begins: afterwards its status can't change
    return EventSourceResponse(_events(use, team, execution_id, member_id or "*"), ping=use.heartbeat)


async def _events(use: UseCases, team: str, execution_id: str | None, member: str) -> AsyncIterator[ServerSentEvent]:
    async with use.live.listen(shown_channels(), team=team, member=member) as heard:
        yield ServerSentEvent(comment="listening")
        while True:
            event = await heard.next()
            if count := heard.dropped():
                yield ServerSentEvent(event=DROPPED, data=to_json({"dropped": count}).decode())
            if execution_id in (None, execution_of(event.data)):
                yield ServerSentEvent(id=event.id, data=to_json(as_cloud_event(event)).decode())


def shown_channels() -> list[Channel[Any]]:
    """Triggers, plans, executions, notifications, robots' errors, disabled and enabled targets, and the results of
    validation, delivery and learning; no requests between services."""
    return [c for name, c in CHANNELS.items() if name in _SHOWN or name.startswith(("trigger.", "execution."))]


def execution_of(payload: Payload) -> str | None:
    """The execution of an event; of a trigger, the execution that it will start."""
    for owner in (payload, getattr(payload, "context", None)):
        if (found := getattr(owner, "execution_id", None)) is not None:
            return str(found)
    trigger_id = getattr(payload, "trigger_id", None)
    return execution_id_of(trigger_id) if trigger_id is not None else None


def as_cloud_event(event: Event[Any]) -> dict[str, Any]:
    """The event as a CloudEvent in JSON."""
    return {
        "specversion": "1.0",
        "id": event.id,
        "type": event.type,
        "source": event.source,
        "time": event.time.isoformat(),
        "data": event.data.model_dump(mode="json"),
    }
