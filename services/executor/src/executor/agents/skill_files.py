"""The operator's skills: folders with a `SKILL.md` each, in the open format Agent Skills, which name their teams."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field, ValidationError

from executor.agents.operator_files import Teams, allows, teams_of
from executor.domain.skills import Skill
from rota_contracts.definitions.definition import DefinitionId
from rota_contracts.definitions.skill import SKILL_FILE, SkillDefinition

FENCE = "---"


class SkillFileError(ValueError):
    """A skill's file can't be read; names the file."""


class _File(SkillDefinition):
    name: DefinitionId
    teams: Any = Field(default=None)


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
    return [_skill(path) for path in sorted(folder.glob(f"*/{SKILL_FILE}"))]


def _skill(path: Path) -> _Owned:
    folder, file = path.parent, f"{path.parent.name}/{SKILL_FILE}"
    try:
        _, head, text = path.read_text(encoding="utf-8").split(f"{FENCE}\n", 2)
        front: Any = yaml.safe_load(head)
    except (ValueError, yaml.YAMLError) as error:
        raise SkillFileError(f"expected {file} to begin with a front matter in YAML between lines of ---") from error
    if not isinstance(front, dict):
        raise SkillFileError(f"expected the front matter of {file} to be a mapping, got {front!r}")
    files = {
        str(each.relative_to(folder)): _text(each)
        for each in sorted(folder.rglob("*"))
        if each.is_file() and each != path and not each.name.startswith(".")
    }
    try:
        made = _File.model_validate({"name": folder.name, **front, "text": text, "files": files}, extra="forbid")
        return _Owned(of_definition(made.name, made), teams_of(made.teams))
    except ValidationError as error:
        wrong = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, wrong["loc"]))
        raise SkillFileError(f"{file} can't be read: {where}: {wrong['msg']}") from error
    except ValueError as error:
        raise SkillFileError(f"the front matter of {file} can't be read: {error}") from error


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise SkillFileError(f"expected {path.parent.name}/{path.name} to be text in UTF-8: {error}") from error
