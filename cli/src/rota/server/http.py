"""HTTP servers inside this process, on loopback."""

import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from starlette.types import ASGIApp

from rota.errors import CliError
from rota_common.runtime import embedded_http

CLOSE_TIMEOUT_S = 2
"""How long an open event stream may delay the shutdown."""


def listening(port: int) -> socket.socket:
    """A socket bound to 127.0.0.1:`port`, 0 for any free one. CliError when the port is taken."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError as error:
        listener.close()
        what = f"can't listen on 127.0.0.1:{port}: {error.strerror}"
        hint = "stop the program that uses the port, or choose another: --port 0 takes any free one"
        raise CliError(what, hint=hint) from error
    return listener


def url_of(listener: socket.socket) -> str:
    return f"http://127.0.0.1:{listener.getsockname()[1]}"


@asynccontextmanager
async def serving(app: ASGIApp, listener: socket.socket) -> AsyncIterator[str]:
    """Serve `app` (and run its lifespan) on `listener`. Yields the URL. CliError when the lifespan failed."""
    async with AsyncExitStack() as ends:
        try:
            await ends.enter_async_context(embedded_http.serve(app, listener, close_timeout=CLOSE_TIMEOUT_S))
        except RuntimeError as error:
            raise CliError(str(error), hint="see the log for the reason") from error
        yield url_of(listener)
