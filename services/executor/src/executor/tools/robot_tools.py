"""The tools of a robot: those of MCP servers and the built-in ones, as one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from executor.domain.conversation.chat import BUILT_IN, Tool
from executor.domain.skills import Skill
from executor.tool_ports import OwnMeans, ToolFailed, Tools
from executor.tools.arguments import Arguments
from executor.tools.registry import Call, Registry
from rota_contracts.messages.conversation import ToolUse
from rota_contracts.robots.robot import Robot
from rota_contracts.roles import Role


@dataclass(frozen=True, kw_only=True)
class RobotTools:
    """`mcp` gets all calls but those of built-in tools; with `recorded` also those, because nothing is to be done.
    `skills`: of the team."""

    mcp: Tools
    registry: Registry
    recorded: bool = False
    skills: Sequence[Skill] = ()

    def with_own(self, own: OwnMeans) -> "RobotTools":
        return replace(self, mcp=self.mcp.with_own(own), skills=own.skills)

    async def list(self, robot: Robot) -> Sequence[Tool]:
        """By name."""
        own = self.registry.for_robot(robot).tools()
        return sorted([*own, *await self.mcp.list(robot)], key=lambda tool: tool.name)

    def problems(self, robot: Robot) -> Sequence[str]:
        return self.mcp.problems(robot)

    async def call(
        self,
        use: ToolUse,
        *,
        team: str,
        robot: Robot | None = None,
        role: Role = Role.OWNER,
        timeout: float | None = None,
    ) -> str:
        if use.server != BUILT_IN or self.recorded:
            return await self.mcp.call(use, team=team, robot=robot, role=role, timeout=timeout)
        if robot is None or robot.team_id != team:
            raise ToolFailed(f"expected {use.tool} to be called in the name of a robot of team {team}")
        registry = self.registry.for_robot(robot)
        found = registry.find(use.tool)
        if found is None:
            mine = ", ".join(tool.name for tool in registry.tools()) or "none"
            raise ToolFailed(f"robot {robot.member_id} has no built-in tool {use.tool}: resources.tools names {mine}")
        tool, work = found
        call = Call(
            robot=robot,
            role=role,
            step_id=use.step_id,
            arguments=Arguments(use, tool),
            mcp=self.mcp,
            skills=self.skills,
        )
        return await work(call)
