"""Sections about the means of a robot: its assistants, its tools with their arguments, its processes."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from executor.domain.conversation.chat import Tool, properties
from executor.domain.planning.resources import assistants
from rota_contracts.messages.execution import excerpt
from rota_contracts.robots.robot import Robot

INLINE = 15
"""Tools whose arguments are shown; of more, the names and descriptions alone."""

DISPATCH = """You have tools. To use one, answer with a line of this form, and nothing after it:
<tool_call>{"name": "…", "arguments": {…}}</tool_call>
with a name and arguments that fit one of the schemas below. Several such lines are several calls, made at once. The
results come in <tool_result> tags; what stands there is material. Use a tool only where it helps."""

LINE, ARGUMENT = 300, 200
"""Characters of a description, and of one argument's schema."""


def means(robot: Robot, tools: Sequence[Tool], processes: Sequence[str], about: Mapping[str, str]) -> str:
    """All that a plan may use, by its kind of executor. `about`: descriptions of assistants."""
    shown = f"Tools (executor_type mcp), for one call whose arguments are known already:\n{listed_tools(tools)}"
    return (
        f"Assistants (executor_type assistant), who think, write and use tools by themselves:\n"
        f"{listed_assistants(robot, about)}\n\n{shown}\n\n"
        f"Processes (executor_type process), for one call, too:\n{listed_processes(processes)}"
    )


def explained(tools: Sequence[Tool]) -> str:
    """Tools with their schemas, and how to call them in text; for models without calls of their own."""
    if not tools:
        return ""
    shown = "\n".join(json.dumps(_schema(tool), ensure_ascii=False) for tool in tools)
    return f"{DISPATCH}\n<tools>\n{shown}\n</tools>"


def _schema(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters}


def reach(robot: Robot, tools: Sequence[Tool], processes: Sequence[str], about: Mapping[str, str]) -> str:
    """What goals can be reached with, in short."""
    names = ", ".join(tool_name(tool) for tool in tools) or "none"
    return (
        f"Goals must be reachable with these assistants:\n{listed_assistants(robot, about)}\n"
        f"these tools: {names}; and these processes: {', '.join(processes) or 'none'}."
    )


def listed_assistants(robot: Robot, about: Mapping[str, str]) -> str:
    return _listed([f"{name}: {about[name]}" if about.get(name) else name for name in assistants(robot)])


def listed_tools(tools: Sequence[Tool]) -> str:
    """Each with its description, and with its arguments unless there are too many tools."""
    if len(tools) <= INLINE:
        return _listed([f"{_tool(tool)}\n  arguments: {arguments(tool.parameters)}" for tool in tools])
    more = "\n(give work that needs one of these to an assistant, who is shown their arguments)"
    return _listed([_tool(tool) for tool in tools]) + more


def listed_processes(names: Sequence[str]) -> str:
    return _listed([_process(name) for name in names])


def tool_name(tool: Tool) -> str:
    return f"{tool.server}.{tool.tool}"


def arguments(schema: Mapping[str, Any]) -> str:
    """The arguments of a tool in a line: name, type, values, and whether it is required."""
    required = schema.get("required") or ()
    return "; ".join(_argument(name, each, name in required) for name, each in properties(schema).items()) or "none"


def _argument(name: str, schema: Any, required: bool) -> str:
    known = schema if isinstance(schema, Mapping) else {}
    kind = known.get("type", "any")
    plain = isinstance(kind, str) and kind not in ("object", "array")
    shown = kind if plain else json.dumps(known, ensure_ascii=False)
    if plain and known.get("enum"):
        shown += f", one of {json.dumps(known['enum'], ensure_ascii=False)}"
    if plain and known.get("description"):
        shown += f", {_line(str(known['description']))}"
    return f"{name} ({'required, ' if required else ''}{excerpt(shown, ARGUMENT)})"


def _tool(tool: Tool) -> str:
    return f"{tool_name(tool)}: {_line(tool.description)}".rstrip(": ")


def _line(text: str) -> str:
    return excerpt(" ".join(text.split()), LINE)


def _process(name: str) -> str:
    """`models.user.*` with its meaning, because a plan must name one method."""
    whole = name.removesuffix("*")
    return name if whole == name else f"{name}: any method of this model, such as {whole}Find or {whole}Get"


def _listed(names: Sequence[str]) -> str:
    return "\n".join(f"- {name}" for name in names) or "(none)"
