"""A gateway with a response per path."""

import json
from collections.abc import Callable
from typing import Any

import httpx

TEAM = "/v1/teams/main"
Command = Callable[..., tuple[int, str, str]]


class Gateway:
    """`responses` are the bodies by path, bytes those of server-sent events; `asked` holds path and body of each
    request."""

    def __init__(self) -> None:
        self.responses: dict[str, Any] = {}
        self.asked: list[tuple[str, Any]] = []
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix(TEAM)
        self.requests.append(request)
        self.asked.append((path, json.loads(request.content) if request.content else None))
        if path not in self.responses:
            return httpx.Response(404, json={"error": {"code": "not_found", "message": f"nothing at {path}"}})
        body = self.responses[path]
        if isinstance(body, bytes):
            return httpx.Response(200, content=body, headers={"content-type": "text/event-stream"})
        return httpx.Response(204) if body is None else httpx.Response(200, json=body)
