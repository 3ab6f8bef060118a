"""JSON Schemas of teams: which are taken, what fits them, and that both end soon."""

from typing import Any

import pytest

from rota_common.json_schema import LIMIT, UnusableSchema, check_schema, misfits
from rota_contracts.model import Json

TICKET: dict[str, Json] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": "https://example.com/ticket.json",
    "type": "object",
    "properties": {
        "category": {"enum": ["bug", "question"]},
        "urgent": {"type": "boolean"},
        "parts": {"type": "array", "items": {"$ref": "#/$defs/part"}, "uniqueItems": True},
    },
    "required": ["category"],
    "additionalProperties": False,
    "$defs": {
        "part": {"type": "object", "properties": {"parts": {"type": "array", "items": {"$ref": "#/$defs/part"}}}}
    },
}
REFUSED: dict[str, tuple[Any, str]] = {
    "not an object's": ({"type": "array"}, "expected type: object at the top of the schema, not 'array'"),
    "no JSON Schema": ({"type": "object", "properties": {"a": {"type": "txt"}}}, "schema.properties.a.type: 'txt' is"),
    "of another draft": ({"type": "object", "$schema": "http://json-schema.org/draft-07/schema#"}, "as of 2020-12"),
    "too large": ({"type": "object", "description": "x" * LIMIT}, "at most 16,384 bytes"),
    "too many parts": ({"type": "object", "allOf": [{}] * 1000}, "at most 1,000 objects and lists"),
    "remote": ({"type": "object", "properties": {"a": {"$ref": "https://example.com/a"}}}, "nothing is fetched"),
    "remote where a reference leads": (
        {"type": "object", "allOf": [{"$ref": "#/own"}], "own": {"$ref": "file:///etc/passwd"}},
        "nothing is fetched",
    ),
    "to nowhere": ({"type": "object", "allOf": [{"$ref": "#/$defs/part"}]}, "there is none: define it in $defs"),
    "a pattern": ({"type": "object", "properties": {"a": {"pattern": "(a+)+$"}}}, "without pattern at its place: say"),
    "a base of its own": ({"type": "object", "properties": {"a": {"$id": "https://x.y"}}}, "$id at the top"),
    "itself": ({"type": "object", "allOf": [{"$ref": "#"}]}, "it refers to itself"),
    "itself by a field's": ({"type": "object", "$defs": {"a": {"not": {"$ref": "#/$defs/a"}}}}, "it refers to itself"),
}


def test_a_schema_that_a_result_can_fit_is_taken() -> None:
    check_schema(TICKET)
    named = {"type": "object", "properties": {"pattern": {"type": "string"}, "$ref": {"type": "string"}}}
    check_schema(named)
    assert misfits({"pattern": "x", "$ref": "y"}, named, name="result") == []


def test_a_schema_that_none_can_fit_is_refused_with_what_to_do(subtests: pytest.Subtests) -> None:
    for case, (schema, reason) in REFUSED.items():
        with subtests.test(case), pytest.raises(UnusableSchema) as refused:
            check_schema(schema)
        assert reason in str(refused.value), case


def test_the_reasons_say_where_a_value_does_not_fit() -> None:
    fits: Json = {"category": "bug", "parts": [{"parts": [{}]}, {}]}
    assert misfits(fits, TICKET, name="result") == []
    wrong: Json = {"category": "rant", "urgent": "no", "parts": [{"parts": [7]}], "score": 1}
    assert misfits(wrong, TICKET, name="result") == [
        "result.category: 'rant' is not one of ['bug', 'question']",
        "result.urgent: 'no' is not of type 'boolean'",
        "result.parts[0].parts[0]: 7 is not of type 'object'",
        "result: Additional properties are not allowed ('score' was unexpected)",
    ]
    assert misfits({}, TICKET, name="result") == ["result: 'category' is a required property"]
    either = {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}
    assert misfits({"a": 1}, either, name="result") == [
        "result.a: 1 is not valid under any of the given schemas (1 is not of type 'string')"
    ]
    assert misfits({"parts": [{"a": 1}, {"a": 1.0}], "category": "bug"}, TICKET, name="result") == [
        "result.parts: expected no two items that are equal"
    ]


def test_a_check_ends_soon_whatever_the_schema_says() -> None:
    doubled = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    schema: dict[str, Json] = {"type": "object", "$ref": "#/$defs/d0", "$defs": {**doubled, "d40": {}}}
    check_schema(schema)
    assert misfits({}, schema, name="result") == [
        "result: expected a value for which 10,000 checks are enough: write less, or simplify its schema"
    ]


def test_a_value_that_no_store_takes_fits_nothing() -> None:
    assert misfits({"category": "bug", "n": 2**70}, {"type": "object"}, name="result") == [
        "result: expected whole numbers of at most 64 bits; write longer ones as text"
    ]
