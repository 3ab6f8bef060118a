"""The gateway's HTTP side inside this process: uvicorn on loopback, without its own signal handlers."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator

import uvicorn
from starlette.types import ASGIApp

from rota.errors import CliError

CLOSE_TIMEOUT_S = 2
"""How long an open stream of events may hold up the end."""


class _Server(uvicorn.Server):
    """Who runs the process decides what a signal does."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def listening(port: int) -> socket.socket:
    """A socket on 127.0.0.1:`port`, 0 for any free one. CliError when the port is taken."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError as error:
        listener.close()
        what = f"can't listen on 127.0.0.1:{port}: {error.strerror}"
        raise CliError(what, hint="stop what uses the port, or choose another: --port 0 takes any free one") from error
    return listener


@contextlib.asynccontextmanager
async def serving(app: ASGIApp, listener: socket.socket) -> AsyncIterator[str]:
    """Serve `app` (and run its lifespan) on `listener`. Yields the URL. CliError when the lifespan failed."""
    config = uvicorn.Config(
        app, log_config=None, access_log=False, lifespan="on", timeout_graceful_shutdown=CLOSE_TIMEOUT_S
    )
    server = _Server(config)
    running = asyncio.create_task(server.serve(sockets=[listener]), name="http")
    try:
        while not server.started:
            if running.done():
                raise CliError("the HTTP server ended while it started", hint="the log says why")
            await asyncio.sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await running
