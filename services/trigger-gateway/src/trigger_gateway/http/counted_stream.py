"""A stream of server-sent events that takes a place in its team's share."""

from collections.abc import AsyncIterator

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.types import Receive, Scope, Send

from trigger_gateway.teams.shares import OpenRequests


class CountedStream(EventSourceResponse):
    """Its place, which its route took in `share`, is free again once it has ended, however it ends."""

    def __init__(self, events: AsyncIterator[ServerSentEvent], *, share: OpenRequests, team: str, ping: float) -> None:
        super().__init__(events, ping=ping)
        self._share, self._team = share, team

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._share.leave(self._team)
