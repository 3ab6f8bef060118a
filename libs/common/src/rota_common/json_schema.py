"""JSON Schemas of teams: whether one can be used, and why a value doesn't fit it.

Both end soon, whatever a team has written: a schema is small, checks are counted, nothing is fetched, and patterns,
which may take for ever, aren't taken. jsonschema is imported when the first schema is there: it takes half a second.
"""

from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from typing import Any

from rota_contracts.json_values import canonical, compact, unstorable
from rota_contracts.model import Json

Schema = Mapping[str, Json]

LIMIT = 16 * 1024
"""Bytes of a schema's JSON."""

PARTS = 1_000
"""Objects and lists in a schema."""

CHECKS = 10_000
"""Checks of one value: they take less than half a second."""

DIALECT = "https://json-schema.org/draft/2020-12/schema"
OTHERWISE = {
    "pattern": "say in its description how the text is written, or list the texts in enum",
    "patternProperties": "name the fields in properties, or give one schema for all others in additionalProperties",
    "$dynamicRef": "use a $ref like #/$defs/name",
    "$recursiveRef": "use a $ref like #/$defs/name",
}
"""Keywords that aren't taken, and what to do instead."""

OF_THE_WHOLE = ("$id", "$schema")
"""Keywords that may stand at the top alone; there they change nothing."""

LONGEST_WAY = 100
"""Schemas about the same value that lead to each other."""

MISFITS, LONGEST = 10, 300
"""Reasons that are given at once, and characters of each."""

IN_PLACE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas")
"""Keywords whose schemas are about the same value."""

Keyword = Callable[[Any, Any, Json, Schema], Iterator[Any] | None]

_left: ContextVar[list[int]] = ContextVar("checks that are left")


class UnusableSchema(ValueError):
    """The text says what was expected, what is there and what to do."""


class _TooManyChecks(Exception):
    pass


def check_schema(schema: Schema) -> None:
    """Raises UnusableSchema for one that no object can be asked for by."""
    if (size := len(compact(schema).encode())) > LIMIT:
        raise UnusableSchema(f"expected a schema of at most {LIMIT:,} bytes, not {size:,}: shorten its descriptions")
    if (parts := _parts(schema)) > PARTS:
        raise UnusableSchema(f"expected at most {PARTS:,} objects and lists in the schema, not {parts:,}: simplify it")
    if schema.get("type") != "object":
        raise UnusableSchema(
            f"expected type: object at the top of the schema, not {schema.get('type')!r}: put a list or a text into a "
            "field of an object"
        )
    if schema.get("$schema", DIALECT).rstrip("#") != DIALECT:
        raise UnusableSchema(f"expected $schema to be {DIALECT}, not {schema['$schema']!r}: write it as of 2020-12")
    _check_shape(schema)
    _check_parts(bare(schema))


def misfits(value: Json, schema: Schema, *, name: str) -> list[str]:
    """The reasons why a value, which is called `name`, doesn't fit; none if it does."""
    if problem := unstorable(value):
        return [f"{name}: {problem}"]
    found, token = list[str](), _left.set([CHECKS])
    try:
        for error in _validator(bare(schema)).iter_errors(value):
            found.append(_reason(error, name))
            if len(found) == MISFITS:
                break
    except RecursionError:
        return [f"{name}: its schema refers to itself without end"]
    except _TooManyChecks:
        return [f"{name}: expected a value for which {CHECKS:,} checks are enough: write less, or simplify its schema"]
    finally:
        _left.reset(token)
    return found


def bare(schema: Schema) -> dict[str, Json]:
    """The schema without what names it, so that each reference in it is one into itself."""
    return {key: value for key, value in schema.items() if key not in OF_THE_WHOLE}


def target(schema: Schema, reference: Json) -> Json:
    """What a reference like `#/$defs/name` leads to. Raises UnusableSchema if that is no schema of this one."""
    found: Json = schema
    if not isinstance(reference, str) or (reference != "#" and not reference.startswith("#/")):
        raise UnusableSchema(
            f"expected a $ref like #/$defs/name, not {reference!r}: nothing is fetched, put it into $defs"
        )
    for step in reference[2:].split("/") if reference != "#" else ():
        key = step.replace("~1", "/").replace("~0", "~")
        found = found.get(key) if isinstance(found, dict) else None
    if not isinstance(found, dict | bool):
        raise UnusableSchema(f"expected a schema at {reference}, there is none: define it in $defs")
    return found


def _parts(value: Json) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + sum(map(_parts, inner))


def _check_shape(schema: Schema) -> None:
    """By the schema of schemas."""
    jsonschema: Any = import_module("jsonschema")
    try:
        jsonschema.Draft202012Validator.check_schema(bare(schema))
    except jsonschema.SchemaError as error:
        raise UnusableSchema(f"expected a JSON Schema: {_reason(error, 'schema')}") from error


def _check_parts(schema: Schema) -> None:
    """Each schema in it, also where only a reference leads."""
    of_2020: Any = import_module("referencing.jsonschema").DRAFT202012
    waiting, seen, ended = [schema], set[int](), set[int]()
    while waiting:
        part = waiting.pop()
        if isinstance(part, bool) or id(part) in seen:
            continue
        seen.add(id(part))
        if problem := next((f"{key} at its place: {OTHERWISE[key]}" for key in OTHERWISE if key in part), None):
            raise UnusableSchema(f"expected a schema without {problem}")
        if key := next((key for key in OF_THE_WHOLE if key in part), None):
            raise UnusableSchema(f"expected {key} at the top of the schema alone: remove it from what stands in it")
        waiting += of_2020.subresources_of(part)
        if "$ref" in part:
            waiting.append(target(schema, part["$ref"]))
        _check_end(schema, part, frozenset(), ended)


def _check_end(schema: Schema, part: Json, under_way: frozenset[int], ended: set[int]) -> None:
    """No value can be checked by a schema that is its own part, without a field between."""
    if not isinstance(part, dict) or id(part) in ended:
        return
    if id(part) in under_way or len(under_way) > LONGEST_WAY:
        raise UnusableSchema("expected a schema with an end, it refers to itself: put a field or a list between")
    for each in _in_place(schema, part):
        _check_end(schema, each, under_way | {id(part)}, ended)
    ended.add(id(part))


def _in_place(schema: Schema, part: Schema) -> Iterator[Json]:
    if "$ref" in part:
        yield target(schema, part["$ref"])
    for key in IN_PLACE:
        given = part.get(key)
        match given:
            case dict():
                yield from given.values() if key == "dependentSchemas" else (given,)
            case list():
                yield from given


def _validator(schema: Schema) -> Any:
    """Draft 2020-12; it counts its checks, and finds nothing outside of the schema."""
    return _counting()(schema, registry=import_module("referencing").Registry())


@cache
def _counting() -> Any:
    jsonschema: Any = import_module("jsonschema")
    known = {**jsonschema.Draft202012Validator.VALIDATORS, "uniqueItems": _unique}
    counted = {name: _counted(keyword) for name, keyword in known.items()}
    return jsonschema.validators.extend(jsonschema.Draft202012Validator, counted)


def _counted(keyword: Keyword) -> Keyword:
    """The same keyword, which takes as many of the checks that are left as its value has members."""

    def check(validator: Any, value: Any, instance: Json, schema: Schema) -> Iterator[Any]:
        left = _left.get()
        left[0] -= 1 + (len(value) if isinstance(value, list | dict) else 0)
        if left[0] < 0:
            raise _TooManyChecks
        yield from keyword(validator, value, instance, schema) or ()

    return check


def _unique(validator: Any, wanted: Any, instance: Json, schema: Schema) -> Iterator[Any]:
    """In linear time, unlike jsonschema's own."""
    if wanted and isinstance(instance, list) and len(set(map(canonical, instance))) < len(instance):
        yield import_module("jsonschema").ValidationError("expected no two items that are equal")


def _reason(error: Any, name: str) -> str:
    """Where it doesn't fit, and why; of alternatives the nearest one."""
    where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path)
    nearest = import_module("jsonschema").exceptions.best_match(error.context) if error.context else None
    text = f"{name}{where}: {_short(error.message)}"
    return f"{text} ({_short(nearest.message)})" if nearest is not None else text


def _short(text: str) -> str:
    """A value may stand at its beginning, the reason at its end."""
    half = LONGEST // 2
    return text if len(text) <= LONGEST else f"{text[:half]} … {text[-half:]}"
