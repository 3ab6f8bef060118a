"""The resources of a robot's tasks: its assistants, tools and processes; nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from executor.domain.conversation.chat import BUILT_IN, Tool
from rota_contracts.messages.execution import ExecutorType
from rota_contracts.robots.resources import MODELS
from rota_contracts.robots.robot import Robot


@dataclass(frozen=True)
class Means:
    """One way to do a task. `parameters`: the schema of a tool's arguments, as far as it is known."""

    type: ExecutorType
    id: str
    server: str | None = None
    tool: str | None = None
    idempotent: bool = False
    parameters: Mapping[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class Resources:
    """`open_servers`: MCP servers of which every tool may be used, also one that isn't listed here.

    `models`: models of the team's data of which every method may be called, as a process. `checkers`: the agents that
    rules may name.
    """

    means: tuple[Means, ...]
    open_servers: frozenset[str] = frozenset()
    models: tuple[str, ...] = ()
    checkers: frozenset[str] = frozenset()

    def of(self, kind: ExecutorType) -> list[Means]:
        return [each for each in self.means if each.type is kind]

    def names(self) -> str:
        """All of them, for people and models."""
        named = [f"{each.type} {each.id}" for each in self.means]
        return (
            ", ".join([*named, *(f"{ExecutorType.PROCESS} {MODELS}{model}.<Method>" for model in self.models)])
            or "none"
        )


def assistants(robot: Robot) -> list[str]:
    """The assistants this robot may use; one without any does its tasks itself."""
    return robot.allowed_agents() or [robot.phase_agent("run")]


def resources(robot: Robot, tools: Sequence[Tool] | None) -> Resources:
    """The robot's resources. `tools` None: the servers weren't asked, and the tools that its definition names count."""
    means = [Means(ExecutorType.ASSISTANT, name) for name in assistants(robot)]
    servers = robot.allowed_servers()
    if tools is None:
        means += [_tool(server, tool) for server, names in servers.items() for tool in sorted(names)]
        means += [_tool(BUILT_IN, name, idempotent=True) for name in robot.robot_config.resources.tools]
    else:
        means += [_tool(each.server, each.tool, each.idempotent, each.parameters) for each in tools]
    processes = robot.robot_config.resources.processes
    means += [Means(ExecutorType.PROCESS, each.name, idempotent=each.idempotent) for each in processes]
    whole = frozenset(server for server, names in servers.items() if not names) if tools is None else frozenset[str]()
    checkers = frozenset([*assistants(robot), robot.phase_agent("validation")])
    return Resources(tuple(means), whole, tuple(robot.models()), checkers)


def _tool(server: str, tool: str, idempotent: bool = False, parameters: Mapping[str, Any] | None = None) -> Means:
    return Means(ExecutorType.MCP, f"{server}.{tool}", server, tool, idempotent, parameters or {})
