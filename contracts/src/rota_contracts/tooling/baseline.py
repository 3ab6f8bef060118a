"""The baseline: the schemas of the last release, which all later ones must stay compatible with."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from rota_contracts.model import Part
from rota_contracts.tooling.schema_diff import ANNOTATIONS

Schema = dict[str, Any]

BASELINE = Path("contracts/baseline.json")

_ONE = ("items", "additionalProperties", "propertyNames")
_NAMED = ("properties", "$defs")
_CHOICES = ("anyOf", "oneOf")


class Retired(Part):
    """A schema that was withdrawn on purpose. Its name is never used again."""

    name: str
    reason: str = Field(min_length=1)
    version: str = Field(min_length=1, description="the first release without it")


class Baseline(Part):
    version: str
    retired: tuple[Retired, ...] = ()
    schemas: dict[str, Schema]


def read_baseline(path: Path) -> Baseline:
    """Raises FileNotFoundError, and pydantic's ValidationError for another content."""
    return Baseline.model_validate_json(path.read_bytes())


def baseline_text(baseline: Baseline) -> str:
    """The file: canonical, each schema a line, so that a diff of two releases names the schemas that changed."""
    retired = sorted((each.model_dump() for each in baseline.retired), key=lambda each: each["name"])
    fields = {
        "version": _compact(baseline.version),
        "retired": f"[{_lines(map(_compact, retired))}]",
        "schemas": f"{{{_lines(f'{_compact(name)}: {_compact(each)}' for name, each in _sorted(baseline.schemas))}}}",
    }
    return "{\n" + ",\n".join(f'"{name}": {text}' for name, text in fields.items()) + "\n}\n"


def shape(schema: Any) -> Any:
    """The schema without descriptions, defaults and titles, which no check of compatibility reads."""
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if key not in ANNOTATIONS}
    for key in kept.keys() & set(_ONE):
        kept[key] = shape(kept[key])
    for key in kept.keys() & set(_NAMED):
        kept[key] = {name: shape(part) for name, part in kept[key].items()}
    for key in kept.keys() & set(_CHOICES):
        kept[key] = [shape(part) for part in kept[key]]
    return kept


def _sorted(schemas: Mapping[str, Schema]) -> list[tuple[str, Schema]]:
    return sorted(schemas.items())


def _lines(texts: Any) -> str:
    lines = list(texts)
    return "\n" + ",\n".join(lines) + "\n" if lines else ""


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
