"""Examples of JSON Schemas, for rehearsals: the least that fits; what their owners gave as an example comes first."""

import math
from collections.abc import Mapping
from typing import Any

from rota_common.json_schema import misfits, target
from rota_contracts.model import Json

Schema = Mapping[str, Any]

WORD = "rehearsed"
TEXTS = {
    "date": "2026-01-01",
    "time": "12:00:00Z",
    "date-time": "2026-01-01T12:00:00Z",
    "email": "rehearsed@example.com",
    "uri": "https://example.com/rehearsed",
    "uuid": "00000000-0000-4000-8000-000000000000",
}
"""Texts by their format."""


def example(schema: Schema) -> Json:
    """A value that fits, but for what only the owner's `examples` could say."""
    return _made(schema, schema)


def _made(part: Schema | bool, whole: Schema) -> Json:
    part = _flat(part, whole)
    given = [*part.get("examples", ()), *(part[key] for key in ("const", "default") if key in part)]
    if chosen := [*given, *part.get("enum", ())]:
        return chosen[0]
    match _kind(part):
        case "object":
            return {name: _made(part["properties"].get(name, True), whole) for name in part["required"]}
        case "array":
            items = [*part.get("prefixItems", ()), *[part.get("items", True)] * part.get("minItems", 0)]
            return [_made(each, whole) for each in items[: part.get("minItems", 0)]]
        case "integer" | "number":
            return next((number for number in _numbers(part) if not misfits(number, part, name="")), 0)
        case other:
            return {"boolean": True, "null": None}.get(other, _text(part))


def _flat(part: Schema | bool, whole: Schema) -> dict[str, Any]:
    """All that must hold in one schema: of alternatives the first one."""
    if isinstance(part, bool):
        part = {}
    referred = [target(whole, part["$ref"])] if "$ref" in part else []
    alternatives = [each for key in ("anyOf", "oneOf") for each in part.get(key, ())[:1]]
    found: dict[str, Any] = {"properties": {}, "required": []}
    for each in (*(_flat(one, whole) for one in (*referred, *part.get("allOf", ()), *alternatives)), part):
        properties = found["properties"] | each.get("properties", {})
        required = list(dict.fromkeys([*found["required"], *each.get("required", ())]))
        found |= {**each, "properties": properties, "required": required}
    return {key: value for key, value in found.items() if key not in ("$ref", "allOf", "anyOf", "oneOf")}


def _kind(part: Schema) -> str:
    kinds = part.get("type", "object" if part["properties"] else "string")
    return str(kinds[0] if isinstance(kinds, list) else kinds)


def _numbers(part: Schema) -> list[float]:
    """Numbers of which one fits, if any does that isn't far from a limit."""
    limits = [part[key] for key in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum") if key in part]
    step = part.get("multipleOf", 1)
    near = [turn(limit / step + by) * step for limit in limits for by in (-1, 0, 1) for turn in (math.floor, math.ceil)]
    between = [sum(limits) / len(limits)] if limits else []
    return [0, 1, *near, *limits, *between]


def _text(part: Schema) -> str:
    text = TEXTS.get(part.get("format", ""), WORD).ljust(part.get("minLength", 0), ".")
    return text[: part["maxLength"]] if "maxLength" in part else text
