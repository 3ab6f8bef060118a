"""Finding the JSON in what a model wrote: models put it in fences, between sentences, or nowhere (CL-22)."""

import json
import re
from typing import Any

from rota_contracts.model import Json

FENCE = re.compile(r"```[ \t]*(\w*)[^\n]*\n(.*?)```", re.DOTALL)
OPENING = re.compile(r"[{\[]")
MAX_TRIES = 2000
"""Brackets of prose to look behind; a text with more of them is hostile, and looking would take too long."""


def _not_json(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_not_json)


def parse_json(text: str) -> Json:
    """The value that the whole text is. Raises ValueError if it isn't JSON; NaN and Infinity are not."""
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None


def extract_json(text: str, default: Json = None) -> Json:
    """The JSON value in `text`: all of it, else what is in a fence, else an object or array between other words.

    Of several fences one marked `json` goes first; of several values in prose, the first that holds an object (prose
    has footnotes like [1]). `default` if there is none: give a marker of your own to tell that from `null`.
    """
    for candidate in (text, *_fenced(text)):
        try:
            return parse_json(candidate)
        except ValueError:
            continue
    found = _in_prose(text)
    return next((value for value in found if _holds_object(value)), found[0] if found else default)


def _fenced(text: str) -> list[str]:
    fences = FENCE.findall(text)
    marked = [body for language, body in fences if language.lower() == "json"]
    return marked + [body for language, body in fences if language.lower() != "json"]


def _in_prose(text: str) -> list[Json]:
    """The outermost objects and arrays in order; a brace within a string is no brace, which the decoder knows."""
    found: list[Json] = []
    position = 0
    for _ in range(MAX_TRIES):
        opening = OPENING.search(text, position)
        if opening is None:
            break
        try:
            value, position = _DECODER.raw_decode(text, opening.start())
            found.append(value)
        except (ValueError, RecursionError):
            position = opening.end()
    return found


def _holds_object(value: Json) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(item, dict) for item in value))
