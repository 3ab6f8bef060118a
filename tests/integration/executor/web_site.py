"""A site of the web on this machine, whose names are all there are."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rota_common.runtime import embedded_http
from rota_common.urls import networks

LOOPBACK = networks("127.0.0.0/8")


@dataclass
class Site:
    """Serves `answers` by path; `asked` are the paths and hosts that were requested."""

    port: int = 0
    answers: dict[str, Response] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)

    async def get(self, request: Request) -> Response:
        self.asked.append((request.url.path, request.headers["host"]))
        return self.answers.get(request.url.path, Response("no", 404))

    def url(self, path: str, host: str = "pictures.example") -> str:
        return f"http://{host}:{self.port}{path}"


@asynccontextmanager
async def serving() -> AsyncIterator[Site]:
    made = Site()
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        made.port = listener.getsockname()[1]
        app = Starlette(routes=[Route("/{path:path}", made.get)])
        async with embedded_http.serve(app, listener, lifespan="off", close_timeout=1):
            yield made


async def resolver(host: str, port: int) -> list[str]:
    """All names lead to loopback, but for `inside.example`, whose address is private."""
    return ["10.0.0.7"] if host == "inside.example" else ["127.0.0.1"]
