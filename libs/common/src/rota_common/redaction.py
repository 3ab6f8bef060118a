"""Credentials in texts and JSON values, replaced by `[REDACTED]`: the value alone, so that the rest stays valid."""

import json
import re
from enum import Enum
from typing import Any, TypeVar

from pydantic import BaseModel

M = TypeVar("M", bound=BaseModel)

REDACTED = "[REDACTED]"

_NAME = (
    r"[\w-]{0,40}(?:(?:api|access|private|secret|signing|encryption|account)[_-]?key|token|secret|password|passwd|pwd"
    r"|authorization|credentials?|(?<![\w-])cookie)"
)
_SECRET_NAME = re.compile(_NAME, re.IGNORECASE)
_BEFORE_VALUE = re.compile(rf"(?P<quote>\\*[\"'])?(?<![\w-]){_NAME}(?(quote)(?P=quote))\s*[:=]\s*", re.IGNORECASE)
_QUOTED = re.compile(r"(?P<quote>\\*[\"'])(?P<inside>.*?)(?<!\\)(?P=quote)", re.DOTALL)
_BARE = re.compile(r"(?:(?:bearer|basic)\s+)?[^\s\"'\\,;&<>{}\[\]()]+", re.IGNORECASE)
_WHOLE = re.compile(
    r"\b(?:sk|pk|rk|ghp|gho|ghs|xox[a-z]|whsec|whsk)[-_][\w-]{6,}|\brota_[\w.-]{20,}"  # prefixes of keys
    r"|\bAKIA[0-9A-Z]{16}\b"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"  # a JSON Web Token
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
_SCHEME = re.compile(r"\b((?:bearer|basic)\s+)[\w.~+/=-]{6,}", re.IGNORECASE)
_USER_OF_URL = re.compile(r"(?<=://)[^\s/@\"'<>\\]{1,500}(?=@)")
_HINT = re.compile(
    r"key|token|secret|passw|pwd|authorization|credential|cookie|bearer|basic|://"
    r"|[spr]k[-_]|gh[pos][-_]|xox|whs[ek]|rota_|akia|eyj|-----begin"
)
"""A part of all that is hidden, in lower case."""

_DECODER = json.JSONDecoder()


def may_hold_credentials(text: str) -> bool:
    """Whether it is worth a closer look, which costs 20 times more: nearly no line of a log is."""
    return not text.isascii() or _HINT.search(text.lower()) is not None


def without_credentials(text: str) -> str:
    """The text with the values of credentials hidden; JSON stays JSON, also a part of a text or within a string."""
    if not may_hold_credentials(text):
        return text
    text = _USER_OF_URL.sub(REDACTED, text)
    text = _SCHEME.sub(rf"\1{REDACTED}", _hide_values(text))
    return _WHOLE.sub(REDACTED, text)


def hides_nothing(text: str) -> bool:
    """Does the text hold no credentials?"""
    shown = without_credentials(text)
    return shown == text


def json_without_credentials(value: Any) -> Any:
    """The same of a JSON value: under a credential's name the whole value, in other strings what is one."""
    match value:
        case str():
            return without_credentials(value)
        case dict():
            return {
                key: REDACTED if _is_secret(key, each) else json_without_credentials(each)
                for key, each in value.items()
            }
        case list():
            return [json_without_credentials(each) for each in value]
        case _:
            return value


def model_without_credentials(model: M) -> M:
    """The same of every field of a model, which isn't validated again."""
    update = {name: _shown(getattr(model, name)) for name in type(model).model_fields}
    return model.model_copy(update=update)


def _shown(value: Any) -> Any:
    match value:
        case BaseModel():
            return model_without_credentials(value)
        case Enum():
            return value
        case list() if any(isinstance(each, BaseModel) for each in value):
            return [_shown(each) for each in value]
        case _:
            return json_without_credentials(value)


def _is_secret(key: Any, value: Any) -> bool:
    """Nothing and yes or no are no secrets."""
    return isinstance(key, str) and _SECRET_NAME.fullmatch(key) is not None and value not in (None, True, False, "")


def _hide_values(text: str) -> str:
    kept: list[str] = []
    position = 0
    for found in _BEFORE_VALUE.finditer(text):
        if found.start() < position:
            continue
        hidden = _hidden(text, found.end(), found["quote"] or "")
        if hidden is not None:
            replacement, end = hidden
            kept += [text[position : found.end()], replacement]
            position = end
    return "".join([*kept, text[position:]])


def _hidden(text: str, start: int, quote: str) -> tuple[str, int] | None:
    """What replaces the value that begins there, and where that ends. `quote`: the quotes of its name."""
    if quoted := _QUOTED.match(text, start):
        return (f"{quoted['quote']}{REDACTED}{quoted['quote']}", quoted.end()) if quoted["inside"] else None
    if quote == '"' or text[start : start + 1] in ("{", "["):
        try:
            value, end = _DECODER.raw_decode(text, start)
        except ValueError:
            pass
        else:
            return None if value in (None, True, False) else (f'"{REDACTED}"', end)
    bare = _BARE.match(text, start)
    if bare is None or bare[0].lower() in ("null", "none", "true", "false"):
        return None
    return f"{quote}{REDACTED}{quote}", bare.end()
