"""Routes that know who asks before they look at the body (Decision 7), and that read JSON strictly."""

import json
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from pydantic_core import from_json

from trigger_gateway.http.parts import parts_of

BEARER = Depends(HTTPBearer(auto_error=False, description="a team's key, or the administrator's"))
"""For the documentation alone: the routes below do the checking."""

Handler = Callable[[Request], Coroutine[Any, Any, Response]]
Guard = Callable[[Request], Awaitable[None]]


class StrictJson(Request):
    async def json(self) -> Any:
        """Refuses what the bus's JSON can't carry: NaN, lone surrogates, absurd nesting."""
        body = await self.body()
        try:
            return from_json(body, allow_inf_nan=False)
        except ValueError as error:
            raise json.JSONDecodeError(str(error), "", 0) from error


async def admin_only(request: Request) -> None:
    await parts_of(request).authenticate.admin(_bearer(request))


async def own_team_only(request: Request) -> None:
    await parts_of(request).authenticate.for_team(_bearer(request), request.path_params["team"])


class AdminRoute(APIRoute):
    def get_route_handler(self) -> Handler:
        return _guarded(admin_only, super().get_route_handler())


class TeamRoute(APIRoute):
    """The path has a `{team}`."""

    def get_route_handler(self) -> Handler:
        return _guarded(own_team_only, super().get_route_handler())


def admin_router(topic: str) -> APIRouter:
    return APIRouter(prefix="/v1", tags=[topic], route_class=AdminRoute, dependencies=[BEARER])


def team_router(topic: str) -> APIRouter:
    return APIRouter(prefix="/v1/teams/{team}", tags=[topic], route_class=TeamRoute, dependencies=[BEARER])


def _guarded(guard: Guard, handle: Handler) -> Handler:
    async def handler(request: Request) -> Response:
        await guard(request)
        return await handle(StrictJson(request.scope, request.receive))

    return handler


def _bearer(request: Request) -> str | None:
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else None
