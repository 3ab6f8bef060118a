"""Skills: instructions for kinds of work, in the operator's folder, `<name>/SKILL.md` each."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from executor.agents.operator_files import Teams, allows, teams_of
from executor.domain.conversation.found_tools import words
from rota_contracts.messages.execution import excerpt

FILE = "SKILL.md"
FENCE = "---"
FIELDS = ("name", "description", "teams")
FOUND = 5
"""Skills that one search finds."""

LONGEST = 20_000
"""Characters of a skill that are shown."""


class SkillFileError(ValueError):
    """A skill's file can't be read; names the file."""


@dataclass(frozen=True)
class Skill:
    """`description`: what it is for, in a line. `teams` may use it."""

    name: str
    description: str
    text: str
    teams: Teams


class Skills:
    """The skills of a folder, read once; of None there are none. Raises SkillFileError."""

    def __init__(self, folder: Path | None = None) -> None:
        self._all = _load(folder) if folder is not None else []

    def names(self, *, team: str) -> list[str]:
        return [skill.name for skill in self._of(team)]

    def search(self, query: str, *, team: str) -> list[Skill]:
        """The skills whose name or description has words of the query, those with most of them first."""
        wanted = words(query)
        scored = [(len(wanted & words(f"{skill.name} {skill.description}")), skill) for skill in self._of(team)]
        return [skill for score, skill in sorted(scored, key=lambda one: (-one[0], one[1].name)) if score][:FOUND]

    def _of(self, team: str) -> Iterable[Skill]:
        return (skill for skill in self._all if allows(skill.teams, team))


def _load(folder: Path) -> list[Skill]:
    if not folder.is_dir():
        raise SkillFileError(f"expected a folder of skills (*/{FILE}) in ROTA_SKILLS_DIR, there is none at {folder}")
    return [_skill(path) for path in sorted(folder.glob(f"*/{FILE}"))]


def _skill(path: Path) -> Skill:
    file = f"{path.parent.name}/{FILE}"
    try:
        _, head, text = path.read_text(encoding="utf-8").split(f"{FENCE}\n", 2)
        front: Any = yaml.safe_load(head)
    except (ValueError, yaml.YAMLError) as error:
        raise SkillFileError(f"expected {file} to begin with a front matter in YAML between lines of ---") from error
    if not isinstance(front, dict) or not isinstance(front.get("description"), str):
        raise SkillFileError(f"expected a description in the front matter of {file}: what the skill is for, in a line")
    if unknown := sorted(map(str, front.keys() - set(FIELDS))):
        raise SkillFileError(f"the front matter of {file} may have {', '.join(FIELDS)}, not {', '.join(unknown)}")
    try:
        teams = teams_of(front.get("teams"))
    except ValueError as error:
        raise SkillFileError(f"the front matter of {file} can't be read: {error}") from error
    name = str(front.get("name") or path.parent.name)
    return Skill(name, " ".join(front["description"].split()), excerpt(text.strip(), LONGEST), teams)
