"""Definitions of agents, connectors and MCP servers in files: documents of YAML, and agents as Markdown."""

from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from rota.errors import CliError
from rota.validation_errors import describe
from rota.yaml_core import load_all
from rota_contracts.definitions.definition import DefinitionId, DefinitionKind, parse_spec
from rota_contracts.json_values import unstorable
from rota_contracts.messages.definition import WrittenDefinition

SUFFIXES = (".yaml", ".yml", ".md")
FENCE, INSTRUCTIONS = "---", "AGENTS.md"
HINT = "docs/agents.md has an example of each kind"

_ID: TypeAdapter[str] = TypeAdapter(DefinitionId)


def files_in(path: Path) -> list[Path]:
    """The file itself; of a folder, all files of YAML in it and below, and all Markdown that begins as an agent does.
    CliError for a folder without any."""
    if not path.is_dir():
        return [path]
    found = [each for each in sorted(path.rglob("*")) if each.is_file() and each.suffix in SUFFIXES]
    found = [each for each in found if each.suffix != ".md" or _is_agent(each)]
    if not found:
        raise CliError(f"expected files of YAML or agents (*.md) in {path}: there are none", hint=HINT)
    return found


def _is_agent(path: Path) -> bool:
    return path.name == INSTRUCTIONS or path.read_text(encoding="utf-8").startswith(f"{FENCE}\n")


def agent_in(path: Path) -> WrittenDefinition:
    """An agent of the team in Markdown: a front matter in YAML, if there is one, and the prompt below it. Its id is the
    file's name without `.md`, or its folder's of an AGENTS.md."""
    text = path.read_text(encoding="utf-8")
    name = path.parent.name if path.name == INSTRUCTIONS else path.name.removesuffix(".md")
    head, prompt = "", text
    if text.startswith(f"{FENCE}\n"):
        head, fence, prompt = text.removeprefix(f"{FENCE}\n").partition(f"\n{FENCE}\n")
        if not fence:
            raise CliError(f"the front matter of {path} has no end: expected a second line {FENCE}")
    try:
        front: Any = next(load_all(head), None) or {}
    except yaml.YAMLError as error:
        raise CliError(f"expected YAML in the front matter of {path}: {error}", hint=HINT) from error
    if not isinstance(front, dict):
        raise CliError(f"expected the front matter of {path} to be a mapping, not {front!r}", hint=HINT)
    if "teams" in front:
        raise CliError(f"{path} names teams: only the operator's agents do", hint="leave `teams` out")
    return definition_of(DefinitionKind.AGENT, {"id": name, **front, "prompt": prompt.strip()}, str(path))


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
    return WrittenDefinition(kind=kind, id=name, spec=spec)
