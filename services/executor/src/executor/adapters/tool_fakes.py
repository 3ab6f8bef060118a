"""Tools and processes in memory, for tests: what they answer is scripted, and what they were asked is kept."""

from collections.abc import Awaitable, Callable, Sequence

from executor.domain.conversation.chat import Tool
from rota_contracts.messages.conversation import ToolUse
from rota_contracts.messages.process import ProcessCall
from rota_contracts.robots.robot import Robot


class ScriptedTools:
    """`answer` may raise NotBegun or ToolFailed; `calls` holds every use that came."""

    def __init__(
        self, tools: Sequence[Tool] = (), *, answer: Callable[[ToolUse], Awaitable[str]] | None = None
    ) -> None:
        self._tools, self._answer = tools, answer
        self.calls: list[ToolUse] = []

    async def list(self, robot: Robot) -> Sequence[Tool]:
        allowed = robot.allowed_servers()
        mine = [tool for tool in self._tools if tool.server in allowed]
        mine = [tool for tool in mine if not allowed[tool.server] or tool.tool in allowed[tool.server]]
        return sorted(mine, key=lambda tool: tool.name)

    async def call(self, use: ToolUse, *, timeout: float | None = None) -> str:
        self.calls.append(use)
        return await self._answer(use) if self._answer else f"{use.tool} answered"


class ScriptedProcesses:
    """As FakeTools, for processes; `calls` holds (name, call)."""

    def __init__(self, *, answer: Callable[[str, ProcessCall], Awaitable[str | None]] | None = None) -> None:
        self._answer = answer
        self.calls: list[tuple[str, ProcessCall]] = []

    async def call(self, name: str, call: ProcessCall, *, timeout: float) -> str | None:
        self.calls.append((name, call))
        return await self._answer(name, call) if self._answer else f"{name} answered"
