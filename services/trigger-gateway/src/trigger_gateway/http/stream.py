"""A team's activity as it happens, as server-sent events."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import to_json
from sse_starlette import EventSourceResponse, ServerSentEvent

from rota_common.bus.live import Events
from rota_common.errors import Transient
from rota_common.stores.mongo import OUTAGES
from rota_contracts.catalog import CHANNELS, Channel
from rota_contracts.envelope import Event
from rota_contracts.ids import execution_id as execution_id_of
from rota_contracts.model import Name, Payload
from trigger_gateway.http.auth_routes import CallerDep, team_router
from trigger_gateway.http.counted_stream import CountedStream
from trigger_gateway.http.dependencies import UseCasesDep, jetstream_of
from trigger_gateway.teams.authenticate import Caller
from trigger_gateway.use_cases import UseCases

router = team_router("stream")

DROPPED = "rota.dropped"
AWAY: tuple[type[Exception], ...] = (Transient, *OUTAGES)

_SHOWN = {
    *("validation.completed", "learning.completed", "activity.observed", "plan.changed", "notification.posted"),
    *("robot.failed", "robot.recovered", "target.disabled", "target.enabled"),
    *("approval.requested", "approval.decided"),
    *(f"delivery.{verb}" for verb in ("completed", "attempted", "settled", "failed")),
}


@router.get(
    "/stream",
    summary="Follow triggers, executions and deliveries live",
    response_class=EventSourceResponse,
    responses={200: {"content": {"text/event-stream": {}}, "description": "CloudEvents as JSON, one per message"}},
)
async def follow(
    team: Name, use: UseCasesDep, caller: CallerDep, execution_id: str | None = None, member_id: Name | None = None
) -> EventSourceResponse:
    """A slow reader loses the oldest of 256 buffered events and receives `rota.dropped`. A stream ends within a
    heartbeat of the deletion of its key; a team may have so many open at a time (429)."""
    jetstream_of(use)  # before the response begins: afterwards its status can't change
    if not use.streams.enter(team):
        raise use.streams.refusal()
    events = _events(use, team, caller, execution_id, member_id or "*")
    return CountedStream(events, share=use.streams, team=team, ping=use.heartbeat)


@dataclass
class _KeyChecks:
    """Whether the key of a stream is still there: looked at with each heartbeat, on busy streams too."""

    use: UseCases
    caller: Caller
    due: float = field(init=False)

    def __post_init__(self) -> None:
        self.due = self._later()

    async def passed(self) -> bool:
        """True until the key was deleted. While the store is away it is unknown, and the stream goes on."""
        if asyncio.get_running_loop().time() < self.due:
            return True
        self.due = self._later()
        try:
            return await self.use.authenticate.still(self.caller)
        except AWAY:
            return True

    def _later(self) -> float:
        return asyncio.get_running_loop().time() + self.use.heartbeat


async def _next(heard: Events, checks: _KeyChecks) -> Event[Any] | None:
    """The next event; None once the caller's key is gone."""
    while await checks.passed():
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(checks.due):
                return await heard.next()
    return None


async def _events(
    use: UseCases, team: str, caller: Caller, execution_id: str | None, member: str
) -> AsyncIterator[ServerSentEvent]:
    checks = _KeyChecks(use, caller)
    async with use.live.listen(shown_channels(), team=team, member=member) as heard:
        yield ServerSentEvent(comment="listening")
        while (event := await _next(heard, checks)) is not None:
            if count := heard.dropped():
                yield ServerSentEvent(event=DROPPED, data=to_json({"dropped": count}).decode())
            if execution_id in (None, execution_of(event.data)):
                yield ServerSentEvent(id=event.id, data=to_json(as_cloud_event(event)).decode())


def shown_channels() -> list[Channel[Any]]:
    """Triggers, plans, executions, approvals, notifications, robots' errors, disabled and enabled targets, and the
    results of validation, delivery and learning; no requests between services."""
    return [c for name, c in CHANNELS.items() if name in _SHOWN or name.startswith(("trigger.", "execution."))]


def execution_of(payload: Payload) -> str | None:
    """The execution of an event; of a trigger, the execution that it will start."""
    for owner in (payload, *(getattr(payload, part, None) for part in ("context", "approval"))):
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
