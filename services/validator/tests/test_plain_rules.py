"""Plain rules: sentences that are parsed as assertions, and those left to a model."""

from typing import Any

from services.validator.tests.harness import check

from validator.plain_rules import parse_sentence


def words(**limits: int) -> dict[str, Any]:
    return {"type": "length", "value": {"unit": "words", **limits}}


def characters(**limits: int) -> dict[str, Any]:
    return {"type": "length", "value": {"unit": "characters", **limits}}


PLAIN: list[tuple[str, dict[str, Any]]] = [
    ("output must be valid JSON", {"type": "json"}),
    ("The output must be valid JSON.", {"type": "json"}),
    ("Must be JSON", {"type": "json"}),
    ("The response should be in JSON format", {"type": "json"}),
    ("must be a JSON array", {"type": "json", "value": "array"}),
    ("The result must be a valid JSON object", {"type": "json", "value": "object"}),
    ("must contain 'Total'", {"type": "contains", "value": "Total"}),
    ('The output  must\ncontain "## Summary".', {"type": "contains", "value": "## Summary"}),
    ("Includes the text `a, b`", {"type": "contains", "value": "a, b"}),
    ("must contain “it's”", {"type": "contains", "value": "it's"}),
    ("""must contain '"status": "ok"'""", {"type": "contains", "value": '"status": "ok"'}),
    ("must not contain 'error'", {"type": "not_contains", "value": "error"}),
    ("The output doesn't include 'TODO'", {"type": "not_contains", "value": "TODO"}),
    ("must not be empty", characters(min=1)),
    ("The answer must be non-empty.", characters(min=1)),
    ("must be at most 280 characters", characters(max=280)),
    ("The response must not exceed 1,000 characters.", characters(max=1000)),
    ("must be at most 100 words long", words(max=100)),
    ("Output must have no more than 1 word", words(max=1)),
    ("must contain at least 50 words", words(min=50)),
    (
        "field 'status' must be present",
        {"type": "json_path", "path": "status", "value": None, "negate": True},
    ),
    ("Field status must be present.", {"type": "json_path", "path": "status", "value": None, "negate": True}),
    (
        "The key `data.items[0].id` must exist",
        {"type": "json_path", "path": "data.items[0].id", "value": None, "negate": True},
    ),
    (
        "Output must contain a field named 'score'",
        {"type": "json_path", "path": "score", "value": None, "negate": True},
    ),
    ("field status must equal 'done'", {"type": "json_path", "path": "status", "value": "done"}),
    ("field data.count must equal 10.", {"type": "json_path", "path": "data.count", "value": 10}),
    ("The field 'ok' must be equal to True", {"type": "json_path", "path": "ok", "value": True}),
    ("The output must equal 'success'", {"type": "equals", "value": "success"}),
    ("must equal 42", {"type": "equals", "value": 42}),
    ("The answer must be exactly 'yes'", {"type": "equals", "value": "yes"}),
    (r"must match /^\d{4}-\d{2}$/", {"type": "regex", "value": r"^\d{4}-\d{2}$"}),
    (r"The output must match the regex /^a\/b/im.", {"type": "regex", "value": r"(?im)^a\/b"}),
]


def test_a_plain_sentence_is_parsed_as_its_assertion() -> None:
    wrong = [
        (sentence, found)
        for sentence, assertion in PLAIN
        if (found := parse_sentence(sentence)) is None
        or found.model_dump(exclude_unset=True) != {"value": None, **assertion}
    ]
    assert wrong == []


AMBIGUOUS = [
    *("", ".", "Be polite.", "x" * 5000, "must contain " * 100_000),
    *("must be valid JSON with a field score", "must not be valid JSON", "must be valid JSON or empty"),
    *("must be a JSON array of strings", "If it is long, the output must be valid JSON", "must be valid XML"),
    *(
        "must contain citations",
        "must contain the word total",
        "must contain 'A' and 'B'",
        "must contain 'A' or 'B'",
    ),
    *("must contain 'A' twice", "must contain at least 3 'x'", "must contain ''", "must contain 'it's'"),
    *("must contain '<name>'", "must contain 'Dear [Name]'", "must contain '{city}'", "must contain 'Total: XXX'"),
    *("The summary must contain 'Total'", "may contain 'x'", "can't contain 'x'", "must contain 'and so on...'"),
    *("must not contain errors", "must not contain 'a' or 'b'", "may not contain 'x'", "must never contain 'x'?"),
    *("must not be empty-handed", "no section must be empty", "The list must not be empty"),
    *("must be about 100 words", "must be at most 3 sentences", "Each bullet must be at most 20 words"),
    *("must be at most 100 words per section", "must be at most ten words", "must be at most 1,00 words"),
    *("The key findings must be present", "key total must be present", "The field notes must be present"),
    *("Field observations must exist", "Field work must be present", "must contain a field trip"),
    *("field 'a' and 'b' must be present", "field status must not be present", "fields 'a' must be present"),
    *("field status must equal done", "field total must equal the price", "field 'count' must equal '10'"),
    *("The total must equal 42", "must equal the input", "must equal 42 or 43", "must equal -"),
    *("must match the tone of the brand", "must match /a/ or /b/", "must match /(unclosed/", "must match /a/x"),
    *("output must be exactly 3 lines", "the OUTPUT must contain Total", "must contain “a” ”"),
]


def test_a_sentence_that_may_mean_something_else_is_left_to_a_model() -> None:
    assert [sentence for sentence in AMBIGUOUS if parse_sentence(sentence) is not None] == []


SENTENCES = [
    ("must be valid JSON", '{"a": 1}', 'Here: {"a": 1}', "expected the output to be valid JSON, got "),
    ("must be valid JSON", "```json\n[1]\n```", "The total is 42 [1].", "expected the output to be valid JSON"),
    ("must be valid JSON", "null", "", "expected the output to be valid JSON"),
    ("must be a JSON array", "[1]", '{"a": [1]}', "expected the output to be valid JSON, of type array, got "),
    ("must not be empty", "x", " \n", "expected the output to say something, but it is empty"),
    ("must be at most 2 words", "- **one**, two-three", "a b c", "to have at most 2 words, but it has 3 words"),
    ("must be at least 2 words", "a b", "a -", "to have at least 2 words, but it has 1 word"),
    ("must be at most 3 characters", " äöü \n", "abcd", "at most 3 characters, but it has 4 characters"),
    ("field 'a' must be present", '{"a": 0}', '{"b": 1}', "`a` of the output not to equal null, got nothing"),
    ("field 'a' must be present", '{"a": ""}', '{"a": null}', "`a` of the output not to equal null, got null"),
    ("field 'a' must be present", '{"a": []}', "no JSON", "but the output holds no JSON"),
    (r"must match /^\d+$/", "42", "x42", "match the pattern"),
]


async def test_a_plain_sentence_is_checked_like_any_assertion() -> None:
    for rule, good, bad, issue in SENTENCES:
        found = await check(good, rule)
        assert (found.verdict.passed, found.open_rules) == (True, []), rule
        found = await check(bad, rule)
        assert not found.verdict.passed, rule
        assert issue in found.verdict.issues[0]


async def test_other_sentences_stay_open() -> None:  # VA-01
    found = await check("x", "must contain 'x'", "Be kind.", "must contain citations")
    assert (found.verdict.passed, found.open_rules) == (True, ["Be kind.", "must contain citations"])
