"""Callees: the tools and processes that a call may name, as far as its checks need to know them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from executor.domain.conversation.chat import BUILT_IN, Tool
from rota_contracts.messages.conversation import ToolUse
from rota_contracts.robots.resources import model_process
from rota_contracts.robots.robot import Robot


@dataclass(frozen=True)
class Callee:
    """`id` is the name that patterns of `approvals` match. `changes`: it isn't known to change nothing. `named`: the
    robot's `resources` name it. `repeatable`: the same call twice in a turn makes sense."""

    id: str
    name: str
    server: str | None
    tool: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict, compare=False)
    idempotent: bool = False
    changes: bool = True
    destructive: bool = False
    named: bool = True
    repeatable: bool = False


def of_tool(tool: Tool) -> Callee:
    return Callee(
        id=call_id(tool.server, tool.tool),
        name=tool.name,
        server=tool.server,
        tool=tool.tool,
        parameters=tool.parameters,
        idempotent=tool.idempotent,
        changes=not tool.read_only,
        destructive=tool.destructive,
        repeatable=tool.repeatable,
    )


def of_unlisted(use: ToolUse) -> Callee:
    """A tool whose server didn't list it now: nothing speaks against the call but what isn't known."""
    return Callee(call_id(use.server, use.tool), use.name, use.server, use.tool, idempotent=use.idempotent)


def of_process(name: str, robot: Robot) -> Callee | None:
    """The process of this name, if the robot may call it."""
    process = robot.process(name)
    if process is None:
        return None
    model = model_process(name, robot.models())
    reads = model is not None and model.idempotent
    named = any(one.name == name for one in robot.robot_config.resources.processes)
    return Callee(name, name, None, idempotent=process.idempotent, changes=not reads, named=named)


def call_id(server: str | None, tool: str) -> str:
    """A built-in tool has its own name alone."""
    return tool if server in (None, BUILT_IN) else f"{server}.{tool}"
