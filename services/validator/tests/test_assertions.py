"""The first layer: the built-in assertions, and the issues of those that fail."""

import json

from services.validator.tests.harness import check, verdict

from rota_contracts.messages.validation import Assertion
from validator.adapters.in_memory import in_memory
from validator.kinds import Result

REPORT = "# Report\n\nThe total is 42 [1]."
DATA = json.dumps({"data": {"count": 10, "name": "Ada", "ok": True, "none": None, "items": [{"id": 7}, {"id": 8}]}})
DEEP = "[" * 700 + "]" * 700
FENCED = f"Here you are:\n```json\n{DATA}\n```"


SCRIPTS = {
    "yes": lambda given: Result(True),
    "counts": lambda given: Result(len(given["json"]["items"]) == given["value"], f"there are {len(given['json'])}"),
    "part": lambda given: Result(given == {"output": "Ada", "value": None, "json": "Ada"}, repr(given)),
    "nothing": lambda given: Result(given == {"output": "", "value": None}, repr(given)),
    "breaks": lambda given: Result(1 // 0 == 1),
}
ADAPTERS = in_memory(scripts=SCRIPTS)


EQUALITY = [
    # VA-02, DEC-25
    ("success", "success", True),
    ("success.", "success", False),
    ("Success", "success", False),
    ('"success"', "success", True),
    ("42", 42, True),
    ("42", 42.0, True),
    ("42.0", 42, True),
    ("42", "42", True),
    ("forty-two", 42, False),
    ("true", True, True),
    ("true", 1, False),
    ("1", True, False),
    ("0", False, False),
    ("[true]", [1], False),
    ('{"a": 1, "b": [1, 2]}', {"b": [1.0, 2], "a": 1}, True),
    ('{"a": 1, "b": [1, 2]}', {"b": [2, 1], "a": 1}, False),
    ('{"a": 1}', {"a": 1, "b": None}, False),
    ("[1]", [1, 1], False),
    ('```json\n{"a": 1}\n```', {"a": 1}, True),
    ("null", None, True),
    ("nothing at all", None, False),
    # DEC-40
    ("\n  success \n", "success", True),
    ("success", "success\n", True),
    ('Sure! Here: {"status": "ok"} done', {"status": "ok"}, False),
    (' \n```\n{"status": "ok"}\n```\n', {"status": "ok"}, True),
    ('Look:\n```\n{"status": "ok"}\n```', {"status": "ok"}, False),
]


async def test_equals_is_json_equality() -> None:  # VA-02, DEC-25, DEC-40
    wrong = [
        (output, value, negate)
        for output, value, holds in EQUALITY
        for negate in (False, True)
        if (await verdict(output, type="equals", value=value, negate=negate)).passed is not (holds != negate)
    ]
    assert wrong == []


SEARCHES = [
    # VA-03, VA-04
    ({"type": "contains", "value": "total"}, True),
    ({"type": "contains", "value": "Total"}, False),
    ({"type": "contains", "value": 42}, True),
    ({"type": "not_contains", "value": "error"}, True),
    ({"type": "not_contains", "value": "total"}, False),
    ({"type": "not_contains", "value": "total", "negate": True}, True),
    # VA-06
    ({"type": "regex", "value": "^# [A-Z]"}, True),
    ({"type": "regex", "value": r"is \d+ "}, True),
    ({"type": "regex", "value": "^The"}, False),
    ({"type": "regex", "value": "(?m)^The"}, True),
    ({"type": "regex", "value": "^The", "negate": True}, True),
]


async def test_text_is_searched() -> None:  # VA-03, VA-04, VA-06
    assert [rule for rule, holds in SEARCHES if (await verdict(REPORT, **rule)).passed is not holds] == []


AT_PATHS = [
    # VA-05, DEC-26
    ("data.count", 10, True),
    ("data.count", 10.0, True),
    ("data.count", "10", False),
    ("$.data.count", 10, True),
    ("data.ok", True, True),
    ("data.ok", 1, False),
    ("data.items[1].id", 8, True),
    ("data.items.1.id", 8, True),
    ("$['data']['items'][0]['id']", 7, True),
    ("data.items[0]", {"id": 7}, True),
    ("data.items[2]", None, True),
    ("data.items[2].id", 7, False),
    ("data.items[-1]", {"id": 8}, False),
    (f"data.items[{'9' * 5000}]", None, True),
    ("data.none", None, True),
    ("data.missing", None, True),
    ("data.missing.deeper", None, True),
    ("data.missing", "", False),
    ("data.count.deeper", None, True),
]


async def test_json_path_compares_the_value_at_the_path() -> None:  # VA-05, DEC-26
    wrong = [
        (output, path, value)
        for output in (DATA, FENCED)
        for path, value, holds in AT_PATHS
        if (await verdict(output, type="json_path", path=path, value=value)).passed is not holds
    ]
    assert wrong == []


async def test_the_path_of_the_whole_is_a_dollar_sign() -> None:
    assert (await verdict("[1]", type="json_path", path="$", value=[1])).passed
    assert (await verdict('{"$id": 1}', type="json_path", path="$id", value=1)).passed


TYPES = [
    # VA-07
    (REPORT, "string"),
    ('"text"', "string"),
    ("", "string"),
    ("42", "number"),
    ("4.2", "number"),
    ("true", "boolean"),
    ("[1]", "array"),
    ("```\n[1]\n```", "array"),
    (DATA, "object"),
    ("null", "null"),
]


async def test_an_output_has_one_json_type() -> None:  # VA-07
    names = {"string", "number", "boolean", "array", "object", "null"}
    assert [case for case in TYPES if not (await verdict(case[0], type="type", value=case[1])).passed] == []
    plain = [case for case in TYPES if case[0] != REPORT and not case[0].startswith("```")]  # these are also texts
    wrong = [
        (output, other)
        for output, name in plain
        for other in names - {name}
        if (await verdict(output, type="type", value=other)).passed
    ]
    assert wrong == []


PART_TYPES = [
    ("data.count", "number", True),
    ("data.ok", "number", False),
    ("data.ok", "boolean", True),
    ("data.items", "array", True),
    ("data.none", "null", True),
    ("data.name", "string", True),
    ("data.name", "object", False),
    ("data.missing", "null", False),
]


async def test_type_checks_a_part() -> None:  # VA-07, DEC-26
    found = [(await verdict(DATA, type="type", path=path, value=name)).passed for path, name, _ in PART_TYPES]
    assert found == [holds for *_, holds in PART_TYPES]


PARTS = [
    ({"type": "equals", "path": "data.name", "value": "Ada"}, True),
    ({"type": "equals", "path": "data.missing", "value": None}, True),
    ({"type": "contains", "path": "data.name", "value": "Ad"}, True),
    ({"type": "contains", "path": "data.name", "value": "count"}, False),
    ({"type": "contains", "path": "data.items", "value": '{"id":7}'}, True),
    ({"type": "not_contains", "path": "data.missing", "value": "null"}, True),
    ({"type": "regex", "path": "data.name", "value": "^A.a$"}, True),
]


async def test_every_type_can_check_a_part() -> None:
    assert [rule for rule, holds in PARTS if (await verdict(DATA, **rule)).passed is not holds] == []


UNUSABLE = [
    (REPORT, {"type": "vibes"}, "assertion type 'vibes' isn't known here: known are agent, contains, equals, "),
    (REPORT, {"type": "script"}, "no `script`"),
    (REPORT, {"type": "script", "script": "scripts.validate"}, "there is no scripts.validate.py: add it"),
    (REPORT, {"type": "script", "script": "breaks"}, "the script failed: ZeroDivisionError"),
    (REPORT, {"type": "agent"}, "no `use`"),
    (REPORT, {"type": "length", "value": 3}, 'its `value` must be like {"unit": "words"'),
    (REPORT, {"type": "json", "value": "number?"}, "one of string, number, boolean, array, object, null, not"),
    (DATA, {"type": "json_path", "path": "data..count", "value": 1}, "its `path` can't be read: expected a path"),
    (DATA, {"type": "json_path", "path": "data.items[*]", "value": 1}, "its `path` can't be read"),
    (DATA, {"type": "json_path", "path": "data[", "value": 1}, "its `path` can't be read"),
    (
        REPORT,
        {"type": "regex", "value": "(unclosed"},
        'match the pattern "(unclosed", but the pattern can\'t be used',
    ),
    (REPORT, {"type": "regex", "value": 42}, "a regular expression in a text, not 42"),
    (REPORT, {"type": "contains"}, "no `value`"),
    (REPORT, {"type": "type", "value": "integer"}, "one of string, number, boolean, array, object, null, not"),
    (REPORT, {"type": "json_path", "value": 1}, "no `path`"),
    ("no JSON", {"type": "json_path", "path": "a", "value": None}, "the output holds no JSON"),
    (DATA, {"type": "type", "path": "data.missing", "value": "null"}, "nothing is at `data.missing`"),
    (DEEP, {"type": "equals", "value": json.loads(DEEP)}, "the output is nested too deeply"),
]


async def test_an_assertion_that_cannot_be_tried_fails_with_the_reason_negated_or_not() -> None:  # VA-10
    found = [
        (reason, await verdict(output, adapters=ADAPTERS, **{"negate": negate, **rule}))
        for output, rule, reason in UNUSABLE
        for negate in (False, True)
    ]
    assert [reason for reason, each in found if each.passed or reason not in each.issues[0]] == []


SCRIPT_RULES = [
    # VA-08
    ("", {"script": "yes"}, True),
    ('{"items": [1, 2]}', {"script": "counts", "value": 2}, True),
    ('{"items": [1, 2]}', {"script": "counts", "value": 3}, False),
    (DATA, {"script": "part", "path": "data.name"}, True),
    (DATA, {"script": "nothing", "path": "data.missing"}, True),
]


async def test_a_script_reads_the_output_or_the_part_and_the_value() -> None:  # VA-08
    wrong = [
        (rule, negate)
        for output, rule, holds in SCRIPT_RULES
        for negate in (False, True)
        if (await verdict(output, adapters=ADAPTERS, type="script", negate=negate, **rule)).passed
        is not (holds != negate)
    ]
    assert wrong == []


async def test_a_scripts_message_becomes_the_issue() -> None:
    found = await verdict('{"items": []}', adapters=ADAPTERS, type="script", script="counts", value=1)
    assert found.issues == ["expected the output to pass the script counts, but there are 1"]


async def test_an_agents_assertion_is_left_to_the_second_layer() -> None:  # VA-09
    rule = Assertion(type="agent", use="experts.checker", value="is it kind?", negate=True)
    found = await check(REPORT, rule, '{"use": "validator", "type": "agent"}', "Be kind.")
    assert found.open_rules == [
        '{"type":"agent","value":"is it kind?","use":"experts.checker","negate":true}',
        '{"type":"agent","use":"validator"}',
        "Be kind.",
    ]
    assert (found.verdict.passed, found.verdict.details) == (True, "")


async def test_an_issue_names_the_expected_and_the_actual_value() -> None:
    found = await verdict(DATA, type="json_path", path="data.count", value=11)
    assert found.issues == ["expected `data.count` of the output to equal 11, got 10"]
    assert found.suggestions == ["Make `data.count` of the output equal 11."]


async def test_the_issue_of_a_negated_assertion_is_negated() -> None:
    found = await verdict(REPORT, type="contains", value="total", negate=True)
    assert found.issues[0].startswith('expected the output not to contain "total", got "# Report')
    assert found.suggestions == ['Make the output not contain "total".']


async def test_a_long_output_is_quoted_by_its_beginning() -> None:
    found = await verdict("x" * 10_000, type="contains", value="y")
    assert len(found.issues[0]) < 400
    assert "(10000 characters)" in found.issues[0]


async def test_an_assertions_own_message_replaces_the_issue() -> None:
    found = await verdict(REPORT, type="contains", value="profit", message="Name the profit, please.")
    assert found.issues == ["Name the profit, please."]


async def test_the_verdict_counts_the_rules_that_hold() -> None:  # VA-11
    rules = [{"type": "contains", "value": word} for word in ("total", "42", "profit", "Report")]
    found = (await check(REPORT, *rules)).verdict
    assert (found.passed, found.complete, found.score, found.need_reply) == (False, False, 0.75, False)
    assert found.details.startswith('**Rules: 3 of 4 hold.**\n\n- [x] the output to contain "total"')
    assert '- [ ] expected the output to contain "profit"' in found.details


async def test_an_output_without_rules_passes() -> None:
    found = (await check(REPORT)).verdict
    assert (found.passed, found.complete, found.score, found.issues) == (True, True, 1.0, [])


async def test_assertions_in_texts_count_and_sentences_stay_open() -> None:  # VA-01
    rules = ['{"type": "contains", "value": "profit"}', "Be polite.", '{"type": "unknown"}', "42", '["a"]']
    found = await check(REPORT, *rules)
    assert found.open_rules == ["Be polite.", '{"type": "unknown"}', "42", '["a"]']
    assert len(found.verdict.issues) == 1
