"""How large a body may be. Checked before anything else, and again while it comes in: never more than that is kept."""

import re

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trigger_gateway.http.errors import framework_error

OPEN = ("/v1/hooks/", "/v1/callbacks/")
"""Paths that take no key."""

OPEN_LIMIT = 65_536
LIMIT = 768 * 1024
"""A message of the bus holds 1 MB, and JSON may grow a little on its way."""

_ATTACHMENTS = re.compile(r"/v1/teams/[^/]+/attachments")


class Limits:
    """`attachment`: bytes of one file, which is passed on as it comes in."""

    def __init__(self, app: ASGIApp, *, attachment: int) -> None:
        self._app, self._attachment = app, attachment

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit, taken = self._limit(scope["path"]), 0
        if _announced(scope) > limit:
            await framework_error(413)(scope, receive, send)
            return

        async def counted() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > limit:
                raise HTTPException(413)
            return message

        await self._app(scope, counted, send)

    def _limit(self, path: str) -> int:
        if path.startswith(OPEN):
            return OPEN_LIMIT
        return self._attachment if _ATTACHMENTS.fullmatch(path) else LIMIT


def _announced(scope: Scope) -> int:
    """What the sender says its body has; 0 when it doesn't say, or when it isn't a number."""
    length = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
    return int(length[:18]) if length.isdigit() else 0
