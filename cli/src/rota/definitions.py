"""Robots as files: YAML in, definitions checked field by field out."""

import sys
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from rota.errors import CliError
from rota.validation_errors import faults
from rota_contracts.robots.robot import RobotDefinition, parse_definition

Raw = dict[str, Any]


def read_definitions(path: Path) -> list[RobotDefinition]:
    """Every document of a YAML file (`-` is standard input). CliError names each wrong field."""
    return [_checked(raw, f"{path}, document {number}") for number, raw in enumerate(documents(path), start=1)]


def wire(definition: RobotDefinition) -> Raw:
    """As the API takes it: only what the owner wrote, so that defaults stay the gateway's."""
    written: Raw = definition.model_dump(mode="json", exclude_unset=True)
    return written


def documents(path: Path) -> list[Any]:
    """What a YAML file holds, at least one; `-` is standard input."""
    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text()
        found = [document for document in yaml.safe_load_all(text) if document is not None]
    except OSError as error:
        raise CliError(f"can't read {path}: {error.strerror}", hint="give the path of a YAML file, or -") from error
    except yaml.YAMLError as error:
        raise CliError(f"expected YAML in {path}: {error}", hint="look at the line it names") from error
    if not found:
        raise CliError(f"expected a robot in {path}: it is empty", hint="examples/robots holds some to start from")
    return found


def _checked(raw: Any, where: str) -> RobotDefinition:
    hint = "examples/robots shows every field; contracts/schemas/robot.json is the schema for an editor"
    if not isinstance(raw, dict):
        raise CliError(f"expected a robot (member_id, display_name, robot_config …) in {where}, not {raw!r}", hint=hint)
    try:
        definition = parse_definition(raw)
    except ValidationError as error:
        raise CliError(f"{where} is not a robot's definition:", hint=hint, details=faults(error)) from error
    if definition.member_id is None:
        raise CliError(f"expected member_id in {where}: without it every apply would make another robot", hint=hint)
    return definition
