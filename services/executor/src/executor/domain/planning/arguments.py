"""The check of a planned call's arguments against its tool's schema, as far as it can be judged before the call."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from executor.domain.conversation.chat import Tool, properties
from rota_contracts.json_values import same, unstorable

TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def outline(tool: Tool) -> dict[str, Any]:
    """As much of a tool's schema as the check reads; a journal keeps it, so that a replay checks the same."""
    schema = tool.parameters
    found: dict[str, Any] = {"properties": {name: _known(each) for name, each in properties(schema).items()}}
    if isinstance(schema.get("required"), list):
        found["required"] = schema["required"]
    if schema.get("additionalProperties") is False:
        found["additionalProperties"] = False
    return found


def problem(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """Why these arguments can't be right; empty if nothing speaks against them."""
    known, required = properties(schema), schema.get("required")
    names = required if isinstance(required, Sequence) and not isinstance(required, str) else ()
    wrong = [f"{name} is missing" for name in names if name not in arguments]
    if schema.get("additionalProperties") is False:
        wrong += [f"there is no {name}" for name in arguments if name not in known]
    wrong += [said for name, value in arguments.items() if (said := _unfit(name, value, known.get(name)))]
    return "; ".join(wrong)


def _unfit(name: str, value: Any, schema: Any) -> str:
    known, wanted = _known(schema), _kinds(schema)
    if wanted and all(kind in TYPES for kind in wanted) and not any(_is(value, kind) for kind in wanted):
        return f"{name} must be of type {' or '.join(wanted)}, not {value!r}"
    values = known.get("enum")
    if isinstance(values, list) and not any(same(value, each) for each in values):
        return f"{name} must be one of {', '.join(map(repr, values))}, not {value!r}"
    return ""


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, TYPES[kind])


def _known(schema: Any) -> dict[str, Any]:
    given = schema if isinstance(schema, Mapping) else {}
    return {key: given[key] for key in ("type", "enum") if key in given}


def fitted(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as the schema means them: a number or a truth value that was written as text, as calls in tags
    are, is one; an optional argument that is null isn't given."""
    known, required = properties(schema), schema.get("required")
    needed = required if isinstance(required, list) else ()
    made = {name: _read(value, _kinds(known.get(name))) for name, value in arguments.items()}
    return {
        name: value
        for name, value in made.items()
        if value is not None or name in needed or not (kinds := _kinds(known.get(name))) or "null" in kinds
    }


def _read(value: Any, kinds: Sequence[str]) -> Any:
    if not isinstance(value, str) or not kinds or "string" in kinds:
        return value
    try:
        read = json.loads(value)
    except ValueError:
        return value
    fits = any(kind in TYPES and _is(read, kind) for kind in kinds)
    return read if fits and not unstorable(read) else value


def _kinds(schema: Any) -> Sequence[str]:
    kinds = _known(schema).get("type")
    return [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, list) else []
