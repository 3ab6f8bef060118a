"""Requests straight to the application, message by message: bodies that arrive slowly, responses that don't end."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from rota_common.testing.patience import PATIENCE_S

from .harness import Gateway

Receive = Callable[[], Awaitable[dict[str, Any]]]


def _scope(to: Gateway, method: str, path: str, query: Mapping[str, str], headers: Mapping[str, str]) -> dict[str, Any]:
    given = {"authorization": f"Bearer {to.key}"} | dict(headers)
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": urlencode(query).encode(),
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
        "server": ("gateway", 80),
        "client": ("test", 1),
    }


async def request(
    to: Gateway,
    method: str,
    path: str,
    receive: Receive,
    *,
    query: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """The messages of the response to a request whose body comes from `receive`."""
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    await to.app.http(_scope(to, method, path, query or {}, headers or {}), receive, send)
    return sent


@dataclass
class Live:
    """A stream of server-sent events; the application waits until it is read."""

    sent: asyncio.Queue[Any]
    ended: asyncio.Future[Any]
    left: str = ""

    async def next(self) -> tuple[str, Any]:
        """Name and data of the next event; `:` for a comment."""
        async with asyncio.timeout(PATIENCE_S):
            while "\n\n" not in (text := self.left.replace("\r\n", "\n")):
                self.left += (await self.sent.get())["body"].decode()
        event, self.left = text.split("\n\n", 1)
        fields = dict(line.split(":", 1) for line in event.split("\n"))
        if "" in fields:
            return ":", fields[""].strip()
        return fields.get("event", "message").strip(), json.loads(fields["data"])

    async def end(self) -> None:
        """Return once it has ended. What still comes, like a ping, is read: the application would wait."""
        async with asyncio.timeout(PATIENCE_S):
            while not self.ended.done():
                reading = asyncio.ensure_future(self.sent.get())
                await asyncio.wait([reading, self.ended], return_when=asyncio.FIRST_COMPLETED)
                reading.cancel()
            await self.ended


@asynccontextmanager
async def following(gateway: Gateway, *, team: str = "acme", **query: str) -> AsyncIterator[Live]:
    """The team's live events, once the gateway listens."""
    async with streaming(gateway, "GET", f"/v1/teams/{team}/stream", query=query) as live:
        assert await live.next() == (":", "listening")
        yield live


@asynccontextmanager
async def streaming(
    gateway: Gateway,
    method: str,
    path: str,
    *,
    query: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
) -> AsyncIterator[Live]:
    """The server-sent events of a response; its client leaves at the end."""
    sent, begun = asyncio.Queue[Any](maxsize=1), False

    async def receive() -> dict[str, Any]:
        nonlocal begun
        if begun:
            await asyncio.Future()
        begun = True
        return {"type": "http.request", "body": body, "more_body": False}

    scope = _scope(gateway, method, path, query or {}, headers or {})
    running = asyncio.ensure_future(gateway.app.http(scope, receive, sent.put))
    try:
        start = await sent.get()
        assert start["status"] == 200
        assert dict(start["headers"])[b"content-type"].startswith(b"text/event-stream")
        yield Live(sent, running)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
