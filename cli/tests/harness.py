"""A gateway that answers each path with what the test put there."""

import json
from collections.abc import Callable
from typing import Any

import httpx

TEAM = "/v1/teams/main"
Command = Callable[..., tuple[int, str, str]]


class Gateway:
    """`says` is the answer by path; `asked` keeps the path and body of every request, `requests` all of it."""

    def __init__(self) -> None:
        self.says: dict[str, Any] = {}
        self.asked: list[tuple[str, Any]] = []
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix(TEAM)
        self.requests.append(request)
        self.asked.append((path, json.loads(request.content) if request.content else None))
        if path not in self.says:
            return httpx.Response(404, json={"error": {"code": "not_found", "message": f"nothing at {path}"}})
        said = self.says[path]
        return httpx.Response(204) if said is None else httpx.Response(200, json=said)
