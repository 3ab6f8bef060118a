"""Documents of several kinds in files: robots, members who are people, agents, connectors, MCP servers and skills."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rota.definition_files import definition_of, files_in, markdown_in
from rota.definitions import documents, robot_of
from rota.errors import CliError
from rota.validation_errors import describe
from rota_contracts.definitions.definition import DefinitionKind
from rota_contracts.members import MemberDefinition, parse_member
from rota_contracts.messages.definition import WrittenDefinition
from rota_contracts.robots.robot import RobotDefinition

Definition = RobotDefinition | MemberDefinition | WrittenDefinition

KIND, ROBOT, MEMBER = "kind", "Robot", "Member"


def read_all(paths: Sequence[Path]) -> list[Definition]:
    """Every document of these files and of the files in these folders. CliError for two of the same kind and name."""
    found = [each for path in paths for file in files_in(path) for each in read_kinds(file)]
    names = ["/".join(named_by(each).values()) for each in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise CliError(f"expected each definition once, got several of {', '.join(twice)}")
    return found


def named_by(definition: Definition) -> dict[str, str]:
    """What it is called by: the kind and the id, or the member_id, which robots and people share."""
    if isinstance(definition, WrittenDefinition):
        return {"kind": definition.kind.value, "id": definition.id}
    return {"member_id": str(definition.member_id)}


def read_kinds(path: Path) -> list[Definition]:
    """Every document of a YAML file (`-` is standard input), or what a Markdown file defines; a document without
    `kind` is a robot. CliError names each invalid field."""
    if path.suffix == ".md":
        return [markdown_in(path)]
    return [_parsed(raw, f"{path}, document {number}") for number, raw in enumerate(documents(path), start=1)]


def _parsed(raw: Any, source: str) -> Definition:
    if not isinstance(raw, dict) or KIND not in raw:
        return robot_of(raw, source)
    fields = {name: value for name, value in raw.items() if name != KIND}
    match raw[KIND]:
        case "Robot":
            return robot_of(fields, source)
        case "Member":
            return _member(fields, source)
        case kind if kind in [*DefinitionKind]:
            return definition_of(DefinitionKind(kind), fields, source)
        case other:
            kinds = ", ".join([ROBOT, MEMBER, *DefinitionKind])
            raise CliError(f"expected a kind of {kinds} in {source}, not {other!r}", hint="without kind it is a robot")


def _member(fields: dict[str, Any], source: str) -> MemberDefinition:
    try:
        return parse_member(fields)
    except ValidationError as error:
        hint = "for example {kind: Member, member_id: ann, display_name: Ann, email: ann@example.org, role: member}"
        raise CliError(f"{source} is not a valid member:", hint=hint, details=describe(error)) from error
