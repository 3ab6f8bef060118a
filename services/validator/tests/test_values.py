"""Values that are easily confused, unusual paths, and large outputs."""

import json
import time
from typing import Any

import pytest
from services.validator.tests.harness import verdict

from rota_contracts.json_values import MISSING, at, shown

WRITTEN = [
    # DEC-25
    ("1e2", 100, True),
    ("-0", 0, True),
    ("0.1", 0.1, True),
    ("9007199254740993", 9007199254740992.0, False),
    ("9007199254740993", 9007199254740993, True),
    ("1", True, False),
    ("true", 1, False),
    ("false", 0, False),
    ("null", None, True),
    ("null", False, False),
    ("null", "", False),
    ('""', None, False),
    ('"1"', 1, False),
    ("[]", {}, False),
    ("[null]", [], False),
    ("[[true]]", [[1]], False),
    ('"ä"', "a\u0308", False),
    ('"\\u00e4"', "ä", True),
    ('"😀"', "\U0001f600", True),
    ('"\\ud83d"', "\ufffd", True),
]


async def test_the_value_at_a_path_is_compared_by_json_equality() -> None:  # DEC-25
    wrong = [
        (written, value, negate)
        for written, value, same in WRITTEN
        for negate in (False, True)
        if (await verdict(f'{{"a": {written}}}', type="json_path", path="a", value=value, negate=negate)).passed
        is not (same != negate)
    ]
    assert wrong == []


HARD = {"a.b": {"c": 1}, "x[0]": 2, "it's": 3, 'q"q': 4, "": 5, "first name": 6, "ключ": [7], "0": 8, "*": 9, "$x": 10}


PATHS = [
    ("$", HARD),
    ("['a.b'].c", 1),
    ("$['a.b']['c']", 1),
    ('["a.b"]["c"]', 1),
    ("'a.b'.c", 1),
    (".'a.b'.c", 1),
    ("['x[0]']", 2),
    ("it's", 3),
    (r"['it\'s']", 3),
    (r'["q\"q"]', 4),
    ("['']", 5),
    ("first name", 6),
    ("[first name]", 6),
    ("$.ключ[0]", 7),
    ("ключ.0", 7),
    ("ключ['0']", MISSING),
    ("ключ[-1]", MISSING),
    ("0", 8),
    ("[0]", 8),
    ("['*']", 9),
    ("$x", 10),
    ("a.b", MISSING),
    ("ключ[0].deeper", MISSING),
]


def test_a_path_reaches_any_key() -> None:  # VA-05
    assert [(path, at(HARD, path)) for path, value in PATHS if at(HARD, path) != value] == []


def test_a_malformed_path_is_refused() -> None:
    for path in ("a..b", "a[", "a]", "a[]", "*", "a[*]", "a[?(@.b)]", "a[0:2]", "['a'", "$."):
        with pytest.raises(ValueError, match="expected a path like"):
            pytest.fail(f"{path} leads to {at(HARD, path)}")


LARGE = json.dumps(
    {"rows": [{"id": number, "name": "x" * 40} for number in range(75_000)], "end": "ö" * 10}, ensure_ascii=False
)


LARGE_OUTPUTS = [
    (LARGE, {"type": "json_path", "path": "rows[74999].id", "value": 74_999}, True),
    (LARGE, {"type": "equals", "value": {}}, False),
    (LARGE, {"type": "contains", "value": "ööö"}, True),
    (LARGE, {"type": "contains", "path": "rows", "value": '"id":74999'}, True),
    (LARGE, {"type": "json", "value": "object"}, True),
    (LARGE, {"type": "length", "value": {"unit": "words", "max": 100}}, False),
    ("`" * 5_000_000, {"type": "json_path", "path": "a", "value": 1}, False),
    ("[" * 5_000_000, {"type": "type", "value": "array"}, False),
    (('["' + "x" * 2400 + '",') * 2000, {"type": "json_path", "path": "[0]", "value": 1}, False),
    (" " * 5_000_000, {"type": "length", "value": {"unit": "words", "min": 1}}, False),
]


async def test_five_megabytes_are_checked_within_seconds_and_quoted_in_part() -> None:
    for output, rule, passed in LARGE_OUTPUTS:
        started = time.perf_counter()
        found = await verdict(output, **rule)
        assert time.perf_counter() - started < 3, (output[:40], rule)
        assert found.passed is passed, (output[:40], rule)
        assert len(found.model_dump_json()) < 3000, (output[:40], rule)


async def test_an_output_nested_too_deeply_fails_its_rules() -> None:
    deep = "[" * 900 + "]" * 900
    rules: list[dict[str, Any]] = [{"type": "equals"}, {"type": "json_path", "path": "$"}]
    found = [await verdict(deep, **rule, value=json.loads(deep)) for rule in rules]
    assert [each.issues for each in found if "nested too deeply" not in each.issues[0]] == []


async def test_half_a_character_in_an_output_still_makes_a_reply() -> None:
    found = await verdict(r'{"a": "\ud83d"}', type="json_path", path="a", value="x")
    assert 'got "\ufffd"' in found.model_dump_json().replace('\\"', '"')


def test_a_long_value_is_cut() -> None:
    assert shown(MISSING) == "nothing"
    assert shown("ö") == '"ö"'
    assert shown(["x" * 1000]).endswith("… (1004 characters)")
