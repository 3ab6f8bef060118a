"""JSON in a model's output: models put it in fences, between sentences, or nowhere."""

import json
import re
from collections.abc import Iterator
from typing import Any

from rota_common.json_repair import repair
from rota_contracts.model import Json

FENCE = "```"
LANGUAGE = re.compile(r"[ \t]*(\w*)")
ESCAPES = re.compile(r"\\(?:(u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w)|u[dD][89a-fA-F]\w\w|.)", re.DOTALL)
OPENING = re.compile(r"[{\[]")
MAX_TRIES = 2000
"""Brackets of prose to try; a text with more of them is hostile, and would take too long."""

MAX_WASTE = 1_000_000
"""Characters to read without success after such brackets, besides four times the text: as above."""


def _not_json(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_not_json)
_LENIENT = json.JSONDecoder(parse_constant=_not_json, strict=False)
"""Takes line breaks within strings."""


def parse_json(text: str) -> Json:
    """Parse the whole text as JSON. Raises ValueError otherwise; NaN and Infinity are not JSON."""
    try:
        return _DECODER.decode(_with_characters(text))
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None


def extract_json(text: str, default: Json = None) -> Json:
    """The JSON value in `text`: all of it, else what is in a fence, else an object or array between other words.

    Of several fences one marked `json` is first; of several values in prose, the first that holds an object (prose
    has footnotes like [1]). `default` if there is none: pass a marker to distinguish that from `null`. Nothing is
    repaired: see `repaired_json`.
    """
    for candidate in (text, *_fenced(text)):
        try:
            return parse_json(candidate)
        except ValueError:
            continue
    found = _in_prose(text)
    return next((value for value in found if _holds_object(value)), found[0] if found else default)


def read_json(text: str, position: int) -> int | None:
    """The end of the object or array that begins right at `position`; None if there is none."""
    if text[position : position + 1] not in ("{", "["):
        return None
    try:
        return _DECODER.raw_decode(text, position)[1]
    except (ValueError, RecursionError):
        return None


def every_json(text: str) -> list[Json]:
    """All values that `extract_json` chooses from, then those that a repair makes readable."""
    found: list[Json] = []
    for candidate in (text, *_fenced(text)):
        try:
            found.append(parse_json(candidate))
        except ValueError:
            found += [] if (value := repaired_json(candidate)) is None else [value]
    return [*found, *_in_prose(text)]


def repaired_json(text: str) -> Json:
    """The object or array in a text whose JSON has small faults (`json_repair`), taken from its first bracket to its
    last; None if that makes no JSON either."""
    for opening, closing in ("[]", "{}") if text.lstrip()[:1] == "[" else ("{}", "[]"):
        begin, end = text.find(opening), text.rfind(closing)
        if 0 <= begin < end:
            try:
                return _LENIENT.decode(_with_characters(repair(text[begin : end + 1])))
            except (ValueError, RecursionError):
                continue
    return None


def _with_characters(text: str) -> str:
    """Replace escapes of lone surrogates, which JSON allows and no message can carry; the length stays the same."""
    if "\\ud" not in text and "\\uD" not in text:
        return text
    return ESCAPES.sub(lambda found: found[0] if found[1] or len(found[0]) == 2 else "\\ufffd", text)


def _fenced(text: str) -> list[str]:
    fences = list(_fences(text))
    marked = [body for language, body in fences if language.lower() == "json"]
    return marked + [body for language, body in fences if language.lower() != "json"]


def _fences(text: str) -> Iterator[tuple[str, str]]:
    """Language and body of each fence. Not a regular expression: on a long row of backticks one takes forever."""
    start = text.find(FENCE)
    while start >= 0:
        line_end = text.find("\n", start + len(FENCE))
        end = text.find(FENCE, line_end + 1)
        if line_end < 0 or end < 0:
            return
        language = LANGUAGE.match(text, start + len(FENCE))
        yield language[1] if language else "", text[line_end + 1 : end]
        start = text.find(FENCE, end + len(FENCE))


def _in_prose(text: str) -> list[Json]:
    """The outermost objects and arrays in order; a brace within a string is no brace, which the decoder knows."""
    found: list[Json] = []
    text = _with_characters(text)
    position, patience = 0, 4 * len(text) + MAX_WASTE
    for _ in range(MAX_TRIES):
        opening = OPENING.search(text, position)
        if opening is None or patience < 0:
            break
        try:
            value, position = _DECODER.raw_decode(text, opening.start())
            found.append(value)
        except (ValueError, RecursionError) as error:
            position = opening.end()
            patience -= getattr(error, "pos", len(text)) - opening.start()
    return found


def _holds_object(value: Json) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(item, dict) for item in value))
