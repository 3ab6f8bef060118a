"""Skills: instructions for kinds of work. A prompt says what a few are for; a tool finds and reads them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from executor.domain.conversation.chat import BUILT_IN, Tool
from executor.domain.conversation.found_tools import words
from rota_contracts.messages.conversation import ToolUse
from rota_contracts.messages.execution import excerpt
from rota_contracts.robots.resources import BuiltInTool

INLINE = 15
"""Skills up to which a prompt says what each is for."""

NAMES = 2_000
"""Characters of the names of more."""

FOUND = 5
"""Skills that one search finds."""


@dataclass(frozen=True)
class Skill:
    """`description`: what it is for. `files`: others of its folder, by their paths."""

    name: str
    description: str
    text: str
    files: Mapping[str, str] = field(default_factory=dict)


def found(skills: Sequence[Skill], query: str) -> list[Skill]:
    """The skill of this name; then those whose name or description has words of the query, those with most of them
    first."""
    wanted = words(query)
    scored = [
        (skill.name != query.strip(), -len(wanted & words(f"{skill.name} {skill.description}")), skill.name, skill)
        for skill in skills
    ]
    return [skill for other, score, _, skill in sorted(scored, key=lambda one: one[:3]) if score or not other][:FOUND]


def reads_skills(used: Tool | ToolUse) -> bool:
    """Is it the tool that finds and reads skills?"""
    return (used.server, used.tool) == (BUILT_IN, BuiltInTool.SKILL_SEARCH)


def listed(skills: Sequence[Skill], tools: Sequence[Tool]) -> str:
    """The section of a prompt, for those who can read them: what each is for; of many, the names."""
    if not skills or not any(reads_skills(tool) for tool in tools):
        return ""
    few = len(skills) <= INLINE
    shown = "\n".join(_described(skill) for skill in skills) if few else excerpt(_names(skills), NAMES)
    how = "with its name" if few else "with its name, or with words for the work"
    return (
        "Skills are instructions for kinds of work. Before work that one of them is for, read it: "
        f"{BuiltInTool.SKILL_SEARCH} {how}.\n<available_skills>\n{shown}\n</available_skills>"
    )


def _described(skill: Skill) -> str:
    return f"<skill><name>{skill.name}</name><description>{escape(skill.description)}</description></skill>"


def _names(skills: Sequence[Skill]) -> str:
    return ", ".join(skill.name for skill in skills)
