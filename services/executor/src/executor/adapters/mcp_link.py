"""The link to one MCP server: a session, opened when needed and again when it broke, and its tools."""

import asyncio
from collections.abc import Awaitable, Callable

import httpx
from mcp import types

from executor.adapters.mcp_content import Keep, kept_text
from executor.adapters.mcp_servers import Server
from executor.adapters.mcp_session import OPEN_S, Session
from executor.tool_ports import NotBegun, SecretsAway, ToolFailed
from rota_common.errors import Permanent, Transient
from rota_common.team_secrets import MissingTeamSecret
from rota_contracts.messages.conversation import ToolUse

CACHE_S = 300.0
RETRY_S = 60.0
"""Until a server that didn't list its tools is asked again: no turn waits for it meanwhile."""


class Link:
    """`for_team` gives the server with the team's secrets in it; it raises Transient while they can't be read."""

    def __init__(
        self,
        server: Server,
        *,
        monotonic: Callable[[], float],
        for_team: Callable[[], Awaitable[Server]],
        guard: Callable[[], httpx.AsyncBaseTransport],
    ) -> None:
        self._server, self._guard = server, guard
        self._monotonic = monotonic
        self._for_team = for_team
        self._session: Session | None = None
        self._opened_as = server
        self._closing: set[Session] = set()
        self._listing = asyncio.Lock()
        self._listed: tuple[float, list[types.Tool]] | None = None
        self._failed: tuple[float, NotBegun] | None = None

    async def tools(self) -> list[types.Tool]:
        """Listed again every five minutes. Raises Transient, or Permanent when the server is misconfigured."""
        if self._server.problem:
            raise Permanent(f"MCP server {self._server.id} can't be used: {self._server.problem}")
        async with self._listing:
            now = self._monotonic()
            if self._failed is not None and now - self._failed[0] < RETRY_S:
                raise self._failed[1]
            if self._listed is None or now - self._listed[0] >= CACHE_S:
                try:
                    self._listed = now, await self._list()
                    self._failed = None
                except SecretsAway:
                    raise
                except MissingTeamSecret as error:
                    raise Permanent(f"MCP server {self._server.id} can't be used: {error}") from error
                except Transient as error:
                    self._failed = self._monotonic(), NotBegun(str(error))
                    raise
            return self._listed[1]

    async def _list(self) -> list[types.Tool]:
        timeout = min(self._server.timeout, OPEN_S)
        session, fresh = await self._open()
        try:
            return await session.tools(timeout)
        except NotBegun:
            if fresh or not session.over:
                raise
        session, _ = await self._open()
        return await session.tools(timeout)

    async def call(self, use: ToolUse, timeout: float | None, keep: Keep) -> str:
        """The answer as text, with its files kept. Raises NotBegun or ToolFailed."""
        return await kept_text(await self._call(use, timeout), keep)

    async def _call(self, use: ToolUse, timeout: float | None) -> types.CallToolResult:
        """A session that turns out to be gone is opened again, once. Raises NotBegun or ToolFailed."""
        if self._server.problem:
            raise ToolFailed(f"MCP server {self._server.id} can't be used: {self._server.problem}")
        if not isinstance(use.arguments, dict):
            raise ToolFailed(f"expected an object as arguments of {use.tool}, got {type(use.arguments).__name__}")
        wanted = self._server.timeout if timeout is None else timeout
        try:
            session, fresh = await self._open()
        except MissingTeamSecret as error:
            raise ToolFailed(f"MCP server {self._server.id} can't be used: {error}") from error
        try:
            return await session.call(use.tool, use.arguments, use.step_id, wanted)
        except NotBegun:
            if fresh or not session.over:
                raise
        session, _ = await self._open()
        return await session.call(use.tool, use.arguments, use.step_id, wanted)

    async def _open(self) -> tuple[Session, bool]:
        """A session, and whether it was opened for this. Raises SecretsAway."""
        try:
            server = await self._for_team()
        except Transient as error:
            raise SecretsAway(f"MCP server {self._server.id} can't be used: {error}") from error
        if self._session is not None and server != self._opened_as:
            self._session.retire()
        while (session := self._session) is not None:
            if await session.answers():
                return session, False
            if self._session is session:
                self._session = None
                self._closing = {old for old in (*self._closing, session) if not old.closed}
        self._session, self._opened_as = Session(server, self._guard), server
        return self._session, True

    def retire(self) -> None:
        """Calls under way finish; one that comes all the same opens a session again."""
        if self._session is not None:
            self._session.retire()

    async def close(self, timeout: float) -> None:
        sessions = (self._session, *self._closing)
        await asyncio.gather(*(session.close(timeout) for session in sessions if session is not None))
