"""Plain rules: sentences that mean one assertion ("must contain 'Total'"), so that no model needs to judge them.

A wrong guess is worse than none: a sentence is read only if all of it has one of these forms.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from rota_common.json_text import parse_json
from rota_contracts.messages.validation import Assertion, AssertionType
from rota_contracts.model import Json
from validator.assertions import JSON_KIND, LENGTH_KIND

Found = re.Match[str]

SUBJECT = r"(?:(?:(?:the|your) )?(?:output|result|response|answer|reply) )?"
MUST = r"(?:must|should|shall|has to|needs to)"
MUST_NOT = rf"(?:{MUST} not|mustn't|shouldn't|does not|doesn't|do not|don't)"
BE = rf"{SUBJECT}(?:{MUST} be|is|be)"
CONTAIN = rf"{SUBJECT}(?:{MUST} (?:contain|include)|contains?|includes?)"
LITERAL = r"""(?:"[^"]+"|'[^']+'|`[^`]+`|“[^“”]+”|‘[^‘’]+’)"""
PATH = r"[A-Za-z_][\w-]*(?:\.[\w-]+|\[[0-9]+\])*"
NAME = rf"(?:'{PATH}'|\"{PATH}\"|`{PATH}`)"
FIELD = rf"(?:the )?(?:(?:json )?(?:field|key|property) (?P<name>{NAME})|(?:json )?field (?P<bare>{PATH}))"
NUMBER = r"-?[0-9]+(?:\.[0-9]+)?"
COUNT = r"(?P<count>[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,9}) (?P<unit>words?|characters?)(?: long| in length)?"

LONGEST = 500
"""Characters of the longest sentence that is parsed."""

PLACEHOLDER = re.compile(r"<[\w ]+>|\{[\w ]*\}|\[[A-Za-z_ ]+\]|\.\.\.|…|\bX+\b")
"""A placeholder in a quoted text: the text isn't meant literally."""

COMPOUND = re.compile(r"(?<![us])s$|(?:work|data|ing)$")
"""The "field notes" and "field work" of a sentence about research are no fields."""


class _Unclear(Exception):
    """The sentence has the form, and may still mean something else."""


def _json(found: Found) -> Assertion:
    kind = found.groupdict().get("kind")
    return Assertion(type=JSON_KIND, value=kind.lower() if kind else None)


def _contains(found: Found) -> Assertion:
    return Assertion(type=AssertionType.CONTAINS, value=_literal(found["text"]))


def _contains_not(found: Found) -> Assertion:
    return Assertion(type=AssertionType.NOT_CONTAINS, value=_literal(found["text"]))


def _not_empty(found: Found) -> Assertion:
    return Assertion(type=LENGTH_KIND, value={"unit": "characters", "min": 1})


def _at_most(found: Found) -> Assertion:
    return Assertion(type=LENGTH_KIND, value={"unit": _unit(found), "max": _count(found)})


def _at_least(found: Found) -> Assertion:
    return Assertion(type=LENGTH_KIND, value={"unit": _unit(found), "min": _count(found)})


def _present(found: Found) -> Assertion:
    """Null counts as missing."""
    return Assertion(type=AssertionType.JSON_PATH, path=_path(found), value=None, negate=True)


def _field_equals(found: Found) -> Assertion:
    value = _value(found["value"])
    if isinstance(value, str) and not isinstance(_parsed(value), str):
        raise _Unclear(f"{value!r} may be the text or the {type(_parsed(value)).__name__}")
    return Assertion(type=AssertionType.JSON_PATH, path=_path(found), value=value)


def _equals(found: Found) -> Assertion:
    return Assertion(type=AssertionType.EQUALS, value=_value(found["value"]))


def _matches(found: Found) -> Assertion:
    pattern = found["pattern"]
    if flags := found["flags"].lower():
        pattern = f"(?{''.join(sorted(set(flags)))}){pattern}"
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise _Unclear(str(error)) from error
    return Assertion(type=AssertionType.REGEX, value=pattern)


def _literal(quoted: str) -> str:
    text = quoted[1:-1]
    if not text.strip() or PLACEHOLDER.search(text):
        raise _Unclear(f"{text!r} may stand for something else")
    return text


def _value(given: str) -> Json:
    return _literal(given) if given[0] in "\"'`“‘" else parse_json(given.lower())


def _parsed(text: str) -> Json:
    try:
        return parse_json(text.lower())
    except ValueError:
        return text


def _path(found: Found) -> str:
    if found["name"]:
        return str(found["name"][1:-1])
    if COMPOUND.search(found["bare"]):
        raise _Unclear(f"field {found['bare']} may be something else than a field of JSON")
    return str(found["bare"])


def _unit(found: Found) -> str:
    return "words" if found["unit"].lower().startswith("word") else "characters"


def _count(found: Found) -> int:
    return int(found["count"].replace(",", ""))


@dataclass(frozen=True)
class Form:
    pattern: re.Pattern[str]
    read: Callable[[Found], Assertion]


def _form(pattern: str, read: Callable[[Found], Assertion]) -> Form:
    return Form(re.compile(pattern, re.IGNORECASE), read)


FORMS = (
    _form(rf"{BE} (?:a )?(?:valid |well-formed )?json(?: (?P<kind>object|array))?", _json),
    _form(rf"{BE} in (?:valid )?json(?: format)?", _json),
    _form(rf"{CONTAIN} (?:the (?:exact )?(?:text|string) )?(?P<text>{LITERAL})", _contains),
    _form(
        rf"{SUBJECT}{MUST_NOT} (?:contain|include) (?:the (?:exact )?(?:text|string) )?(?P<text>{LITERAL})",
        _contains_not,
    ),
    _form(rf"{SUBJECT}(?:{MUST} not be|is not|isn't) empty|{BE} non-empty", _not_empty),
    _form(rf"{SUBJECT}{MUST} (?:be|have|contain) (?:at most|no more than|a maximum of) {COUNT}", _at_most),
    _form(rf"{SUBJECT}{MUST} (?:not exceed|be no longer than|not be longer than|not have more than) {COUNT}", _at_most),
    _form(rf"{SUBJECT}{MUST} (?:be|have|contain) (?:at least|no less than|a minimum of) {COUNT}", _at_least),
    _form(rf"{FIELD} (?:{MUST} (?:be present|exist)|is present|exists)", _present),
    _form(
        rf"{SUBJECT}(?:{MUST} (?:contain|include|have)|contains|includes|has) (?:a|the) (?:json )?"
        rf"(?:field|key|property) (?:named |called )?(?P<name>{NAME})",
        _present,
    ),
    _form(
        rf"{FIELD} (?:{MUST} (?:equal|be equal to|be exactly)|equals) "
        rf"(?P<value>{LITERAL}|{NUMBER}|true|false|null)",
        _field_equals,
    ),
    _form(rf"{SUBJECT}(?:{MUST} (?:equal|be equal to)|equals) (?P<value>{LITERAL}|{NUMBER}|true|false|null)", _equals),
    _form(rf"{BE} exactly (?P<value>{LITERAL})", _equals),
    _form(
        rf"{SUBJECT}(?:{MUST} match|matches) (?:the )?(?:regular expression |regex |pattern )?"
        rf"/(?P<pattern>(?:[^/\\]|\\.)+)/(?P<flags>[ims]*)",
        _matches,
    ),
)


def parse_sentence(sentence: str) -> Assertion | None:
    """The assertion that the sentence means, or None if it may mean something else."""
    text = " ".join(sentence.split()) if len(sentence) <= LONGEST else ""
    text = text[:-1].rstrip() if text.endswith((".", "!")) else text
    for form in FORMS:
        if found := form.pattern.fullmatch(text):
            try:
                return form.read(found)
            except _Unclear:
                return None
    return None
