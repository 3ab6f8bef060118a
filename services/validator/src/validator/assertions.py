"""The built-in assertions: the wish of each, and its check."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from rota_contracts.json_values import MISSING, compact, kind, same, shown
from rota_contracts.messages.validation import Assertion, AssertionType
from validator.kinds import NO_JSON, Faulty, Finding, Kind, Output, Result, RunScript, Search, Unusable

TYPE_NAMES = ("string", "number", "boolean", "array", "object", "null")
JSON_KIND, LENGTH_KIND = "json", "length"
"""Two types that sentences are read as: all of the output is JSON; it has so many words or characters."""

UNITS = ("words", "characters")
WORD = re.compile(r"\w\S*")
NO_PATH = "the assertion has no `path`: give one like data.items[0].name"


@dataclass(frozen=True)
class BuiltIn:
    """See `Kind`."""

    wish: Callable[[Assertion], str]
    check: Callable[[Assertion, Output], Finding]


def _equals(assertion: Assertion, output: Output) -> bool:
    """A text but for white space around it, or the JSON that is all of the output."""
    if assertion.path:
        return _equals_at(assertion, output)
    as_text = isinstance(assertion.value, str) and output.text.strip() == assertion.value.strip()
    return as_text or (output.whole_json is not NO_JSON and same(output.whole_json, assertion.value))


def _equals_at(assertion: Assertion, output: Output) -> bool:
    """A path that leads nowhere equals null."""
    if not assertion.path:
        raise Faulty(NO_PATH)
    value = output.at(assertion.path)
    return same(None if value is MISSING else value, assertion.value)


def _contains(assertion: Assertion, output: Output) -> bool:
    if assertion.value is None:
        raise Faulty("the assertion has no `value`: give the text to look for")
    text = output.text_at(assertion.path)
    if isinstance(assertion.value, str):
        return assertion.value in text
    return compact(assertion.value) in text or json.dumps(assertion.value, ensure_ascii=False) in text


def _contains_not(assertion: Assertion, output: Output) -> bool:
    return not _contains(assertion, output)


def _matches(assertion: Assertion, output: Output) -> Search:
    if not isinstance(assertion.value, str):
        raise Faulty(f"its `value` must be a regular expression in a text, not {shown(assertion.value)}")
    return Search(assertion.value, output.text_at(assertion.path))


def _has_type(assertion: Assertion, output: Output) -> bool:
    """A missing value has no type."""
    wanted = _type_name(assertion)
    if assertion.path:
        value = output.at(assertion.path)
        if value is MISSING:
            raise Unusable(f"nothing is at `{assertion.path}`")
        return kind(value) == wanted
    if wanted == "string":
        return output.is_string
    return output.json is not NO_JSON and kind(output.json) == wanted


def _type_name(assertion: Assertion) -> str:
    if assertion.value not in TYPE_NAMES:
        raise Faulty(f"its `value` must be one of {', '.join(TYPE_NAMES)}, not {shown(assertion.value)}")
    return str(assertion.value)


def _is_json(assertion: Assertion, output: Output) -> bool:
    wanted = _type_name(assertion) if assertion.value is not None else None
    found = output.whole_json
    return found is not NO_JSON and wanted in (None, kind(found))


def _has_length(assertion: Assertion, output: Output) -> Result:
    least, most, unit = _limits(assertion)
    text = output.text_at(assertion.path)
    length = len(WORD.findall(text)) if unit == "words" else len(text.strip())
    fits = length >= least and (most is None or length <= most)
    return Result(fits, "it is empty" if length == 0 else f"it has {length} {unit if length > 1 else unit[:-1]}")


def _limits(assertion: Assertion) -> tuple[int, int | None, str]:
    """At least, at most, of what."""
    given = assertion.value if isinstance(assertion.value, dict) else {}
    limits = {key: limit for key, limit in given.items() if key != "unit"}
    counts = all(type(limit) is int and limit >= 0 for limit in limits.values())
    if given.get("unit") in UNITS and limits and limits.keys() <= {"min", "max"} and counts:
        return limits.get("min", 0), limits.get("max"), str(given["unit"])
    raise Faulty(f'its `value` must be like {{"unit": "words", "min": 10, "max": 100}}, not {shown(assertion.value)}')


def _length_wish(assertion: Assertion) -> str:
    least, most, unit = _limits(assertion)
    if (least, most) == (1, None):
        return "say something"
    bounds = [f"at least {least}"] * (most is None or least > 0) + [f"at most {most}"] * (most is not None)
    return f"have {' and '.join(bounds)} {unit}"


def _run_script(assertion: Assertion, output: Output) -> RunScript:
    if not assertion.script:
        raise Faulty("the assertion has no `script`: give the name of a file in ROTA_SCRIPTS_DIR, without its .py")
    found = output.at(assertion.path) if assertion.path else output.json
    given = {"output": output.text_at(assertion.path), "value": assertion.value}
    given |= {} if found is NO_JSON or found is MISSING else {"json": found}
    return RunScript(assertion.script, json.dumps(given))


def _without_agent(assertion: Assertion, output: Output) -> bool:
    """The second layer calls the agent, see `agent_checks`; an assertion that gets here names none."""
    raise Faulty("the assertion has no `use`: name the agent that checks, `validator` for the robot's own")


def _agent_wish(assertion: Assertion) -> str:
    criterion = assertion.value if isinstance(assertion.value, str) else shown(assertion.value)
    return f"satisfy the agent {assertion.use}" + (f": {criterion}" if assertion.value is not None else "")


BUILT_IN: dict[str, Kind] = {
    AssertionType.EQUALS: BuiltIn(lambda rule: f"equal {shown(rule.value)}", _equals),
    AssertionType.CONTAINS: BuiltIn(lambda rule: f"contain {shown(rule.value)}", _contains),
    AssertionType.NOT_CONTAINS: BuiltIn(lambda rule: f"leave out {shown(rule.value)}", _contains_not),
    AssertionType.JSON_PATH: BuiltIn(lambda rule: f"equal {shown(rule.value)}", _equals_at),
    AssertionType.REGEX: BuiltIn(lambda rule: f"match the pattern {shown(rule.value)}", _matches),
    AssertionType.TYPE: BuiltIn(lambda rule: f"be of type {rule.value}", _has_type),
    AssertionType.SCRIPT: BuiltIn(lambda rule: f"pass the script {rule.script}", _run_script),
    AssertionType.AGENT: BuiltIn(_agent_wish, _without_agent),
    JSON_KIND: BuiltIn(lambda rule: f"be valid JSON{f', of type {rule.value}' if rule.value else ''}", _is_json),
    LENGTH_KIND: BuiltIn(_length_wish, _has_length),
}
