"""Around every request: its id, one line in the log, and the last net under it."""

import re
from time import perf_counter
from typing import Any
from uuid import uuid4

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rota_common.runtime.logs import logger
from rota_contracts.messages.callback import callback_path
from trigger_gateway.http.errors import error_response

HEADER = b"x-request-id"
CALLBACKS = callback_path("")
_GIVEN = re.compile(rb"^[A-Za-z0-9._-]{1,64}$")


class Tracking:
    """Answers 500 to what nobody foresaw: the caller gets the request's id, the log gets the rest."""

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
                facts["status"] = message["status"]
                message = {**message, "headers": [*message.get("headers", ()), (HEADER, request_id.encode())]}
            await send(message)

        facts |= {"request_id": request_id, "method": scope["method"], "path": _path(scope)}
        try:
            await self._app(scope, receive, tagged)
        except Exception:
            self._log.exception("request failed", **facts)
            if "status" in facts:  # the answer has begun: all that is left is to break it off
                raise
            text = f"something unforeseen went wrong; the log has it under request {request_id}"
            await error_response(500, "internal_error", text)(scope, receive, tagged)
        self._log.info("request", seconds=round(perf_counter() - started, 4), **facts)


def _path(scope: Scope) -> str:
    """Whoever knows a callback's id may answer it, and logs are read by many."""
    path = str(scope["path"])
    return f"{CALLBACKS}…" if path.startswith(CALLBACKS) else path


def _request_id(scope: Scope) -> str:
    """The caller's own, if it gave one that can stand in a log."""
    given = next((value for name, value in scope["headers"] if name == HEADER), b"")
    return given.decode() if _GIVEN.match(given) else str(uuid4())
