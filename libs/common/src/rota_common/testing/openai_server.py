"""A model for tests: the OpenAI protocol over real HTTP on loopback, with answers that the test scripts."""

import asyncio
import contextlib
import inspect
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from rota_common.runtime import embedded_http
from rota_common.testing.patience import PATIENCE_S


@dataclass(frozen=True)
class ModelRequest:
    """A request as it arrived; the names of its headers in lower case."""

    body: dict[str, Any]
    headers: dict[str, str]

    @property
    def system(self) -> str:
        return "\n".join(str(each["content"]) for each in self.body["messages"] if each["role"] == "system")

    @property
    def words(self) -> str:
        """The prompt without the system prompt."""
        return "\n".join(str(each["content"]) for each in self.body["messages"] if each["role"] != "system")


@dataclass(frozen=True)
class Reply:
    """An answer that isn't a completion: an HTTP status with OpenAI's form of an error."""

    status: int
    message: str = "refused by the script"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Calls:
    """An answer that calls tools: (name, arguments), which are JSON already when they are a text; with its
    `reasoning`, if the server sets that apart."""

    calls: list[tuple[str, dict[str, Any] | str]]
    text: str = ""
    reasoning: str = ""

    def message(self) -> dict[str, Any]:
        made = [
            {
                "id": f"call_{number}",
                "type": "function",
                "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)},
            }
            for number, (name, given) in enumerate(self.calls, start=1)
        ]
        reasoning = {"reasoning_content": self.reasoning} if self.reasoning else {}
        return {"role": "assistant", "content": self.text or None, "tool_calls": made, **reasoning}


Answer = str | Reply | Calls
Script = Callable[[ModelRequest], Answer | Awaitable[Answer]]


class OpenAIServer:
    """`url` is the connector's host. `asked` holds every request that came, also those that were refused."""

    def __init__(self, script: Script) -> None:
        self.script, self.url = script, ""
        self.asked: list[ModelRequest] = []
        self._more = asyncio.Condition()

    async def received(self, count: int = 1, *, timeout: float = PATIENCE_S) -> list[ModelRequest]:
        """The requests, once there are at least `count`; TimeoutError names the number received."""
        try:
            async with self._more:
                await asyncio.wait_for(self._more.wait_for(lambda: len(self.asked) >= count), timeout)
        except TimeoutError:
            raise TimeoutError(f"expected {count} requests within {timeout} s, got {len(self.asked)}") from None
        return self.asked

    async def complete(self, request: Request) -> Response:
        asked = ModelRequest(await request.json(), dict(request.headers))
        async with self._more:
            self.asked.append(asked)
            self._more.notify_all()
        answer = self.script(asked)
        if inspect.isawaitable(answer):
            answer = await answer
        if isinstance(answer, Reply):
            error = {"message": answer.message, "type": "scripted", "code": str(answer.status)}
            return JSONResponse({"error": error}, status_code=answer.status, headers=answer.headers)
        called = isinstance(answer, Calls)
        message = answer.message() if isinstance(answer, Calls) else {"role": "assistant", "content": answer}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if called else "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        made = {"id": "scripted", "object": "chat.completion", "created": 0, "model": asked.body["model"]}
        return JSONResponse({**made, "choices": [choice], "usage": usage})


@contextlib.asynccontextmanager
async def openai_server(script: Script) -> AsyncIterator[OpenAIServer]:
    """Serve on a free port of loopback; `script` may be exchanged at any time."""
    server = OpenAIServer(script)
    app = Starlette(routes=[Route("/v1/chat/completions", server.complete, methods=["POST"])])
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        server.url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        async with embedded_http.serve(app, listener, lifespan="off", close_timeout=1):
            yield server
