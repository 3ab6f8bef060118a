"""Models wrap their JSON in all sorts of things."""

import gc
import time

import pytest

from rota_common.json_text import every_json, extract_json, parse_json, repaired_json
from rota_contracts.model import Json

MISSING = object()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        ("  [1, 2]\n", [1, 2]),
        ("42", 42),
        ('"text"', "text"),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('```\n{"a": 1}\n```', {"a": 1}),
        ('Sure!\n```JSON title=x\n{"a": 1}\n```\nAnything else?', {"a": 1}),
        ('```python\nx = {}\n```\n```json\n{"a": 1}\n```', {"a": 1}),
        ('```json\n{"code": "```py\\nx\\n```"}\n```', {"code": "```py\nx\n```"}),
        ('```json\n{"a": 1}', {"a": 1}),
        ('The answer is {"a": {"b": [1, {"c": 2}]}}, I think.', {"a": {"b": [1, {"c": 2}]}}),
        ('Look: {"text": "a } brace and a \\" quote"} done', {"text": 'a } brace and a " quote'}),
        ('As [1] says, {"a": 1}', {"a": 1}),
        ('Use {curly} words, then {"a": 1}', {"a": 1}),
        ('First {"a": 1}, then {"b": 2}', {"a": 1}),
        ('The list: [{"a": 1}, {"b": 2}]', [{"a": 1}, {"b": 2}]),
        ("only [1, 2] here", [1, 2]),
        ('{"ä": "ö"} und Schluss', {"ä": "ö"}),
    ],
)
def test_json_is_found_wherever_a_model_puts_it(text: str, expected: Json) -> None:  # CL-22
    assert extract_json(text) == expected


@pytest.mark.parametrize(
    "text", ["", "no json", "{not: json}", "{'single': 'quotes'}", "[1, 2", "NaN", '{"a": NaN}', "}{"]
)
def test_text_without_json_gives_the_default(text: str) -> None:
    assert extract_json(text) is None
    assert extract_json(text, MISSING) is MISSING


REPAIRED = {
    '{"a": [1, 2,],}': {"a": [1, 2]},
    "{'a': 'b \"c\"', 'd': ['e', True, None]}": {"a": 'b "c"', "d": ["e", True, None]},
    '{"a": 1, // one\n "b": 2 /* two */, # more\n}': {"a": 1, "b": 2},
    '{"a": "// True, no comment,}"}': {"a": "// True, no comment,}"},
    '{"a": "two\nlines"}': {"a": "two\nlines"},
    'As [1] says, {"a": 1,} then.': {"a": 1},
    '```json\n{"a": 1,}\n```': {"a": 1},
    # what was meant isn't clear, or isn't there
    "{'it's': 1}": None,
    '{"a": "cut off': None,
    '{"a": [1, 2': None,
    '{"a": open("x")}': None,
    '{"a": NaN,}': None,
    "no json": None,
}


def test_small_faults_of_json_are_repaired_and_nothing_is_evaluated() -> None:  # CL-22
    assert {text: repaired_json(text) for text in REPAIRED} == REPAIRED


def test_every_value_in_a_text_is_found() -> None:
    text = 'No: {"a": 1}\n```json\n{"b": 2,}\n```\nor {"c": 3}'
    assert [value for value in every_json(text) if isinstance(value, dict)] == [{"b": 2}, {"a": 1}, {"c": 3}]


def test_null_is_distinct_from_nothing() -> None:
    assert extract_json("null", MISSING) is None


@pytest.mark.parametrize(
    "text",
    [
        *("[" * 100_000, "[1," * 50_000, '{"a":' * 50_000, "{[" * 50_000, "```\n" * 20_000),
        *("`" * 5_000_000, ('["' + "x" * 2400 + '",') * 2000),
    ],
    ids=lambda text: text[:5],
)
def test_hostile_text_is_given_up_quickly(text: str) -> None:
    gc.freeze()  # what other tests of this process keep isn't looked through meanwhile
    started = time.process_time()
    assert (extract_json(text), repaired_json(text)) == (None, None)
    assert time.process_time() - started < 2
    gc.unfreeze()


def test_strict_parsing_takes_the_whole_text_only() -> None:
    assert parse_json("[1]") == [1]
    with pytest.raises(ValueError, match="Extra data"):
        parse_json("[1] and more")
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_json("[" * 100_000)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r'["\ud83d\ude00"]', ["😀"]),
        (r'["\ud83d"]', ["\ufffd"]),
        (r'["\uDE00\ud83d x"]', ["\ufffd\ufffd x"]),
        (r'["\\ud83d"]', [r"\ud83d"]),
        (r'Here: ["\ud83d"], done', ["\ufffd"]),
    ],
)
def test_lone_surrogates_are_replaced(text: str, expected: Json) -> None:
    assert extract_json(text) == expected
