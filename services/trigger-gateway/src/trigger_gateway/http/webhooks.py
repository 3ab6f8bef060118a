"""Webhooks: signed events become triggers. Senders have no key; their signature is enough."""

from dataclasses import replace
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from trigger_gateway.http.client_ip import client_ip
from trigger_gateway.http.dependencies import use_cases_of
from trigger_gateway.http.errors import ERRORS, TOO_MANY, ErrorAnswer
from trigger_gateway.webhooks.answer_message import MessageReply
from trigger_gateway.webhooks.inbound_event import StartedRun
from trigger_gateway.webhooks.ingest_event import IngestResult
from trigger_gateway.webhooks.receive_webhook import Post

TRACEPARENT = "traceparent"
REPLAYED = "Idempotency-Replayed"
REFUSED = {
    400: "the body is not a JSON object, or the event has no id although its scheme has one",
    401: "the bearer key is missing or wrong",
    403: "the signature is missing, wrong, or older than 5 minutes",
    404: "the team has no such source",
    409: "the id was used with another body before",
    422: "the event can't be stored: a whole number over 64 bits, a name with a zero byte, nested over 64 levels",
    413: "the body is larger than ROTA_WEBHOOK_LIMIT, 64 KiB by default",
    500: "the robot of the source can't answer",
    503: "the event can't be stored now: send it again",
}
SIGNATURE_HEADERS = ("webhook-id", "webhook-timestamp", "webhook-signature")


class StartedRunView(BaseModel):
    trigger_id: str
    execution_id: str
    member_id: str
    status_url: str


class MessageAnswered(BaseModel):
    """The answer of the source's robot to a message."""

    response: str
    model: str


class WebhookAccepted(BaseModel):
    """The event is stored; the same for each repeat. Reading a `status_url` requires the team's key."""

    event_id: str
    triggers: list[StartedRunView]
    status_url: str
    message: str


# One endpoint, two routes: `direct` answers, without FastAPI's own path to an endpoint, a fifth of a webhook's
# time; `router` comes after it and only documents it.


class Direct:
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await receive_webhook(Request(scope, receive, send))
        await response(scope, receive, send)


direct = Route("/v1/hooks/{team}/{source}", Direct(), methods=["POST"])


router = APIRouter(prefix="/v1/hooks", tags=["hooks"], responses=ERRORS)


@router.post(
    "/{team}/{source}",
    status_code=202,
    summary="Post an event, signed by the scheme of its source",
    responses={
        200: {
            "model": WebhookAccepted | MessageAnswered,
            "description": "the stored answer, if the event was accepted before; or the robot's answer to a message",
        },
        202: {"model": WebhookAccepted},
        **{status: {"description": text, "model": ErrorAnswer} for status, text in REFUSED.items()},
        **TOO_MANY,
    },
    openapi_extra={
        "parameters": [
            {"name": name, "in": place, "required": place == "path", "schema": {"type": "string"}}
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
    use, path, headers = use_cases_of(request), request.path_params, request.headers
    post = Post(
        path["team"],
        path["source"],
        headers,
        b"",
        client_ip(request, use.trusted_proxies),
        request.state.request_id,
        headers.get(TRACEPARENT, ""),
    )
    try:
        body = await request.body()
    except HTTPException as error:
        if error.status_code == 413:
            await use.receive_webhook.log_too_large(post, error.detail)
        raise
    received = await use.receive_webhook(replace(post, body=body))
    if isinstance(received, MessageReply):
        answer = {"response": received.response, "model": received.model}
        return JSONResponse(answer, headers={REPLAYED: "true"} if received.repeated else None)
    if received.event.challenge is not None:
        return JSONResponse({"challenge": received.event.challenge})
    if received.repeated:
        return JSONResponse(_accepted(received), status_code=200, headers={REPLAYED: "true"})
    return JSONResponse(_accepted(received), status_code=202)


def event_url(team: str, source: str, event_id: str) -> str:
    return f"/v1/teams/{team}/events/{source}/{quote(event_id, safe='')}"


def trigger_url(team: str, trigger_id: str) -> str:
    return f"/v1/teams/{team}/triggers/{trigger_id}"


def run_view(team: str, run: StartedRun) -> dict[str, str]:
    return {
        "trigger_id": run.trigger_id,
        "execution_id": run.execution_id,
        "member_id": run.member_id,
        "status_url": trigger_url(team, run.trigger_id),
    }


def _accepted(received: IngestResult) -> dict[str, object]:
    """`WebhookAccepted` as it is sent; plain, because this is the path that must be fast."""
    event = received.event
    return {
        "event_id": event.id,
        "triggers": [run_view(event.team, run) for run in received.runs],
        "status_url": event_url(event.team, event.source, event.id),
        "message": _message(received),
    }


def _message(received: IngestResult) -> str:
    event, count = received.event, len(received.runs)
    if event.unwanted:
        return f"{event.unwanted}: nothing will run"
    if count:
        return f"stored for {count} robot{'s' if count > 1 else ''}"
    kind = f"type {event.type}" if event.type else "no type"
    if received.covered:
        return f"accepted, but its data doesn't meet the conditions of any robot for {kind}: nothing will run"
    return f"accepted, but no robot of the team subscribes to source {event.source} with {kind}: nothing will run"
