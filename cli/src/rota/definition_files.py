"""Definitions of a team in files: documents of YAML, agents as Markdown, and folders of skills."""

from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from rota.errors import CliError
from rota.validation_errors import describe
from rota.yaml_core import load_all
from rota_contracts.definitions.definition import SPEC_LIMIT, DefinitionId, DefinitionKind, parse_spec
from rota_contracts.definitions.skill import SKILL_FILE, name_problem
from rota_contracts.definitions.skill_folder import read_folder
from rota_contracts.json_values import unstorable
from rota_contracts.messages.definition import WrittenDefinition

SUFFIXES = (".yaml", ".yml", ".md")
FENCE, INSTRUCTIONS = "---", "AGENTS.md"
HINT = "docs/agents.md has an example of each kind"

_ID: TypeAdapter[str] = TypeAdapter(DefinitionId)


def files_in(path: Path) -> list[Path]:
    """The file itself; of a folder, all files of YAML in it and below, all Markdown that begins as an agent does, and
    the SKILL.md of each skill, whose other files belong to it. CliError for a folder without any."""
    if not path.is_dir():
        return [path]
    found = [each for each in sorted(path.rglob("*")) if each.is_file() and each.suffix in SUFFIXES]
    skills = {each.parent for each in found if each.name == SKILL_FILE}
    found = [each for each in found if skills.isdisjoint(_above(each).parents)]
    found = [each for each in found if each.suffix != ".md" or _is_definition(each)]
    if not found:
        raise CliError(f"expected files of YAML, agents (*.md) or skills in {path}: there are none", hint=HINT)
    return found


def _above(path: Path) -> Path:
    """Of a SKILL.md its folder, which may be below that of another skill; else the file itself."""
    return path.parent if path.name == SKILL_FILE else path


def _is_definition(path: Path) -> bool:
    return path.name in (INSTRUCTIONS, SKILL_FILE) or path.read_text(encoding="utf-8").startswith(f"{FENCE}\n")


def markdown_in(path: Path) -> WrittenDefinition:
    """What a file of Markdown defines: a skill, if it is a SKILL.md, else an agent."""
    return _skill_in(path) if path.name == SKILL_FILE else _agent_in(path)


def _agent_in(path: Path) -> WrittenDefinition:
    """An agent of the team: a front matter in YAML, if there is one, and the prompt below it. Its id is the file's name
    without `.md`, or its folder's of an AGENTS.md."""
    front, prompt = _halves(path)
    name = path.parent.name if path.name == INSTRUCTIONS else path.name.removesuffix(".md")
    return definition_of(DefinitionKind.AGENT, {"id": name, **front, "prompt": prompt.strip()}, str(path))


def _skill_in(path: Path) -> WrittenDefinition:
    """A skill of the team in the open format Agent Skills, with all other files of its folder, which are texts. Its id
    is its folder's name."""
    try:
        found = read_folder(path.parent, limit=SPEC_LIMIT)
    except OSError as error:
        raise CliError(f"can't read {path}: {error.strerror}", hint=HINT) from error
    except ValueError as error:
        raise CliError(f"{path} is not a valid Skill: {error}", hint=HINT) from error
    front = _front(found.head, path)
    if (name := front.pop("name", found.name)) != found.name:
        raise CliError(f"expected {path} to have the name of its folder, {found.name}, got {name!r}", hint=HINT)
    fields = {**front, "id": name, "text": found.text.strip()} | ({"files": found.files} if found.files else {})
    return definition_of(DefinitionKind.SKILL, fields, str(path))


def _halves(path: Path) -> tuple[dict[str, Any], str]:
    """The front matter, and the text below it."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise CliError(f"expected {path} to be text in UTF-8: {error}") from error
    head, rest = "", text
    if text.startswith(f"{FENCE}\n"):
        head, fence, rest = text.removeprefix(f"{FENCE}\n").partition(f"\n{FENCE}\n")
        if not fence:
            raise CliError(f"the front matter of {path} has no end: expected a second line {FENCE}")
    return _front(head, path), rest


def _front(head: str, path: Path) -> dict[str, Any]:
    try:
        front: Any = next(load_all(head), None) or {}
    except yaml.YAMLError as error:
        raise CliError(f"expected YAML in the front matter of {path}: {error}", hint=HINT) from error
    if not isinstance(front, dict):
        raise CliError(f"expected the front matter of {path} to be a mapping, not {front!r}", hint=HINT)
    if "teams" in front:
        raise CliError(f"{path} names teams: only the operator's files do", hint="leave `teams` out")
    return front


def definition_of(kind: DefinitionKind, fields: dict[str, Any], source: str) -> WrittenDefinition:
    """CliError names `source` and each invalid field."""
    spec = {name: value for name, value in fields.items() if name != "id"}
    if unfit := unstorable(spec):
        raise CliError(f"{source} is not a valid {kind.value}: {unfit}", hint=HINT)
    try:
        name = _ID.validate_python(fields.get("id"))
        parse_spec(kind, spec)
    except ValidationError as error:
        details = describe(error)
        if "id" not in fields:
            details = [f"id: expected one, like experts.writer, of the {kind.value}"]
        raise CliError(f"{source} is not a valid {kind.value}:", hint=HINT, details=details) from error
    if kind is DefinitionKind.SKILL and (problem := name_problem(name)):
        raise CliError(f"{source} is not a valid Skill: {problem}", hint=HINT)
    return WrittenDefinition(kind=kind, id=name, spec=spec)
