"""Robot definitions in YAML files, validated field by field."""

import sys
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from rota.errors import CliError
from rota.validation_errors import describe
from rota.yaml_core import load_all
from rota_contracts.robots.robot import RobotDefinition, parse_definition

Raw = dict[str, Any]


def read_definitions(path: Path) -> list[RobotDefinition]:
    """Every document of a YAML file (`-` is standard input). CliError names each invalid field."""
    return [robot_of(raw, f"{path}, document {number}") for number, raw in enumerate(documents(path), start=1)]


def wire(definition: RobotDefinition) -> Raw:
    """The body for the API: only the fields that the file sets, so that defaults stay the gateway's."""
    written: Raw = definition.model_dump(mode="json", exclude_unset=True)
    return written


def owners_part(robot: Raw) -> Raw:
    """The definition of a robot that the API shows, without what is at its default. CliError if this version doesn't
    know a field of it."""
    written = {name: value for name, value in robot.items() if name in RobotDefinition.model_fields}
    hint = "the running Rota is newer than this command: install its version"
    return _parsed(written, f"robot {robot.get('member_id')}", hint).model_dump(mode="json", exclude_defaults=True)


def documents(path: Path) -> list[Any]:
    """The documents of a YAML file, at least one; `-` is standard input."""
    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text()
        found = [document for document in load_all(text) if document is not None]
    except OSError as error:
        raise CliError(f"can't read {path}: {error.strerror}", hint="give the path of a YAML file, or -") from error
    except yaml.YAMLError as error:
        raise CliError(f"expected YAML in {path}: {error}", hint="check the line that it names") from error
    if not found:
        raise CliError(f"expected a robot in {path}: it is empty", hint="start from `rota robots init NAME`")
    return found


def robot_of(raw: Any, source: str) -> RobotDefinition:
    """The robot that a document defines. CliError names `source` and each invalid field."""
    hint = "`rota robots init NAME` shows every field; docs/robots.md explains them"
    if not isinstance(raw, dict):
        raise CliError(
            f"expected a robot (member_id, display_name, robot_config …) in {source}, not {raw!r}", hint=hint
        )
    definition = _parsed(raw, source, hint)
    if definition.member_id is None:
        raise CliError(f"expected member_id in {source}: without it every apply would create another robot", hint=hint)
    return definition


def _parsed(raw: Raw, source: str, hint: str) -> RobotDefinition:
    try:
        return parse_definition(raw)
    except ValidationError as error:
        raise CliError(f"{source} is not a valid robot definition:", hint=hint, details=describe(error)) from error
