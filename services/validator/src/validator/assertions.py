"""The assertions (VA-02 to VA-07): each says what it wishes of an output, and whether the output grants it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from rota_common.json_text import extract_json, parse_json
from rota_contracts.model import Json
from rota_contracts.validation import Assertion, AssertionType
from validator.json_values import MISSING, at, kind, same, shown

TYPE_NAMES = ("string", "number", "boolean", "array", "object", "null")
NO_JSON = object()


class Unusable(Exception):
    """The assertion can't be tried on this output, and counts as failed, negated or not."""


@dataclass(frozen=True, slots=True)
class Search:
    """The assertion holds if `pattern` is found in `text`. A pattern may run for ever, so the shell searches."""

    pattern: str
    text: str


@dataclass(frozen=True)
class Output:
    """A task's output; it is read as JSON only where an assertion needs it."""

    text: str

    @cached_property
    def json(self) -> Json:
        """The JSON in the text, or NO_JSON."""
        return extract_json(self.text, NO_JSON)

    @property
    def is_string(self) -> bool:
        """Text is a string, also with JSON somewhere in it, unless all of it is another JSON value."""
        try:
            return isinstance(parse_json(self.text), str)
        except ValueError:
            return True

    def at(self, path: str) -> Json:
        if self.json is NO_JSON:
            raise Unusable("the output holds no JSON")
        return at(self.json, path)

    def text_at(self, path: str | None) -> str:
        """The text of a part; what isn't text as compact JSON; what isn't there as nothing."""
        if not path:
            return self.text
        value = self.at(path)
        if value is MISSING or value is None:
            return ""
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True)
class Kind:
    """One type of assertion. `wish` completes the sentence "make the output …"."""

    wish: Callable[[Assertion], str]
    check: Callable[[Assertion, Output], bool | Search]


def _equals(assertion: Assertion, output: Output) -> bool:
    if assertion.path:
        return _equals_at(assertion, output)
    return same(output.text, assertion.value) or same(output.json, assertion.value)


def _equals_at(assertion: Assertion, output: Output) -> bool:
    """A path that leads nowhere equals null (Decision 26)."""
    if not assertion.path:
        raise Unusable("the assertion has no `path`: give one like data.items[0].name")
    value = output.at(assertion.path)
    return same(None if value is MISSING else value, assertion.value)


def _contains(assertion: Assertion, output: Output) -> bool:
    if assertion.value is None:
        raise Unusable("the assertion has no `value`: give the text to look for")
    wanted = assertion.value if isinstance(assertion.value, str) else json.dumps(assertion.value, ensure_ascii=False)
    return wanted in output.text_at(assertion.path)


def _contains_not(assertion: Assertion, output: Output) -> bool:
    return not _contains(assertion, output)


def _matches(assertion: Assertion, output: Output) -> Search:
    if not isinstance(assertion.value, str):
        raise Unusable(f"its `value` must be a regular expression in a text, not {shown(assertion.value)}")
    return Search(assertion.value, output.text_at(assertion.path))


def _has_type(assertion: Assertion, output: Output) -> bool:
    """Nothing has no type (Decision 26)."""
    wanted = str(assertion.value)
    if wanted not in TYPE_NAMES:
        raise Unusable(f"its `value` must be one of {', '.join(TYPE_NAMES)}, not {shown(assertion.value)}")
    if assertion.path:
        value = output.at(assertion.path)
        if value is MISSING:
            raise Unusable(f"nothing is at `{assertion.path}`")
        return kind(value) == wanted
    if wanted == "string":
        return output.is_string
    return output.json is not NO_JSON and kind(output.json) == wanted


# A new type of assertion is one more line here (VA-10).
KINDS: dict[AssertionType, Kind] = {
    AssertionType.EQUALS: Kind(lambda rule: f"equal {shown(rule.value)}", _equals),
    AssertionType.CONTAINS: Kind(lambda rule: f"contain {shown(rule.value)}", _contains),
    AssertionType.NOT_CONTAINS: Kind(lambda rule: f"leave out {shown(rule.value)}", _contains_not),
    AssertionType.JSON_PATH: Kind(lambda rule: f"equal {shown(rule.value)}", _equals_at),
    AssertionType.REGEX: Kind(lambda rule: f"match the pattern {shown(rule.value)}", _matches),
    AssertionType.TYPE: Kind(lambda rule: f"be of type {rule.value}", _has_type),
}


def wish(assertion: Assertion) -> str:
    """What is asked, as in "make the output contain …"; without the assertion's `negate`."""
    known = KINDS.get(assertion.type)
    return known.wish(assertion) if known else f"pass the {assertion.type} assertion"


def check(assertion: Assertion, output: Output) -> bool | Search:
    """Is the wish granted, or what must be searched to know? `negate` is the caller's. Raises Unusable."""
    known = KINDS.get(assertion.type)
    if known is None:
        raise Unusable(f"assertion type '{assertion.type}' isn't available in this version")
    return known.check(assertion, output)
