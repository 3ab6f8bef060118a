"""The built-in tools that search: the memory, skills, and tools of MCP servers."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from executor.domain.calls.policy import permitted_to
from executor.domain.conversation.chat import BUILT_IN
from executor.domain.conversation.found_tools import matching
from executor.domain.skills import Skill, found
from executor.tool_ports import ToolFailed
from executor.tools.built_in import TOOLS
from executor.tools.files import answered
from executor.tools.registry import Call, Used, Work
from rota_common.bus.rpc import Ask
from rota_contracts.catalog import RECALL
from rota_contracts.messages.execution import excerpt
from rota_contracts.messages.memory import Recall
from rota_contracts.model import NAME_PATTERN
from rota_contracts.robots.resources import BuiltInTool

MOST_COLLECTIONS = 50
"""Shared collections in one question; the memory refuses more."""

QUERY_LIMIT, LINE, LIST = 2_000, 300, 2_000
"""Characters of a query, of a tool's description where it was found, and of a list of names."""

LONGEST = 16_000
"""Characters of a skill, or of a file of it, that are shown: an answer with all else is shown whole."""


@dataclass(frozen=True, kw_only=True)
class SearchTools:
    ask: Ask

    def works(self) -> Mapping[BuiltInTool, Work]:
        return {
            BuiltInTool.MEMORY_SEARCH: self.memory,
            BuiltInTool.SKILL_SEARCH: self.skill,
            BuiltInTool.MCP_TOOL_SEARCH: self.tool,
        }

    def used(self) -> Used:
        """Of an agent that names skills, whatever its robot names."""
        return {BuiltInTool.SKILL_SEARCH: (TOOLS[BuiltInTool.SKILL_SEARCH], self.skill)}

    async def memory(self, call: Call) -> str:
        """The robot's own lessons, then knowledge of the collections that its definition names. Lessons by a value of
        the event (`learn.by`) are given to a run as it begins, and aren't found here."""
        kb, limit = call.robot.robot_config.kb, call.arguments.number("limit", 5)
        named = [name for name in kb.collections if re.fullmatch(NAME_PATTERN, name)] if kb else []
        query = call.arguments.text("query")[:QUERY_LIMIT]
        wanted = Recall(
            team_id=call.robot.team_id,
            member_id=call.robot.member_id,
            query=query,
            limit=limit,
            collections=named[:MOST_COLLECTIONS],
            shared_limit=limit,
            scope=None if call.robot.robot_config.learn.by else "",
        )
        found = await answered(self.ask, RECALL, wanted)
        own = [f"[{one.entry.type}, {one.entry.created_at:%Y-%m-%d}] {one.entry.content}" for one in found.entries]
        shared = [f"[{one.entry.collection}/{one.entry.id}] {one.entry.content}" for one in found.shared]
        return "\n".join([*own, *shared]) or "nothing is known of that"

    async def skill(self, call: Call) -> str:
        query, file = call.arguments.text("query"), call.arguments.text("file")
        if not (matching := found(call.skills, query)):
            known = excerpt(", ".join(skill.name for skill in call.skills), LIST) or "none"
            return f"no skill has these words; there are: {known}"
        best, others = matching[0], matching[1:]
        if file:
            return _file(best, file)
        files = excerpt("".join(f"\n- {path}" for path in best.files), LIST)
        more = "\n".join(f"- {one.name}: {excerpt(one.description, LINE)}" for one in others)
        return (
            f"# {best.name}\n{_cut(best.text)}"
            + (f"\n\nFiles of this skill, which `file` reads:{files}" if files else "")
            + (f"\n\nOther skills that may fit:\n{more}" if more else "")
        )

    async def tool(self, call: Call) -> str:
        listed = permitted_to(call.robot, call.role, await call.mcp.list(call.robot))
        tools = [tool for tool in listed if tool.server != BUILT_IN]
        fit = matching(tools, call.arguments.text("query"))
        lines = [f"- {tool.name}: {excerpt(' '.join(tool.description.split()), LINE)}".rstrip(": ") for tool in fit]
        return "\n".join(lines) or f"none of the {len(tools)} tools has these words: try others"


def _file(skill: Skill, path: str) -> str:
    if path not in skill.files:
        known = excerpt(", ".join(skill.files), LIST) or "none"
        raise ToolFailed(f"skill_search: skill {skill.name} has no file {path[:100]}: it has {known}")
    return f"# {skill.name}/{path}\n{_cut(skill.files[path])}"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}\n[cut off after {LONGEST} of {len(text)} characters]"
