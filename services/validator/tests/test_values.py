"""Values that are easily taken for one another, paths that are hard to read, outputs that are too much."""

import json
import time
from typing import Any

import pytest

from rota_contracts.json_values import MISSING, at, shown
from rota_contracts.messages.text import Text
from rota_contracts.messages.validation import Assertion, CheckRules, ValidationResult
from validator.adapters.in_memory import InMemoryOutputs, InMemoryPatterns, ScriptedScripts
from validator.check_output import CheckOutput
from validator.registry import Kinds


async def verdict(output: str, **rule: Any) -> ValidationResult:
    check = CheckOutput(InMemoryOutputs(), InMemoryPatterns(), ScriptedScripts(), Kinds())
    asked = CheckRules(rules=[Assertion.model_validate(rule)], output=Text(inline=output))
    return (await check(asked)).verdict


@pytest.mark.parametrize(
    ("written", "value", "same"),
    [
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
    ],
)
async def test_json_equality_holds_in_parts_too(written: str, value: Any, same: bool) -> None:
    for negate in (False, True):
        rule = {"type": "json_path", "path": "a", "value": value, "negate": negate}
        assert (await verdict(f'{{"a": {written}}}', **rule)).passed is (same is not negate)


HARD = {"a.b": {"c": 1}, "x[0]": 2, "it's": 3, 'q"q': 4, "": 5, "first name": 6, "ключ": [7], "0": 8, "*": 9, "$x": 10}


@pytest.mark.parametrize(
    ("path", "value"),
    [
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
    ],
)
def test_a_path_leads_to_any_key(path: str, value: Any) -> None:  # VA-05
    assert at(HARD, path) == value


@pytest.mark.parametrize("path", ["a..b", "a[", "a]", "a[]", "*", "a[*]", "a[?(@.b)]", "a[0:2]", "['a'", "$."])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="expected a path like"):
        at(HARD, path)


LARGE = json.dumps(
    {"rows": [{"id": number, "name": "x" * 40} for number in range(75_000)], "end": "ö" * 10}, ensure_ascii=False
)


@pytest.mark.parametrize(
    ("output", "rule", "passed"),
    [
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
    ],
    ids=lambda value: str(value)[:40],
)
async def test_five_megabytes_are_judged_in_bounded_time_and_words(
    output: str, rule: dict[str, Any], passed: bool
) -> None:
    started = time.perf_counter()
    found = await verdict(output, **rule)
    assert time.perf_counter() - started < 3
    assert found.passed is passed
    assert len(found.model_dump_json()) < 3000


@pytest.mark.parametrize("rule", [{"type": "equals"}, {"type": "json_path", "path": "$"}])
async def test_deep_nesting_is_a_verdict(rule: dict[str, Any]) -> None:
    deep = "[" * 900 + "]" * 900
    found = await verdict(deep, **rule, value=json.loads(deep))
    assert "nested too deeply" in found.issues[0]


async def test_half_a_character_in_an_output_still_makes_an_answer() -> None:
    found = await verdict(r'{"a": "\ud83d"}', type="json_path", path="a", value="x")
    assert 'got "\ufffd"' in found.model_dump_json().replace('\\"', '"')


def test_a_value_is_shown_by_its_beginning() -> None:
    assert shown(MISSING) == "nothing"
    assert shown("ö") == '"ö"'
    assert shown(["x" * 1000]).endswith("… (1004 characters)")
