"""The tools `fetch` and `web_search`, which an agent has by its `uses`."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from executor.domain.conversation.chat import BUILT_IN, Tool
from executor.domain.uses import ByAgent, ByTool, Uses
from rota_contracts.messages.agent import Service
from rota_contracts.messages.conversation import ToolUse
from rota_contracts.robots.resources import MCPServer
from rota_contracts.robots.robot import Robot

BY_AGENT: Final = "rota.agent."
"""Before an agent's id: the server name of the tools that it does the work of; no MCP server begins so."""

FETCH, WEB_SEARCH, SEARCH = "fetch", "web_search", "search"
NAMES: Sequence[tuple[Service, str]] = (("fetch", FETCH), ("web", WEB_SEARCH))

URL_LIMIT, QUERY_LIMIT = 2_000, 1_000
"""Characters."""


def _tool(name: str, description: str, *, argument: str, about: str, limit: int) -> Tool:
    value = {"type": "string", "minLength": 1, "maxLength": limit, "description": about}
    form = {"type": "object", "properties": {argument: value}, "additionalProperties": False, "required": [argument]}
    return Tool(name, BUILT_IN, name, description, form, idempotent=True, read_only=True)


FETCH_TOOL = _tool(
    FETCH,
    "Read a page of the web, a PDF or a text at its address. You get its text, with where it comes from.",
    argument="url",
    about="the address, https://…",
    limit=URL_LIMIT,
)
WEB_SEARCH_TOOL = _tool(
    WEB_SEARCH, "Search the web.", argument="query", about="what to search for, in a few words", limit=QUERY_LIMIT
)


def agent_of(server: str | None) -> str:
    """The agent that does the work of a tool with this server name; empty for another's."""
    return server.removeprefix(BY_AGENT) if server is not None and server.startswith(BY_AGENT) else ""


def gives(uses: Uses, tool: Tool) -> bool:
    """Is this a tool that an agent has by its `uses`?"""
    return any(tool.name == name and _place(uses, service) == (tool.server, tool.tool) for service, name in NAMES)


def reaching(robot: Robot, uses: Uses) -> Robot:
    """The robot with the MCP tools that its agent has by `uses`, to list them with its own."""
    wanted = [provider for service, _ in NAMES if isinstance(provider := uses.of(service), ByTool)]
    if not wanted:
        return robot
    allowed = robot.allowed_servers()
    for each in wanted:
        if allowed.get(each.server, {each.tool}):  # else all of them, as it is
            allowed[each.server] = {*allowed.get(each.server, ()), each.tool}
    mcp = [MCPServer(id=name, tools=sorted(tools)) for name, tools in allowed.items()]
    resources = robot.robot_config.resources
    config = robot.robot_config.model_copy(update={"resources": resources.model_copy(update={"mcp": mcp})})
    return robot.model_copy(update={"robot_config": config})


def with_used(tools: Sequence[Tool], uses: Uses) -> list[Tool]:
    """The tools of `reaching`, with those that `uses` gives under their own names, and only so; by name."""
    given = [made for service, name in NAMES if (made := _made(tools, uses, service, name)) is not None]
    taken = {(each.server, each.tool) for each in given} | {(each.name, "") for each in given}
    others = [each for each in tools if (each.server, each.tool) not in taken and (each.name, "") not in taken]
    return sorted([*others, *given], key=lambda tool: tool.name)


def _made(tools: Sequence[Tool], uses: Uses, service: Service, name: str) -> Tool | None:
    """None also for a tool that its server doesn't list now."""
    own = FETCH_TOOL if service == "fetch" else WEB_SEARCH_TOOL
    match uses.of(service):
        case None:
            return None
        case "builtin":
            return own
        case ByAgent(agent_id):
            return replace(own, server=f"{BY_AGENT}{agent_id}")
        case ByTool(server, tool):
            listed = (each for each in tools if (each.server, each.tool) == (server, tool))
            found = next(listed, None)
            return found and replace(found, name=name)


def _place(uses: Uses, service: Service) -> tuple[str, str] | None:
    """Where the tool of this service is: its server, and its name there."""
    match uses.of(service):
        case None:
            return None
        case "builtin":
            return BUILT_IN, FETCH
        case ByAgent(agent_id):
            return f"{BY_AGENT}{agent_id}", dict(NAMES)[service]
        case ByTool(server, tool):
            return server, tool


def wish(use: ToolUse) -> str:
    """The words to the agent that does the work of a call."""
    given = use.arguments if isinstance(use.arguments, dict) else {}
    if use.tool == FETCH:
        return f"Read what stands at this address, and answer with its text:\n{given.get('url', '')}"
    where = "" if use.name == SEARCH else " the web"
    return f"Search{where}, and answer with what you find and where it stands:\n{given.get('query', '')}"
