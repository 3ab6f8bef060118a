"""Links to MCP servers: one for each server and team; those to teams' own servers within limits."""

import asyncio
import importlib
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import httpx

from executor.adapters.mcp_servers import Server
from rota_common.team_secrets import TeamSecrets

if TYPE_CHECKING:
    from executor.adapters.mcp_link import Link

CLOSE_S = 6.0
"""The SDK kills a program that doesn't end by itself after four seconds."""

OWN = 30
"""Links to a team's own servers at once; the one that was used the longest time ago makes room."""

IDLE_S = 900.0
"""Seconds without a call after which a link to a team's own server is closed, at the team's next call."""


class McpLinks:
    """A link is opened at its first use, and one for all teams if the server is stateless. The SDK is imported then: it
    takes 10 MB and 0.3 s. `guard` makes the transport to addresses that teams wrote."""

    def __init__(
        self,
        secrets: TeamSecrets,
        *,
        guard: Callable[[], httpx.AsyncBaseTransport],
        monotonic: Callable[[], float],
    ) -> None:
        self._secrets = secrets
        self._guard, self._monotonic = guard, monotonic
        self._links: dict[tuple[str, str], Link] = {}
        self._own: dict[str, OrderedDict[tuple[str, int], tuple[Link, float]]] = {}

    async def of(self, server: Server, team: str) -> "Link":
        if server.rev:
            return await self._of_own(server, team)
        key = server.id, "" if server.stateless else team
        if key not in self._links:
            link = await self._new(server, team)
            self._links.setdefault(key, link)
        return self._links[key]

    async def close(self) -> None:
        own = [link for links in self._own.values() for link, _ in links.values()]
        await asyncio.gather(*(link.close(CLOSE_S) for link in [*self._links.values(), *own]))

    async def _of_own(self, server: Server, team: str) -> "Link":
        """One for each revision: runs under way may still use an older one."""
        key, now = (server.id, server.rev), self._monotonic()
        link = await self._new(server, team) if key not in self._own.get(team, {}) else None
        links = self._own.setdefault(team, OrderedDict())
        link = links.pop(key)[0] if key in links else link
        assert link is not None
        links[key] = link, now
        while len(links) > OWN or next(iter(links.values()))[1] < now - IDLE_S:
            _, (oldest, _) = links.popitem(last=False)
            oldest.retire()
        return link

    async def _new(self, server: Server, team: str) -> "Link":
        module: Any = await asyncio.to_thread(importlib.import_module, "executor.adapters.mcp_link")

        async def for_team() -> Server:
            return server.for_team(await self._secrets.resolve(team, server.references))

        link: Link = module.Link(server, monotonic=self._monotonic, for_team=for_team, guard=self._guard)
        return link
