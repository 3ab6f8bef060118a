"""Changes of a schema: those that break messages in use, those that need the readers first, and the harmless ones."""

import copy
from collections.abc import Iterator
from typing import Any

from rota_contracts.tooling.compat import findings
from rota_contracts.tooling.schema_diff import UNDERSTOOD
from rota_contracts.tooling.schemas import schemas

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "integer", "minimum": 1, "maximum": 10}
NULL: Schema = {"type": "null"}


def record(required: tuple[str, ...] = (), **properties: Any) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required)}


def referring(name: Schema) -> Schema:
    return record(part={"$ref": "#/$defs/Part"}) | {"$defs": {"Part": record(name=name)}}


def breaks(old: Schema, new: Schema) -> list[str]:
    return [str(each) for each in findings({"thing": old}, {"thing": new}) if each.breaking]


def notices(old: Schema, new: Schema) -> list[str]:
    return [str(each) for each in findings({"thing": old}, {"thing": new}) if not each.breaking]


BREAKING: dict[str, tuple[Schema, Schema, str]] = {
    "a property removed": (record(a=TEXT), record(), '$.a: property removed: was "string", is absent'),
    "a property made required": (
        record(a=TEXT),
        record(("a",), a=TEXT),
        '$.a: property made required: was "optional", is "required"',
    ),
    "a new required property": (
        record(a=TEXT),
        record(("b",), a=TEXT, b=TEXT),
        '$.b: new property is required: was absent, is "required"',
    ),
    "a type changed": (record(a=TEXT), record(a=NUMBER), '$.a: type changed: was "string", is "integer"'),
    "a number made an integer": (
        record(a={"type": "number"}),
        record(a={"type": "integer"}),
        '$.a: type changed: was "number", is "integer"',
    ),
    "a choice removed": (
        record(a={"anyOf": [TEXT, NULL]}),
        record(a=TEXT),
        '$.a: type narrowed: was ["string", "null"], is ["string"]',
    ),
    "a type removed from a list of types": (
        record(a={"type": ["string", "null"]}),
        record(a=TEXT),
        '$.a: type narrowed: was ["string", "null"], is ["string"]',
    ),
    "any value made one type": (record(a={}), record(a=TEXT), '$.a: type narrowed: was any value, is "string"'),
    "an enum value removed": (
        record(a={"enum": ["x", "y"], "type": "string"}),
        record(a={"enum": ["x"], "type": "string"}),
        '$.a: enum value removed (["y"]): was ["x", "y"], is ["x"]',
    ),
    "a text limited to an enum": (
        record(a=TEXT),
        record(a={"enum": ["x"], "type": "string"}),
        '$.a: limited to fixed values: was any value, is ["x"]',
    ),
    "a const changed": (
        record(a={"const": "robot"}),
        record(a={"const": "person"}),
        '$.a: const changed: was "robot", is "person"',
    ),
    "a minimum raised": (record(a=NUMBER), record(a=NUMBER | {"minimum": 2}), "$.a: minimum tightened: was 1, is 2"),
    "a maximum lowered": (record(a=NUMBER), record(a=NUMBER | {"maximum": 9}), "$.a: maximum tightened: was 10, is 9"),
    "a maximum added": (
        record(a=TEXT),
        record(a=TEXT | {"maxLength": 5}),
        "$.a: maxLength tightened: was absent, is 5",
    ),
    "a pattern added": (
        record(a=TEXT),
        record(a=TEXT | {"pattern": "^x"}),
        '$.a: pattern changed: was absent, is "^x"',
    ),
    "a pattern changed": (
        record(a=TEXT | {"pattern": "^x"}),
        record(a=TEXT | {"pattern": "^y"}),
        '$.a: pattern changed: was "^x", is "^y"',
    ),
    "a format added": (
        record(a=TEXT),
        record(a=TEXT | {"format": "date-time"}),
        '$.a: format changed: was absent, is "date-time"',
    ),
    "a change behind a reference": (
        referring(TEXT),
        referring(NUMBER),
        '$.part.name: type changed: was "string", is "integer"',
    ),
    "a reference replaced by something narrower": (
        referring(TEXT),
        record(part=record(name=TEXT | {"maxLength": 5})),
        "$.part.name: maxLength tightened: was absent, is 5",
    ),
    "a change inside one of several choices": (
        record(a={"anyOf": [record(x=TEXT), NULL]}),
        record(a={"anyOf": [record(x=NUMBER), NULL]}),
        '$.a.x: type changed: was "string", is "integer"',
    ),
    "a change of an array's items": (
        record(a={"type": "array", "items": record(x=TEXT)}),
        record(a={"type": "array", "items": record()}),
        '$.a[].x: property removed: was "string", is absent',
    ),
    "an array limited to some items": (
        record(a={"type": "array", "items": {}}),
        record(a={"type": "array", "items": TEXT}),
        '$.a[]: type narrowed: was any value, is "string"',
    ),
    "a change of a map's values": (
        {"type": "object", "additionalProperties": TEXT},
        {"type": "object", "additionalProperties": NUMBER},
        '$.*: type changed: was "string", is "integer"',
    ),
    "unknown properties forbidden": (
        record(a=TEXT),
        record(a=TEXT) | {"additionalProperties": False},
        '$.*: unknown properties forbidden: was "allowed", is "forbidden"',
    ),
    "a map's key removed": (
        {"type": "object", "propertyNames": {"enum": ["goals", "run"]}},
        {"type": "object", "propertyNames": {"enum": ["goals"]}},
        '$.<name>: enum value removed (["run"]): was ["goals", "run"], is ["goals"]',
    ),
    "an unknown keyword": (
        record(a=TEXT),
        record(a=TEXT) | {"dependentRequired": {"a": ["b"]}},
        '$: dependentRequired changed: was absent, is {"a": ["b"]}',
    ),
}

READERS_FIRST: dict[str, tuple[Schema, Schema, str]] = {
    "an enum value added": (
        record(a={"enum": ["x"], "type": "string"}),
        record(a={"enum": ["x", "y"], "type": "string"}),
        'thing $.a: enum value added (["y"]): was ["x"], is ["x", "y"]',
    ),
    "a choice added": (
        record(a=TEXT),
        record(a={"anyOf": [TEXT, NULL]}),
        'thing $.a: type widened: was ["string"], is ["string", "null"]',
    ),
    "an integer made a number": (
        record(a={"type": "integer"}),
        record(a={"type": "number"}),
        'thing $.a: type widened: was "integer", is "number"',
    ),
    "a type made any value": (record(a=TEXT), record(a={}), 'thing $.a: type widened: was "string", is any value'),
    "a property made optional": (
        record(("a",), a=TEXT),
        record(a=TEXT),
        'thing $.a: property made optional: was "required", is "optional"',
    ),
    "a maximum raised": (
        record(a=NUMBER),
        record(a=NUMBER | {"maximum": 11}),
        "thing $.a: maximum loosened: was 10, is 11",
    ),
    "a minimum removed": (
        record(a=NUMBER),
        record(a={"type": "integer", "maximum": 10}),
        "thing $.a: minimum loosened: was 1, is absent",
    ),
    "a pattern removed": (
        record(a=TEXT | {"pattern": "^x"}),
        record(a=TEXT),
        'thing $.a: pattern loosened: was "^x", is absent',
    ),
    "an enum made any text": (
        record(a={"enum": ["x"], "type": "string"}),
        record(a=TEXT),
        'thing $.a: no longer limited to fixed values: was ["x"], is any value',
    ),
    "unknown properties allowed": (
        record(a=TEXT) | {"additionalProperties": False},
        record(a=TEXT),
        'thing $.*: unknown properties allowed: was "forbidden", is "allowed"',
    ),
}

ALLOWED: dict[str, tuple[Schema, Schema]] = {
    "nothing": (record(a=TEXT), record(a=TEXT)),
    "a new optional property": (record(a=TEXT), record(a=TEXT, b=TEXT)),
    "other words": (record(a=TEXT) | {"description": "old"}, record(a=TEXT | {"title": "A"}) | {"description": "new"}),
    "another default": (record(a=TEXT | {"default": "x"}), record(a=TEXT | {"default": "y"})),
    "another order": (record(a={"anyOf": [TEXT, NULL]}), record(a={"anyOf": [NULL, TEXT]})),
    "a shape moved behind a reference": (record(part=record(name=TEXT)), referring(TEXT)),
}


def test_a_breaking_change_is_refused_with_its_path_and_both_values() -> None:
    found = {what: breaks(old, new) for what, (old, new, _) in BREAKING.items()}
    assert found == {what: [f"thing {text}"] for what, (*_, text) in BREAKING.items()}


def test_a_change_that_old_readers_would_refuse_is_allowed_with_a_notice() -> None:
    found = {what: (breaks(old, new), notices(old, new)) for what, (old, new, _) in READERS_FIRST.items()}
    assert found == {what: ([], [text]) for what, (*_, text) in READERS_FIRST.items()}


def test_a_change_without_consequence_is_not_mentioned() -> None:
    assert {what for what, (old, new) in ALLOWED.items() if findings({"thing": old}, {"thing": new})} == set()


def test_a_new_channel_is_allowed() -> None:
    assert findings({}, {"thing.v1.json": record()}) == []


def test_a_schema_that_refers_to_itself_is_compared() -> None:
    def tree(name: Schema) -> Schema:
        node = record(name=name, children={"type": "array", "items": {"$ref": "#/$defs/Node"}})
        return record(root={"$ref": "#/$defs/Node"}) | {"$defs": {"Node": node}}

    assert breaks(tree(TEXT), tree(NUMBER)) == ['thing $.root.name: type changed: was "string", is "integer"']


def test_a_change_of_a_shared_part_is_found_wherever_it_is_used() -> None:
    old, new = schemas(), copy.deepcopy(schemas())
    assert findings(old, new) == []
    for schema in new.values():
        schema.get("$defs", {}).get("DeliveryContent", {}).get("properties", {}).pop("attachments", None)
    assert {finding.schema for finding in findings(old, new) if finding.breaking} == {
        "delivery.accepted.v1.json",
        "delivery.completed.v1.json",
        "delivery.requested.v1.json",
        "rpc/executor.read_execution.answer.json",
    }


def test_no_schema_uses_a_keyword_that_is_only_compared_as_a_whole() -> None:
    used = {keyword for schema in schemas().values() for keyword in keywords(schema)}
    assert used - UNDERSTOOD == set()


def keywords(schema: Any) -> Iterator[str]:
    if not isinstance(schema, dict):
        return
    yield from schema
    parts = [schema.get(key) for key in ("items", "additionalProperties", "propertyNames")]
    parts += [part for key in ("properties", "$defs") for part in schema.get(key, {}).values()]
    parts += [part for key in ("anyOf", "oneOf") for part in schema.get(key, [])]
    for part in parts:
        yield from keywords(part)
