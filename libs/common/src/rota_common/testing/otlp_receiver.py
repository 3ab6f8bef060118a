"""A receiver of spans for tests: OTLP over real HTTP on loopback."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from rota_common.runtime import embedded_http
from rota_common.testing.patience import PATIENCE_S


@dataclass(frozen=True)
class ReceivedSpan:
    """`attributes` without OTLP's types."""

    service: str
    trace_id: str
    span_id: str
    parent_id: str
    name: str
    error: str
    attributes: dict[str, Any]


@dataclass
class OtlpReceiver:
    """Its spans by their ids: one that comes again is the same. While `silent` is set it answers nothing."""

    url: str = ""
    spans: dict[str, ReceivedSpan] = field(default_factory=dict)
    requests: int = 0
    silent: bool = False
    status: int = 200
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    _more: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def take(self, request: Request) -> Response:
        """`POST /v1/traces`."""
        body = json.loads(await request.body())
        async with self._more:
            self.requests += 1
            if self.status == 200 and not self.silent:
                self.spans |= {span.span_id: span for span in _spans(body)}
            self._more.notify_all()
        if self.silent:
            await self.closing.wait()
        return JSONResponse({}, status_code=self.status)

    async def until(self, reached: Callable[["OtlpReceiver"], bool]) -> None:
        """Return once it is as far."""
        async with self._more:
            await asyncio.wait_for(self._more.wait_for(lambda: reached(self)), PATIENCE_S)


def _spans(body: dict[str, Any]) -> Iterator[ReceivedSpan]:
    for resource in body["resourceSpans"]:
        service = _values(resource["resource"]["attributes"])["service.name"]
        for span in (span for scope in resource["scopeSpans"] for span in scope["spans"]):
            yield ReceivedSpan(
                service,
                span["traceId"],
                span["spanId"],
                span.get("parentSpanId", ""),
                span["name"],
                span["status"].get("message", ""),
                _values(span["attributes"]),
            )


def _values(attributes: list[dict[str, Any]]) -> dict[str, Any]:
    read = {"intValue": int}
    return {
        each["key"]: read.get(kind, lambda value: value)(value)
        for each in attributes
        for kind, value in each["value"].items()
    }


@contextlib.asynccontextmanager
async def otlp_receiver() -> AsyncIterator[OtlpReceiver]:
    """Serve on a free port of loopback."""
    receiver = OtlpReceiver()
    app = Starlette(routes=[Route("/v1/traces", receiver.take, methods=["POST"])])
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        receiver.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        async with embedded_http.serve(app, listener, lifespan="off", close_timeout=1):
            try:
                yield receiver
            finally:
                receiver.closing.set()
