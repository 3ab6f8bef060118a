"""Embedded HTTP servers, for the whole system in one process and for test doubles."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Literal

import uvicorn
from starlette.types import ASGIApp

KEEP_ALIVE_S = 75
"""Longer than a load balancer or a client keeps an idle connection, so that they close first."""


class _Guest(uvicorn.Server):
    """A server inside another process: it sets `listening`, and leaves signals to its host."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()


@asynccontextmanager
async def serve(
    app: ASGIApp, listener: socket.socket, *, lifespan: Literal["on", "off"] = "on", close_timeout: int = 2
) -> AsyncIterator[None]:
    """Serve `app` on a bound `listener` for as long as the block runs.

    An open stream may delay the end by `close_timeout` seconds. Raises RuntimeError if it didn't start, for
    example because the app's lifespan failed.
    """
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        lifespan=lifespan,
        timeout_graceful_shutdown=close_timeout,
    )
    server = _Guest(config)
    running = asyncio.create_task(server.serve(sockets=[listener]), name="http")
    listening = asyncio.create_task(server.listening.wait())
    try:
        await asyncio.wait((running, listening), return_when=asyncio.FIRST_COMPLETED)
        if not server.started:
            raise RuntimeError("the HTTP server ended while it started")
        yield
    finally:
        listening.cancel()
        server.should_exit = True
        await running
