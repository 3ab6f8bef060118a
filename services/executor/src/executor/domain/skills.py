"""Skills: instructions for kinds of work. A prompt names a few; of many, and for their words, there is the search."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from executor.domain.conversation.chat import BUILT_IN, Tool
from executor.domain.conversation.found_tools import words
from rota_contracts.robots.resources import BuiltInTool

INLINE = 15
"""Skills up to which a prompt names all."""

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


def listed(skills: Sequence[Skill], tools: Sequence[Tool]) -> str:
    """The section of a prompt, for those who can read them; of many, the tool that searches is enough."""
    search = any((tool.server, tool.tool) == (BUILT_IN, BuiltInTool.SKILL_SEARCH) for tool in tools)
    if not skills or len(skills) > INLINE or not search:
        return ""
    shown = "\n".join(
        f"<skill><name>{skill.name}</name><description>{escape(skill.description)}</description></skill>"
        for skill in skills
    )
    return (
        "Skills are instructions for kinds of work. Before work that one of them is for, read it: "
        f"{BuiltInTool.SKILL_SEARCH} with its name.\n<available_skills>\n{shown}\n</available_skills>"
    )
