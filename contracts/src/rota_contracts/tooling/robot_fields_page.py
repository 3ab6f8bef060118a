"""The page docs/robot-fields.md: every field of a robot's definition, from its schema."""

import json
from collections.abc import Iterator
from typing import Any

from rota_contracts.robots.clock_config import DURATION_PATTERN, TIME_PATTERN
from rota_contracts.tooling.schemas import ROBOT_SCHEMA, robot_schema
from rota_contracts.tooling.tables import table

INTRODUCTION = f"""\
# Fields of a robot

<!-- Generated from rota_contracts.robots by `python -m rota_contracts.tooling.export`. -->

Every field that a robot's definition may have; [robots.md](robots.md) explains how to write one, with a whole
example. The same as a JSON Schema, for editors: [{ROBOT_SCHEMA}](../contracts/schemas/{ROBOT_SCHEMA}).
A field that isn't here is an error.

A *duration* is text like `30m`, `2h`, `1h30m` or `7d`.
"""
REF = "#/$defs/"
NULL = {"type": "null"}
PLURAL = {"object": "objects", "object or text": "objects or texts", "text": "texts", "any value": "values"}
FORMATS = {DURATION_PATTERN: "duration", TIME_PATTERN: "time of day, like 09:00"}

Schema = dict[str, Any]


def robot_fields_page() -> str:
    schema = robot_schema()
    return "\n".join([INTRODUCTION, *_sections(schema, schema["$defs"])])


def _sections(schema: Schema, definitions: dict[str, Schema]) -> Iterator[str]:
    """One for each kind of object, where it comes first; what is in it follows."""
    known: dict[str, str] = {}
    waiting: list[tuple[str, Schema]] = [("", schema)]
    while waiting:
        path, each = waiting.pop(0)
        fields: dict[str, Schema] = each.get("properties", {})
        inner: list[tuple[str, Schema]] = []
        for name, field in fields.items():
            kind = _object_of(field)
            if kind is not None and kind not in known and _is_object(definitions[kind]):
                known[kind] = f"{path}.{name}".lstrip(".")
                inner.append((known[kind], _long_form(definitions[kind])))
        waiting = inner + waiting
        rows = [
            _row(name, field, name in each.get("required", []), definitions, known) for name, field in fields.items()
        ]
        text = each.get("description", "") if path else ""
        title = f"## `{path}`\n" if path else "## A robot\n"
        yield "\n".join([title, *([f"{text}\n"] if text else []), table(("Field", "Type", "Default", ""), rows)])


def _row(
    name: str, field: Schema, required: bool, definitions: dict[str, Schema], known: dict[str, str]
) -> tuple[str, ...]:
    kind, words = _object_of(field), field.get("description", "")
    if kind in known:
        words += f" ([below](#{_anchor(known[kind])}))"
    default = "**required**" if required else "" if kind in known else _default(field)
    return f"`{name}`", _type(field, definitions), default, words


def _default(field: Schema) -> str:
    given = field.get("default")
    return "" if given in (None, "", [], {}) else f"`{given if isinstance(given, str) else json.dumps(given)}`"


def _anchor(path: str) -> str:
    return "".join(each for each in path.lower() if each.isalnum() or each in "-_")


def _object_of(field: Schema) -> str | None:
    """The name of the definition that a field holds, alone or in a list."""
    items = field.get("items", {})
    for each in (field, *field.get("anyOf", []), items, *items.get("anyOf", [])):
        if "$ref" in each:
            return str(each["$ref"]).removeprefix(REF)
    return None


def _is_object(definition: Schema) -> bool:
    return bool(_long_form(definition).get("properties"))


def _long_form(definition: Schema) -> Schema:
    """The form with fields, of those that a definition may have."""
    forms = [definition, *definition.get("anyOf", [])]
    found = next((form for form in forms if "properties" in form), definition)
    return {"description": definition.get("description", ""), **found}


def _type(field: Schema, definitions: dict[str, Schema]) -> str:
    if "anyOf" in field:
        return " or ".join(dict.fromkeys(_type(each, definitions) for each in field["anyOf"] if each != NULL))
    if "$ref" in field:
        found = definitions[str(field["$ref"]).removeprefix(REF)]
        return "object" if _is_object(found) else _type(found, definitions)
    if "enum" in field or "const" in field:
        return ", ".join(f"`{value}`" for value in field.get("enum", [field.get("const")]))
    if field.get("type") == "array":
        words = _type(field.get("items", {}), definitions)
        return f"list of {PLURAL.get(words, words)}"
    return _plain_type(field)


def _plain_type(field: Schema) -> str:
    match field.get("type"):
        case "object":
            keys = field.get("propertyNames", {}).get("enum")
            return f"mapping of {', '.join(f'`{key}`' for key in keys)}" if keys else "mapping"
        case "string":
            known = "URL" if field.get("format") == "uri" else "text"
            return FORMATS.get(field.get("pattern", ""), known)
        case "integer" | "number":
            return _number(field)
        case "boolean":
            return "`true` or `false`"
    return "any value"


def _number(field: Schema) -> str:
    kind = "whole number" if field["type"] == "integer" else "number"
    least, most = field.get("minimum", field.get("exclusiveMinimum")), field.get("maximum")
    if least is None or most is None:
        return kind if least is None else f"{kind}, from {least:,}"
    return f"{kind}, {least:,} to {most:,}"
