"""A model for tests: the protocols of OpenAI and Anthropic over real HTTP on loopback, whole and streamed.

The test scripts the answers; a request that the real providers refuse is refused with their status and words.
"""

import asyncio
import contextlib
import inspect
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from rota_common.runtime import embedded_http
from rota_common.testing.model_answers import (
    Completion,
    anthropic_answer,
    anthropic_stream,
    openai_answer,
    openai_stream,
)
from rota_common.testing.model_refusals import anthropic_refusal, openai_refusal
from rota_common.testing.patience import PATIENCE_S

ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
"""Anthropic's names of errors, by status."""


@dataclass(frozen=True)
class ModelRequest:
    """A request as it arrived; the names of its headers in lower case."""

    body: dict[str, Any]
    headers: dict[str, str]

    @property
    def system(self) -> str:
        own = [_text(self.body["system"])] if "system" in self.body else []
        return "\n".join([*own, *(_text(each["content"]) for each in self._messages("system"))])

    @property
    def words(self) -> str:
        """The prompt without the system prompt."""
        return "\n".join(_text(each["content"]) for each in self._messages("user", "assistant", "tool"))

    def _messages(self, *roles: str) -> list[dict[str, Any]]:
        return [each for each in self.body["messages"] if each["role"] in roles]


def _text(content: Any) -> str:
    """The words of a message, also those in Anthropic's blocks."""
    if isinstance(content, list):
        return "\n".join(_text(block.get("text", block.get("content", ""))) for block in content)
    return str(content)


@dataclass(frozen=True)
class Reply:
    """An answer that isn't a completion: an HTTP status with OpenAI's form of an error."""

    status: int
    message: str = "refused by the script"
    headers: dict[str, str] = field(default_factory=dict)


Answer = str | Reply | Completion
Script = Callable[[ModelRequest], Answer | Awaitable[Answer]]


class OpenAIServer:
    """`url` is the connector's host, `anthropic_url` that of an Anthropic connector. `asked` holds every request that
    came, also those that were refused. `window`: tokens that a prompt may have."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.url = ""
        self.anthropic_url = ""
        self.window: int | None = None
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

    async def chat_completions(self, request: Request) -> Response:
        """`POST /v1/chat/completions`."""
        asked = await self._asked(request)
        refusal = openai_refusal(asked.body, self.window)
        if refusal is not None:
            return _openai_error(Reply(400, refusal[0]), refusal[1])
        answer = await self._answer(asked)
        if isinstance(answer, Reply):
            return _openai_error(answer, str(answer.status))
        model, streams = asked.body["model"], bool(asked.body.get("stream"))
        with_usage = bool((asked.body.get("stream_options") or {}).get("include_usage"))
        events = openai_stream(answer, model, with_usage=with_usage) if streams else None
        return _response(answer, openai_answer(answer, model), events)

    async def messages(self, request: Request) -> Response:
        """`POST /v1/messages`."""
        asked = await self._asked(request)
        refusal = anthropic_refusal(asked.body, self.window)
        if refusal is not None:
            return _anthropic_error(Reply(400, refusal[0]))
        answer = await self._answer(asked)
        if isinstance(answer, Reply):
            return _anthropic_error(answer)
        model = asked.body["model"]
        events = anthropic_stream(answer, model) if asked.body.get("stream") else None
        return _response(answer, anthropic_answer(answer, model), events)

    async def _asked(self, request: Request) -> ModelRequest:
        asked = ModelRequest(await request.json(), dict(request.headers))
        async with self._more:
            self.asked.append(asked)
            self._more.notify_all()
        return asked

    async def _answer(self, asked: ModelRequest) -> Reply | Completion:
        answer = self.script(asked)
        if inspect.isawaitable(answer):
            answer = await answer
        return Completion(text=answer) if isinstance(answer, str) else answer


def _openai_error(reply: Reply, code: str) -> Response:
    error = {"message": reply.message, "type": "invalid_request_error", "param": None, "code": code}
    return JSONResponse({"error": error}, status_code=reply.status, headers=reply.headers)


def _anthropic_error(reply: Reply) -> Response:
    error = {"type": ERRORS.get(reply.status, "api_error"), "message": reply.message}
    return JSONResponse({"type": "error", "error": error}, status_code=reply.status, headers=reply.headers)


def _response(made: Completion, whole: dict[str, Any], events: Iterator[str] | None) -> Response:
    """The answer as a body, or as a stream; the connection of one that is cut breaks in the middle."""
    if events is None and not made.cut:
        return JSONResponse(whole)
    parts = [json.dumps(whole)[:-20], ""] if events is None else list(events)
    media = "application/json" if events is None else "text/event-stream"
    return StreamingResponse(_sent(parts, cut=made.cut), media_type=media)


async def _sent(parts: list[str], *, cut: bool) -> AsyncIterator[str]:
    for part in parts[: max(1, len(parts) // 2)] if cut else parts:
        yield part
    if cut:
        raise ConnectionResetError("the script cuts this answer off")


@contextlib.asynccontextmanager
async def openai_server(script: Script) -> AsyncIterator[OpenAIServer]:
    """Serve on a free port of loopback; `script` may be exchanged at any time."""
    server = OpenAIServer(script)
    routes = {"/v1/chat/completions": server.chat_completions, "/v1/messages": server.messages}
    app = Starlette(routes=[Route(path, endpoint, methods=["POST"]) for path, endpoint in routes.items()])
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        server.anthropic_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.url = f"{server.anthropic_url}/v1"
        async with embedded_http.serve(app, listener, lifespan="off", close_timeout=1):
            yield server
