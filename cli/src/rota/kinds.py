"""Documents of several kinds in YAML files: robots, and members who are people."""

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rota.definitions import documents, robot_of
from rota.errors import CliError
from rota.validation_errors import describe
from rota_contracts.members import MemberDefinition, parse_member
from rota_contracts.robots.robot import RobotDefinition

Definition = RobotDefinition | MemberDefinition

KIND, ROBOT, MEMBER = "kind", "Robot", "Member"


def read_kinds(path: Path) -> list[Definition]:
    """Every document of a YAML file (`-` is standard input); one without `kind` is a robot. CliError names each invalid
    field."""
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
        case other:
            what = f"expected kind: {ROBOT} or kind: {MEMBER} in {source}, not {other!r}"
            raise CliError(what, hint="a document without kind is a robot")


def _member(fields: dict[str, Any], source: str) -> MemberDefinition:
    try:
        return parse_member(fields)
    except ValidationError as error:
        hint = "for example {kind: Member, member_id: ann, display_name: Ann, email: ann@example.org, role: member}"
        raise CliError(f"{source} is not a valid member:", hint=hint, details=describe(error)) from error
