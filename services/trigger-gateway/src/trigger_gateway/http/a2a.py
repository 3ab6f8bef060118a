"""The team's public agents and its robots as agents of the A2A protocol: their cards, and their messages."""

import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import Header, Path, Request
from fastapi.responses import JSONResponse, Response
from pydantic_core import to_json
from sse_starlette import ServerSentEvent

from rota_contracts.model import Name
from trigger_gateway.a2a.cards import card_of
from trigger_gateway.a2a.party import Party
from trigger_gateway.a2a.protocol import answer
from trigger_gateway.a2a.streams import Stream
from trigger_gateway.http.auth_routes import CallerDep, team_router
from trigger_gateway.http.counted_stream import CountedStream
from trigger_gateway.http.dependencies import UseCasesDep, check_json
from trigger_gateway.problems import Malformed

router = team_router("a2a")

PartyName = Annotated[str, Path(min_length=1, max_length=200, description="an agent's id, or a robot")]
Version = Annotated[str, Header(max_length=50, description="1.0")]
CARD = "/.well-known/agent-card.json"


@router.get(f"/a2a/{{name}}{CARD}", summary="Read the A2A card of a public agent, or of a robot that people may start")
async def read_agent_card(team: Name, name: PartyName, request: Request, use: UseCasesDep) -> dict[str, Any]:
    party = await use.offered.find.one(team, name)
    base = use.offered.base_url or str(request.base_url).rstrip("/")
    return card_of(party, base + request.url.path.removesuffix(CARD))


@router.post(
    "/a2a/{name}",
    summary="Send a message to an agent or a robot, by the A2A protocol",
    response_class=JSONResponse,
    responses={200: {"content": {"text/event-stream": {}}, "description": "the answer; or a stream of answers"}},
)
async def a2a(
    team: Name, name: PartyName, request: Request, use: UseCasesDep, caller: CallerDep, a2a_version: Version = ""
) -> Response:
    """JSON-RPC of version 1.0: `SendMessage`, `GetTask`, `CancelTask`, and as server-sent events `SendStreamingMessage`
    and `SubscribeToTask`. A task is an execution, and has its id."""
    given = await _json(request)
    it = await use.offered.find.one(team, name)
    party = Party(use=use, team=team, caller=caller, it=it, request=request)
    answered = await answer(party, given, a2a_version)
    if isinstance(answered, Stream):
        return CountedStream(_events(answered), share=answered.share, team=team, ping=use.heartbeat)
    return JSONResponse(answered)


async def _events(stream: Stream) -> AsyncIterator[ServerSentEvent]:
    async with aclosing(stream.results):
        async for response in stream.results:
            yield ServerSentEvent(data=to_json(response).decode())


async def _json(request: Request) -> Any:
    check_json(request)
    try:
        return await request.json()
    except json.JSONDecodeError as error:
        raise Malformed("malformed_json", "the body is not JSON") from error
