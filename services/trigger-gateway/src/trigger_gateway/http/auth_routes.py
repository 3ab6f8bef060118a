"""Routes that authenticate before they read the body, and that parse JSON strictly."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from pydantic_core import from_json

from trigger_gateway.http.auditing import Recording, audited
from trigger_gateway.http.client_ip import client_ip
from trigger_gateway.http.dependencies import use_cases_of
from trigger_gateway.http.errors import ERRORS, TOO_MANY
from trigger_gateway.problems import Unauthenticated
from trigger_gateway.teams.authenticate import Caller
from trigger_gateway.teams.roles import needed

BEARER = Depends(HTTPBearer(auto_error=False, description="a team's key, or the administrator's"))
"""For the documentation only: the routes below authenticate."""

Handler = Callable[[Request], Coroutine[Any, Any, Response]]
Guard = Callable[[Request], Awaitable[None]]


class StrictJson(Request):
    async def json(self) -> Any:
        """Refuses values that JSON on the bus can't hold: NaN, lone surrogates, extreme nesting."""
        body = await self.body()
        try:
            self.state.given = from_json(body, allow_inf_nan=False)
            return self.state.given
        except ValueError as error:
            raise json.JSONDecodeError(str(error), "", 0) from error


async def admin_only(request: Request) -> None:
    async with counting_failures(request):
        request.state.caller = await use_cases_of(request).authenticate.admin(bearer(request))


async def anyone(request: Request) -> None: ...


@asynccontextmanager
async def counting_failures(request: Request) -> AsyncIterator[None]:
    """Counts unknown keys by address. An address with too many is refused before the store is asked, but for keys that
    were right lately: others behind the same address go on working."""
    use, shown = use_cases_of(request), bearer(request) or ""
    address = client_ip(request, use.trusted_proxies)
    if shown not in use.known_keys:
        use.rates.check_failed_keys(address)
    try:
        yield
    except Unauthenticated:
        await use.rates.failed_key(address)
        raise
    use.known_keys.add(shown)


class AdminRoute(APIRoute):
    def get_route_handler(self) -> Handler:
        return _guarded(admin_only, _recorded(self, super().get_route_handler()))


class TeamRoute(APIRoute):
    """The path has a `{team}`. Its role is in the table of `trigger_gateway.teams.roles`."""

    def get_route_handler(self) -> Handler:
        role = needed(self.name)

        async def own_team_only(request: Request) -> None:
            use, team = use_cases_of(request), request.path_params["team"]
            async with counting_failures(request):
                caller = await use.authenticate.for_team(bearer(request), team, role)
            if caller.team is not None:
                await use.rates.by_team(team)
            request.state.caller = caller

        return _guarded(own_team_only, _recorded(self, super().get_route_handler()))


async def within_limit(request: Request) -> None:
    use = use_cases_of(request)
    await use.rates.by_address(client_ip(request, use.trusted_proxies))


class CountedRoute(APIRoute):
    """No key, but a rate limit per address."""

    def get_route_handler(self) -> Handler:
        return _guarded(within_limit, super().get_route_handler())


class OpenRoute(APIRoute):
    """No key."""

    def get_route_handler(self) -> Handler:
        return _guarded(anyone, super().get_route_handler())


def caller_of(request: Request) -> Caller:
    """The caller of a team's route."""
    caller: Caller = request.state.caller
    return caller


CallerDep = Annotated[Caller, Depends(caller_of)]


def admin_router(topic: str) -> APIRouter:
    return APIRouter(prefix="/v1", tags=[topic], route_class=AdminRoute, dependencies=[BEARER], responses=ERRORS)


def team_router(topic: str) -> APIRouter:
    prefix = "/v1/teams/{team}"
    return APIRouter(prefix=prefix, tags=[topic], route_class=TeamRoute, dependencies=[BEARER], responses=ERRORS)


def open_router(topic: str, *, prefix: str = "/v1") -> APIRouter:
    return APIRouter(prefix=prefix, tags=[topic], route_class=OpenRoute, responses=ERRORS)


def counted_router(topic: str, route_class: type[CountedRoute] = CountedRoute) -> APIRouter:
    return APIRouter(prefix="/v1", tags=[topic], route_class=route_class, responses=ERRORS | TOO_MANY)


def _recorded(route: APIRoute, handle: Handler) -> Handler:
    if not audited(route.name, route.methods or set()):
        return handle

    async def handler(request: Request) -> Response:
        async with Recording(request, route.name) as recording:
            answer = await handle(request)
            recording.answered(answer)
        return answer

    return handler


def _guarded(guard: Guard, handle: Handler) -> Handler:
    async def handler(request: Request) -> Response:
        await guard(request)
        return await handle(StrictJson(request.scope, request.receive))

    return handler


def bearer(request: Request) -> str | None:
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else None
