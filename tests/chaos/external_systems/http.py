"""HTTP servers of the external systems: each on a free port of loopback, in this process."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

from starlette.types import ASGIApp

from rota_common.runtime import embedded_http


@asynccontextmanager
async def serving(app: ASGIApp, *, lifespan: Literal["on", "off"] = "off") -> AsyncIterator[str]:
    """Yields the URL."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        async with embedded_http.serve(app, listener, lifespan=lifespan, close_timeout=1):
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
