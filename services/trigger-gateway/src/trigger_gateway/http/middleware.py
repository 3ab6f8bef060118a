"""Middleware of every request: its id, its line in the log, the answer to unexpected errors, the limit of its body."""

import asyncio
import re
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rota_common.runtime.logs import logger
from rota_contracts.ids import random_id
from rota_contracts.messages.callback import callback_path
from trigger_gateway.approvals.link import PATH as APPROVALS
from trigger_gateway.http.errors import error_response, framework_error

HEADER = b"x-request-id"
CALLBACKS = callback_path("")

HOOKS = "/v1/hooks/"
OPEN = ("/v1/callbacks/", APPROVALS)
"""The other paths without authentication."""

OPEN_LIMIT = 65_536
LIMIT = 768 * 1024
"""A message of the bus holds 1 MB, and JSON may grow a little when it is encoded."""

FILE_TIMES = 20
"""A file may take so many times as long as another body."""

_ATTACHMENTS = re.compile(r"/v1/teams/[^/]+/attachments")

_GIVEN = re.compile(rb"^[A-Za-z0-9._-]{1,64}$")


class RequestLog:
    """Logs every request. An unexpected error is a 500: the caller gets the request's id, the log the error."""

    def __init__(self, app: ASGIApp, *, service: str) -> None:
        self._app, self._log = app, logger(service=service)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id, started, facts = _request_id(scope), perf_counter(), dict[str, Any]()
        scope.setdefault("state", {})["request_id"] = request_id

        async def tagged(message: Message) -> None:
            if message["type"] == "http.response.start":
                facts["status"] = int(message["status"])
                message = {**message, "headers": [*message.get("headers", ()), (HEADER, request_id.encode())]}
            await send(message)

        facts |= {"request_id": request_id, "method": scope["method"], "path": _path(scope)}
        try:
            await self._app(scope, receive, tagged)
        except Exception:
            self._log.exception("request failed", **facts)
            if "status" in facts:  # the response has begun: it can only be cut off
                raise
            text = f"an unexpected error; the log has it under request {request_id}"
            await error_response(500, "internal_error", text)(scope, receive, tagged)
        self._log.info("request", seconds=round(perf_counter() - started, 4), **facts)


def _path(scope: Scope) -> str:
    """The path without a callback's id or the token of a link: each is enough to use it, and logs have many readers."""
    path = str(scope["path"])
    return next((f"{opened}…" for opened in (CALLBACKS, APPROVALS) if path.startswith(opened)), path)


def _request_id(scope: Scope) -> str:
    """The caller's own, if it is safe to log."""
    given = next((value for name, value in scope["headers"] if name == HEADER), b"")
    return given.decode() if _GIVEN.match(given) else random_id()


@dataclass(frozen=True, kw_only=True)
class BodyLimits:
    """`webhook`: bytes of one. `attachment`: of one file, which is passed on as it comes in. `seconds`: until a body
    must be there."""

    webhook: int
    attachment: int
    seconds: float


class BodyLimit:
    """Checks the size of a body before anything else, and again while it comes in: never more than that is kept, and
    never for longer than it may take. Whatever reads a webhook's body gets
    the refusal as an exception, and can log it."""

    def __init__(self, app: ASGIApp, *, limits: BodyLimits) -> None:
        self._app, self._limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit, seconds = self._of(scope["path"])
        taken, there, until = 0, False, asyncio.get_running_loop().time() + seconds
        refused = f"{_at_most(limit)}, not {_announced(scope)}" if _announced(scope) > limit else ""
        if refused and not scope["path"].startswith(HOOKS):
            await framework_error(413, message=refused)(scope, receive, send)
            return

        async def counted() -> Message:
            nonlocal taken, there
            if refused:
                raise HTTPException(413, refused)
            try:
                async with asyncio.timeout_at(None if there else until):
                    message = await receive()
            except TimeoutError as error:
                raise HTTPException(408) from error
            there = there or not message.get("more_body", False)
            taken += len(message.get("body", b""))
            if taken > limit:
                raise HTTPException(413, _at_most(limit))
            return message

        await self._app(scope, counted, send)

    def _of(self, path: str) -> tuple[int, float]:
        """Bytes and seconds."""
        seconds = self._limits.seconds
        if path.startswith(HOOKS):
            return self._limits.webhook, seconds
        if path.startswith(OPEN):
            return OPEN_LIMIT, seconds
        return (self._limits.attachment, FILE_TIMES * seconds) if _ATTACHMENTS.fullmatch(path) else (LIMIT, seconds)


def _at_most(limit: int) -> str:
    return f"expected a body of at most {limit} bytes"


def _announced(scope: Scope) -> int:
    """The Content-Length of the request; 0 without a valid one."""
    length = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
    return int(length[:18]) if length.isdigit() else 0
