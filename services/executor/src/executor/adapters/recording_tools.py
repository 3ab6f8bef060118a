"""Stand-ins for tools and processes outside of standard mode: a call is recorded and reaches nothing."""

import json
from collections.abc import Mapping, Sequence

from executor.adapters.mcp_tools import model_names
from executor.agents.operator_files import Teams, allows
from executor.domain.conversation.chat import Tool
from executor.tool_ports import OwnMeans
from rota_contracts.messages.conversation import ToolUse
from rota_contracts.messages.process import ProcessCall
from rota_contracts.robots.robot import Robot
from rota_contracts.roles import Role

NO_TEAM: Teams = frozenset()


class RecordingTools:
    """Lists the tools that a robot's definition names on `servers` that its team may use; others are unknown without
    asking them."""

    def __init__(self, servers: Mapping[str, Teams]) -> None:
        self._servers = servers

    def with_own(self, own: OwnMeans) -> "RecordingTools":
        mine = {server_id: frozenset({one.team_id}) for server_id, one in own.servers.items()}
        return RecordingTools({**mine, **self._servers})

    async def list(self, robot: Robot) -> Sequence[Tool]:
        named = [
            (server, tool)
            for server, tools in robot.allowed_servers().items()
            if allows(self._servers.get(server, NO_TEAM), robot.team_id)
            for tool in tools
        ]
        made = [Tool(name, server, tool, idempotent=True) for (server, tool), name in model_names(named).items()]
        return sorted(made, key=lambda tool: tool.name)

    def problems(self, robot: Robot) -> Sequence[str]:
        return ()

    async def call(
        self,
        use: ToolUse,
        *,
        team: str,
        robot: Robot | None = None,
        role: Role = Role.OWNER,
        timeout: float | None = None,
    ) -> str:
        return _recorded(tool=use.tool, arguments=use.arguments)


class RecordingProcesses:
    async def call(self, name: str, call: ProcessCall, *, timeout: float) -> str:
        return _recorded(process=name, arguments=call.args)


def _recorded(**what: object) -> str:
    return json.dumps({"recorded": True, **what}, ensure_ascii=False)
