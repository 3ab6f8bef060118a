"""Webhooks in: signed events become triggers. The publisher has no key; its signature is enough."""

from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.background import BackgroundTask
from starlette.responses import JSONResponse

from trigger_gateway.domain import InboundEvent, Woken
from trigger_gateway.http.guarded import Handler
from trigger_gateway.http.parts import parts_of
from trigger_gateway.receive_webhook import Received

TRACEPARENT = "traceparent"
SIGNATURE_HEADERS = ("webhook-id", "webhook-timestamp", "webhook-signature")


class DirectRoute(APIRoute):
    """Calls the endpoint with the request and nothing else: resolving parameters would take a fifth of the time."""

    def get_route_handler(self) -> Handler:
        endpoint: Handler = self.endpoint
        return endpoint


router = APIRouter(prefix="/v1/hooks", tags=["hooks"], route_class=DirectRoute)


class WokenView(BaseModel):
    trigger_id: str
    execution_id: str
    member_id: str
    status_url: str


class WebhookAccepted(BaseModel):
    """The event is stored: the same for each repeat of it. Reading a `status_url` takes the team's key."""

    event_id: str
    triggers: list[WokenView]
    status_url: str
    message: str


@router.post(
    "/{team}/{source}",
    status_code=202,
    summary="Post an event, signed as Standard Webhooks are",
    responses={202: {"model": WebhookAccepted}},
    openapi_extra={
        "parameters": [
            {"name": name, "in": place, "required": True, "schema": {"type": "string"}}
            for place, names in (("path", ("team", "source")), ("header", SIGNATURE_HEADERS))
            for name in names
        ],
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": {"type": "object"},
                    "example": {"type": "lead.created", "data": {"name": "Ada", "company": "Analytical Engines"}},
                }
            },
        },
    },
)
async def receive_webhook(request: Request) -> Response:
    team, source = request.path_params["team"], request.path_params["source"]
    receive, body = parts_of(request).receive_webhook, await request.body()
    received = await receive(team, source, request.headers, body, trace=request.headers.get(TRACEPARENT, ""))
    return JSONResponse(_accepted(received), status_code=202, background=BackgroundTask(receive.log, received))


def trigger_url(team: str, trigger_id: str) -> str:
    return f"/v1/teams/{team}/triggers/{trigger_id}"


def woken_view(team: str, woken: Woken) -> dict[str, str]:
    return {
        "trigger_id": woken.trigger_id,
        "execution_id": woken.execution_id,
        "member_id": woken.member_id,
        "status_url": trigger_url(team, woken.trigger_id),
    }


def _accepted(received: Received) -> dict[str, object]:
    """`WebhookAccepted` as it is sent; plain, because this is the path that must be fast."""
    event = received.event
    return {
        "event_id": event.id,
        "triggers": [woken_view(event.team, woken) for woken in received.woken],
        "status_url": f"/v1/teams/{event.team}/events/{event.source}/{quote(event.id, safe='')}",
        "message": _message(event, len(received.woken)),
    }


def _message(event: InboundEvent, count: int) -> str:
    if count:
        return f"stored for {count} robot{'s' if count > 1 else ''}"
    kind = f"type {event.type}" if event.type else "no type"
    return f"accepted, but no robot of the team subscribes to source {event.source} with {kind}: nothing will run"
