"""Tools that are searched: where MCP servers have many, an assistant is offered those that it has looked for."""

import re
from collections.abc import Iterable, Sequence

from executor.domain.conversation.chat import BUILT_IN, Tool
from rota_contracts.messages.conversation import Round, ToolStatus, ToolUse
from rota_contracts.robots.resources import BuiltInTool

MANY = 15
"""Tools of MCP servers up to which all are offered at once."""

FOUND = 10
"""Tools that one search finds."""


def is_search(tool: Tool | ToolUse) -> bool:
    return tool.server == BUILT_IN and tool.tool == BuiltInTool.MCP_TOOL_SEARCH


def offered(tools: Sequence[Tool], before: Iterable[ToolUse]) -> list[Tool]:
    """The tools for the next answer of an assistant that has made these calls. Without a search, or with few tools of
    MCP servers, all of them, and no search."""
    outside = [tool for tool in tools if tool.server != BUILT_IN]
    if len(outside) <= MANY:
        return [tool for tool in tools if not is_search(tool)]
    if not any(is_search(tool) for tool in tools):
        return list(tools)
    asked = [use for use in before if is_search(use) and use.status is ToolStatus.COMPLETED]
    found = {tool.name for use in asked for tool in matching(outside, _query(use))}
    return [tool for tool in tools if tool.server == BUILT_IN or tool.name in found]


def uses_in(rounds: Iterable[Round]) -> list[ToolUse]:
    return [use for each in rounds for use in each.uses]


def matching(tools: Sequence[Tool], query: str) -> list[Tool]:
    """The tools whose name or description has words of the query, those with most of them first."""
    wanted = words(query)
    scored = [(len(wanted & words(f"{tool.server} {tool.tool} {tool.description}")), tool) for tool in tools]
    return [tool for score, tool in sorted(scored, key=lambda one: (-one[0], one[1].name)) if score][:FOUND]


def words(text: str) -> frozenset[str]:
    """The words of a text, also those that an underscore or a capital joins; without an ending s."""
    parts = re.findall(r"[^\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text))
    return frozenset(part.casefold().removesuffix("s") or "s" for part in parts)


def _query(use: ToolUse) -> str:
    query = use.arguments.get("query") if isinstance(use.arguments, dict) else None
    return query if isinstance(query, str) else ""
