"""The tools of MCP servers: listed for a robot, named for models, and called."""

import asyncio
import base64
import hashlib
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING

import httpx

from executor.adapters.guarded_transport import GuardedTransport
from executor.adapters.mcp_links import McpLinks
from executor.adapters.mcp_servers import Server, own_servers
from executor.agents.operator_files import allows
from executor.domain.conversation import made_files
from executor.domain.conversation.chat import Tool
from executor.file_ports import Files
from executor.tool_ports import OwnMeans, SecretsAway, ToolFailed
from rota_common.errors import Permanent, Transient
from rota_common.team_secrets import TeamSecrets
from rota_contracts.messages.conversation import ToolUse
from rota_contracts.robots.robot import Robot
from rota_contracts.roles import Role

if TYPE_CHECKING:
    from mcp import types

    from executor.adapters.mcp_content import Binary, Keep
    from executor.adapters.mcp_link import Link

NOT_SET_UP = "MCP server {0} isn't set up here, so there are no tools of it"
NAME_LIMIT = 64
UNSAFE = re.compile(r"[^A-Za-z0-9_-]")


class McpTools:
    """One session per server and team. `guard` makes the transport to addresses that teams wrote."""

    def __init__(
        self,
        servers: Mapping[str, Server],
        *,
        secrets: TeamSecrets,
        files: Files,
        guard: Callable[[], httpx.AsyncBaseTransport] = GuardedTransport,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._servers = servers
        self._files = files
        self._links = McpLinks(secrets, guard=guard, monotonic=monotonic)
        self._problems: dict[tuple[str, str], str] = {}

    def with_own(self, own: OwnMeans) -> "McpTools":
        """With the same links."""
        if not own.servers:
            return self
        mine = own_servers(own.servers)
        platform = {name: one for name, one in self._servers.items() if not _hides(one, mine.get(name))}
        found = copy(self)
        found._servers = mine | platform
        return found

    async def list(self, robot: Robot) -> Sequence[Tool]:
        allowed = robot.allowed_servers()
        known = allowed.keys() & self._servers.keys()
        ids = sorted(name for name in known if allows(self._servers[name].teams, robot.team_id))
        listed = await asyncio.gather(*(self._listed(server_id, robot.team_id) for server_id in ids))
        found = {
            (server_id, tool.name): tool
            for server_id, tools in zip(ids, listed, strict=True)
            for tool in tools
            if not allowed[server_id] or tool.name in allowed[server_id]
        }
        names = model_names(found)
        made = [_tool(name, self._servers[key[0]], found[key]) for key, name in names.items()]
        return sorted(made, key=lambda tool: tool.name)

    def problems(self, robot: Robot) -> Sequence[str]:
        named = sorted(robot.allowed_servers())
        return [problem for server_id in named if (problem := self._problem(server_id, robot.team_id))]

    def _problem(self, server_id: str, team: str) -> str:
        server = self._servers.get(server_id)
        if server is None or not allows(server.teams, team):
            return NOT_SET_UP.format(server_id)
        return self._problems.get((server_id, team), "")

    async def _listed(self, server_id: str, team: str) -> "Sequence[types.Tool]":
        """Empty if the server can't be used now: that is its own problem, not the others'. Raises SecretsAway."""
        try:
            tools = await (await self._link(server_id, team)).tools()
        except SecretsAway:
            raise
        except (Transient, Permanent) as error:
            self._problems[server_id, team] = f"its tools are left out: {error}"
            return []
        self._problems.pop((server_id, team), None)
        return tools

    async def call(
        self,
        use: ToolUse,
        *,
        team: str,
        robot: Robot | None = None,
        role: Role = Role.OWNER,
        timeout: float | None = None,
    ) -> str:
        if use.server is None or use.server not in self._servers:
            raise ToolFailed(
                f"there is no MCP server {use.server}: add {use.server}.yaml to the folder of ROTA_MCP_DIR"
            )
        if not allows(self._servers[use.server].teams, team):
            raise ToolFailed(f"MCP server {use.server} isn't for team {team}: its file names the teams that may use it")
        return await (await self._link(use.server, team)).call(use, timeout, self._keep(use, team))

    def _keep(self, use: ToolUse, team: str) -> "Keep":
        async def keep(number: int, made: "Binary") -> str:
            """A file that can't be kept doesn't make the call undone: the line says why."""
            if number > made_files.MOST:
                return f"[file {made.name}, {made.about}; not kept: it is more than the first {made_files.MOST}]"
            try:
                content, wanted = _decoded(made.data), made_files.file_id(use.step_id, number)
                stored = await self._files.keep(team, wanted, made.name, made.content_type, content)
            except (Permanent, Transient) as error:
                return f"[file {made.name}, {made.about}; not kept: {error}]"
            return made_files.line(made.name, made.about, stored.file)

        return keep

    async def close(self) -> None:
        await self._links.close()

    async def _link(self, server_id: str, team: str) -> "Link":
        return await self._links.of(self._servers[server_id], team)


def _hides(platforms: Server, own: Server | None) -> bool:
    """Is it another team's, so that the own one goes before?"""
    return own is not None and not any(allows(platforms.teams, team) for team in own.teams)


def _tool(name: str, server: Server, tool: "types.Tool") -> Tool:
    hints = tool.annotations
    hinted = hints is not None and bool(hints.readOnlyHint or hints.idempotentHint)
    return Tool(
        name=name,
        server=server.id,
        tool=tool.name,
        description=tool.description or "",
        parameters=tool.inputSchema,
        idempotent=server.is_idempotent(tool.name, hinted=hinted),
        read_only=hints is not None and bool(hints.readOnlyHint),
        destructive=hints is not None and bool(hints.destructiveHint) and not hints.readOnlyHint,
        repeatable=server.may_repeat(tool.name),
    )


def model_names(tools: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """(server, tool) → its name for models, `<server>__<tool>`: letters, digits, _ and -, at most 64, unique.

    A name that would be too long or ambiguous ends in a hash of server and tool, so it is the same in every listing.
    """
    plain = {key: UNSAFE.sub("_", f"{key[0]}__{key[1]}") for key in tools}
    count = Counter(plain.values())
    return {
        key: name if len(name) <= NAME_LIMIT and count[name] == 1 else _hashed(key, name) for key, name in plain.items()
    }


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except ValueError as error:
        raise Permanent("its data isn't base64") from error


def _hashed(key: tuple[str, str], name: str) -> str:
    ending = hashlib.sha256("\0".join(key).encode()).hexdigest()[:8]
    return f"{name[: NAME_LIMIT - len(ending) - 1]}_{ending}"
