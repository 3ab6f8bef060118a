"""The registry of built-in tools: of each robot a copy with the ones that it may use."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Self

from executor.domain.conversation.chat import Tool
from executor.domain.skills import Skill
from executor.tool_ports import Tools
from executor.tools.arguments import Arguments
from executor.tools.built_in import TOOLS
from rota_contracts.robots.resources import BuiltInTool
from rota_contracts.robots.robot import Robot
from rota_contracts.roles import Role


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call of a built-in tool: the robot in whose name it is made, the role of its run, the tools of its MCP
    servers, and the skills of its team."""

    robot: Robot
    role: Role
    step_id: str
    arguments: Arguments
    mcp: Tools
    skills: Sequence[Skill] = ()


Work = Callable[[Call], Awaitable[str]]
"""The answer of a call as text. Raises NotBegun where it may be made again, and ToolFailed."""


Used = Mapping[str, tuple[Tool, Work]]
"""By their names, the tools that an agent has by its `uses`."""


@dataclass(frozen=True)
class Registry:
    """What does the work of each tool. Those that are `used` are no robot's: the agent that calls has them."""

    works: Mapping[BuiltInTool, Work]
    used: Used = field(default_factory=dict)

    def for_robot(self, robot: Robot) -> Self:
        """A copy of its own, with the tools that this robot may use."""
        named = set(robot.robot_config.resources.tools)
        return replace(self, works=MappingProxyType({name: work for name, work in self.works.items() if name in named}))

    def tools(self) -> list[Tool]:
        return [TOOLS[name] for name in self.works]

    def find(self, name: str) -> tuple[Tool, Work] | None:
        own = ((TOOLS[each], work) for each, work in self.works.items() if each == name)
        return next(own, None) or self.used.get(name)
