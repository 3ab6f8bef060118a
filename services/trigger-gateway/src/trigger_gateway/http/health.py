"""Health and metrics on the public port: whether it is ready for everybody, the reasons, the version
and metrics with a key.

Everything is on the internal port (`ROTA_INTERNAL_PORT`) without a key.
"""

import asyncio

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from rota_common.runtime.exposition import metrics_page
from rota_common.runtime.service import Service
from rota_common.stores.mongo import OUTAGES
from rota_contracts.version import VERSION
from trigger_gateway.http.auth_routes import admin_only, bearer, counting_failures
from trigger_gateway.http.dependencies import use_cases_of
from trigger_gateway.problems import Problem

REFUSED: tuple[type[Exception], ...] = (Problem, *OUTAGES)
SHARED_S = 1.0
"""How long a look at the dependencies is good for: anybody may ask, as often as they want."""


class _Readiness:
    def __init__(self, service: Service) -> None:
        self._service, self._at = service, float("-inf")
        self._looking: asyncio.Task[dict[str, str]] | None = None

    async def problems(self) -> dict[str, str]:
        now = asyncio.get_running_loop().time()
        if self._looking is None or now - self._at > SHARED_S:
            self._at, self._looking = now, asyncio.create_task(self._service.problems())
        return await asyncio.shield(self._looking)


def public_health(service: Service) -> list[Route]:
    readiness = _Readiness(service)

    async def live(_: Request) -> Response:
        return JSONResponse({"service": service.name, "live": True})

    async def ready(request: Request) -> Response:
        problems = await readiness.problems()
        body: dict[str, object] = {"service": service.name, "ready": not problems}
        if await _has_key(request):
            body |= {"version": VERSION, "problems": problems}
            if service.degraded:
                body["degraded"] = service.degraded
        return JSONResponse(body, status_code=503 if problems else 200)

    async def metrics(request: Request) -> Response:
        await admin_only(request)
        return await metrics_page(service, request)

    return [Route("/health/live", live), Route("/health/ready", ready), Route("/metrics", metrics)]


async def _has_key(request: Request) -> bool:
    """The administrator's, or any team's while the store can be asked."""
    if bearer(request) is None:
        return False
    try:
        async with counting_failures(request):
            await use_cases_of(request).authenticate.caller(bearer(request))
    except REFUSED:
        return False
    return True
