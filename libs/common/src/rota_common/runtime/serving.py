"""The HTTP side of a service (`/health/live`, `/health/ready`, `/metrics`), and its process."""

import asyncio
import gc
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from time import monotonic
from types import FrameType
from typing import TypeVar

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from rota_common.runtime import embedded_http, logs
from rota_common.runtime.exposition import measure_loop_lag, metrics_page
from rota_common.runtime.metrics import BUILD_INFO
from rota_common.runtime.service import Service
from rota_common.runtime.settings import ServiceSettings
from rota_common.runtime.wrong_settings import ended_by_problems
from rota_contracts.version import VERSION

NOT_STARTED = 3
"""The exit code of a server that could not start, as uvicorn's own command has it."""

Settings = TypeVar("Settings", bound=ServiceSettings)


@dataclass(frozen=True)
class App:
    """What a service's `build` returns: the service, and its HTTP side, whose lifespan starts and stops it."""

    service: Service
    http: ASGIApp


def health_routes(service: Service) -> list[Route]:
    """Live: the process responds. Ready: all its dependencies are available; else 503 with the reasons. A part near its
    limit is named as degraded: the service goes on, so it isn't taken out of service."""

    async def live(_: Request) -> Response:
        return JSONResponse({"service": service.name, "version": VERSION, "live": True})

    async def ready(_: Request) -> Response:
        problems = await service.problems()
        body: dict[str, object] = {
            "service": service.name,
            "version": VERSION,
            "ready": not problems,
            "problems": problems,
        }
        if service.degraded:
            body["degraded"] = service.degraded
        return JSONResponse(body, status_code=503 if problems else 200)

    async def metrics(request: Request) -> Response:
        return await metrics_page(service, request)

    return [Route("/health/live", live), Route("/health/ready", ready), Route("/metrics", metrics)]


def lifespan(
    service: Service, *, stop_timeout: float, internal: tuple[str, int] | None = None
) -> Callable[[object], AbstractAsyncContextManager[None]]:
    """Start and drain the service with the HTTP server. `internal` is the host and port of a second one, which serves
    health and metrics where the first one is public."""

    @asynccontextmanager
    async def run(_: object) -> AsyncIterator[None]:
        async with AsyncExitStack() as ends:
            if internal is not None:
                listener = ends.enter_context(socket.create_server(internal))
                routes = Starlette(routes=health_routes(service))
                await ends.enter_async_context(embedded_http.serve(routes, listener, lifespan="off"))
            BUILD_INFO.labels(service.name, VERSION).set(1)
            await service.start()
            lag = asyncio.create_task(measure_loop_lag())
            try:
                yield
            finally:
                lag.cancel()
                await service.stop(stop_timeout)
                logs.flush()

    return run


def plain_app(service: Service, settings: ServiceSettings) -> App:
    """The app of a service without an HTTP API."""
    run = lifespan(service, stop_timeout=settings.stop_timeout)
    return App(service, Starlette(routes=health_routes(service), lifespan=run))


class _Server(uvicorn.Server):
    """At the first SIGTERM it says that it isn't ready, and for `drain` seconds serves on: until then every proxy has
    taken it off its list. At the second one, and at SIGINT, it ends at once."""

    def __init__(self, config: uvicorn.Config, service: Service, *, drain: float) -> None:
        super().__init__(config)
        self._service, self._drain = service, drain
        self._ends_at: float | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if sig == signal.SIGTERM and self._drain and self._ends_at is None:
            self._service.is_leaving = True
            self._ends_at = monotonic() + self._drain
        else:
            super().handle_exit(sig, frame)

    async def on_tick(self, counter: int) -> bool:
        if self._ends_at is not None and monotonic() >= self._ends_at and not self.should_exit:
            super().handle_exit(signal.SIGTERM, None)
        return await super().on_tick(counter)


def run(
    settings: type[Settings], build: Callable[[Settings], App], *, drain: Callable[[Settings], float] = lambda _: 0
) -> None:
    """The process of a service: its settings, read from the environment, and `serve`. What is wrong with settings is a
    line of the log for each, and the exit code WRONG_SETTINGS."""
    logs.configure()

    def say(problem: str) -> None:
        logs.logger().error("wrong setting", service=service_of(settings), reason=problem)

    with ended_by_problems(settings, say):
        given = settings()
        app = build(given)
    serve(app, given, drain=drain(given))


def service_of(settings: type[ServiceSettings]) -> str:
    """The name of the service, by the package of its settings."""
    return settings.__module__.partition(".")[0].replace("_", "-")


def serve(app: App, settings: ServiceSettings, *, drain: float = 0) -> None:
    """Run until SIGTERM or SIGINT, for `drain` seconds more after a SIGTERM; then finish the work in progress."""
    logs.configure(level=settings.log_level)
    # The objects of the start stay: without this, each full collection scans them again, for 70 ms (measured on the
    # gateway: p99 of a webhook 75 ms, and 20 ms with it).
    gc.collect()
    gc.freeze()
    config = uvicorn.Config(
        app.http,
        host=settings.http_host,
        port=settings.http_port,
        log_config=None,
        access_log=False,
        proxy_headers=False,  # uvicorn trusts any peer on loopback; the gateway checks ROTA_TRUSTED_PROXIES
        timeout_keep_alive=embedded_http.KEEP_ALIVE_S,
        limit_concurrency=settings.http_at_once or None,
    )
    server = _Server(config, app.service, drain=drain)
    with suppress(KeyboardInterrupt):
        server.run()
    if not server.started:
        sys.exit(NOT_STARTED)
