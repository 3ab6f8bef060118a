"""The HTTP application: its routes, errors and limits."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from fastapi import FastAPI
from fastapi_offline import FastAPIOffline
from starlette.routing import Route

from trigger_gateway.http import (
    a2a,
    agent_calls,
    agent_files,
    agents,
    approval_links,
    approvals,
    attachments,
    audit,
    callbacks,
    calls,
    clock,
    contracts,
    control,
    dead_letters,
    definitions,
    deliveries,
    events,
    executions,
    files,
    interventions,
    knowledge,
    lessons,
    mcp,
    members,
    quarantine,
    retries,
    robot_canary,
    robots,
    runs,
    secrets,
    sources,
    spend,
    stream,
    subscriptions,
    suppressions,
    targets,
    teams,
    webhooks,
)
from trigger_gateway.http.errors import handle_errors
from trigger_gateway.http.middleware import BodyLimit, BodyLimits, RequestLog
from trigger_gateway.use_cases import UseCases

ROUTERS = (
    webhooks.router,
    *(teams.admin, teams.team_keys, secrets.router, secrets.admin, members.router),
    *(sources.router, robots.router, robot_canary.router, definitions.router),
    *(files.router, agent_files.router, lessons.router),
    *(agents.router, agent_calls.router, calls.router, mcp.router, a2a.router),
    *(
        runs.router,
        events.router,
        interventions.router,
        executions.router,
        quarantine.router,
        spend.router,
        retries.router,
        control.router,
        stream.router,
        dead_letters.router,
    ),
    *(knowledge.router, subscriptions.router, clock.router, callbacks.router, attachments.router),
    *(approvals.router, approval_links.router),
    *(deliveries.router, targets.router, suppressions.router, contracts.router, audit.router, audit.admin),
)


def build_api(
    use: UseCases,
    *,
    service: str,
    health: list[Route],
    lifespan: Callable[[Any], AbstractAsyncContextManager[None]],
    limits: BodyLimits,
) -> FastAPI:
    app = FastAPIOffline(
        title="Rota: trigger-gateway",
        description="The entry point: robots and teams, webhooks, interventions, executions, live events.",
        version="1",
        lifespan=lifespan,
        separate_input_output_schemas=False,
        redirect_slashes=False,  # a sender of webhooks doesn't follow: it would call the event delivered or lost
    )
    app.state.use_cases = use
    app.add_middleware(BodyLimit, limits=limits)
    app.add_middleware(RequestLog, service=service)  # added last, so it is the outermost
    handle_errors(app)
    for router in ROUTERS:
        app.include_router(router)
    app.router.routes.insert(0, webhooks.direct)  # first, because routes are tried in this order
    app.router.routes.extend(health)
    app.add_api_route("/", _index, include_in_schema=False)
    return app


async def _index() -> dict[str, Any]:
    return {
        "service": "trigger-gateway",
        "links": {
            "docs": "/docs",
            "openapi": "/openapi.json",
            "asyncapi": "/asyncapi",
            "schemas": "/schemas",
            "live": "/health/live",
            "ready": "/health/ready",
            "teams": "/v1/teams",
            "hooks": "/v1/hooks/{team}/{source}",
            "callbacks": "/v1/callbacks/{callback_id}",
        },
    }
