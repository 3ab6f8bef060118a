"""The operator's skills: folders with a `SKILL.md` each, in the open format Agent Skills, which name their teams."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from executor.agents.operator_files import Teams, allows, teams_of
from executor.domain.skills import Skill
from rota_contracts.definitions.definition import SPEC_LIMIT
from rota_contracts.definitions.skill import SKILL_FILE, SkillDefinition, name_problem
from rota_contracts.definitions.skill_folder import read_folder

FOLDER = "skills"


class SkillFileError(ValueError):
    """A skill's file can't be read; names the file."""


@dataclass(frozen=True)
class _Owned:
    skill: Skill
    teams: Teams


class Skills:
    """The skills of a folder, read once; of None there are none. Raises SkillFileError."""

    def __init__(self, folder: Path | None = None) -> None:
        self._all = _load(folder) if folder is not None else []

    def of(self, team: str) -> list[Skill]:
        """Those that this team may use, by name."""
        return [each.skill for each in self._all if allows(each.teams, team)]


def of_definition(name: str, spec: SkillDefinition) -> Skill:
    return Skill(name, " ".join(spec.description.split()), spec.text.strip(), spec.files)


def _load(folder: Path) -> list[_Owned]:
    if not folder.is_dir():
        expected = f"expected a folder of skills (*/{SKILL_FILE}) in ROTA_SKILLS_DIR"
        raise SkillFileError(f"{expected}, there is none at {folder}")
    found = [path for path in sorted(folder.iterdir()) if path.is_dir() and not path.name.startswith(".")]
    if away := [path.name for path in found if not (path / SKILL_FILE).is_file()]:
        raise SkillFileError(f"expected {away[0]}/{SKILL_FILE}: each folder of skills has one")
    return [_skill(path / SKILL_FILE) for path in found]


def beside(agents: Path | None) -> Path | None:
    """The folder of skills in that of agents, if there is one."""
    folder = None if agents is None else agents / FOLDER
    return folder if folder is not None and folder.is_dir() else None


def _skill(path: Path) -> _Owned:
    file = f"{path.parent.name}/{SKILL_FILE}"
    try:
        found = read_folder(path.parent, limit=SPEC_LIMIT)
        front = _front(found.head)
        if problem := name_problem(found.name):
            raise ValueError(f"its folder: {problem}")
        if (name := front.pop("name", found.name)) != found.name:
            raise ValueError(f"name: expected {found.name}, that of its folder, got {name!r}")
        teams = _teams(front)
        spec = {**front, "text": found.text.strip(), "files": found.files}
        return _Owned(of_definition(found.name, SkillDefinition.model_validate(spec, extra="forbid")), teams)
    except ValidationError as error:
        wrong = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, wrong["loc"]))
        raise SkillFileError(f"{file} can't be read: {where}: {wrong['msg']}") from error
    except ValueError as error:
        raise SkillFileError(f"{file} can't be read: {error}") from error


def _front(head: str) -> dict[str, Any]:
    try:
        front: Any = yaml.load(head, Loader=yaml.BaseLoader)  # noqa: S506  # makes texts alone, as the format has
    except yaml.YAMLError as error:
        raise ValueError(f"expected YAML between the two lines of ---: {error}") from error
    if not isinstance(front, dict):
        raise ValueError(f"expected the front matter to be a mapping, got {front!r}")
    return front


def _teams(front: dict[str, Any]) -> Teams:
    """Takes them out: a field of ours, or in the metadata, where the format has room for it, with commas or spaces."""
    metadata = front.get("metadata")
    given = front.pop("teams", None)
    if given is None and isinstance(metadata, dict):
        given = metadata.pop("teams", None)
    try:
        return teams_of(re.split(r"[\s,]+", given.strip()) if isinstance(given, str) else given)
    except ValueError as error:
        raise ValueError(f"teams, or metadata.teams: {error}, got {given!r}") from error
