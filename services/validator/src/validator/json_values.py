"""JSON values: when two are equal, what lies at a path, and how a value is named to people and models."""

import json
import re

from rota_contracts.model import Json

ROOT = re.compile(r"^\$(?=$|[.\[])")
TOKEN = re.compile(r"[^.\[\]]+")
INDEX = re.compile(r"[0-9]{1,9}")
SHOWN = 200
"""Characters of a value that a message quotes."""


class _Nothing:
    """Told apart from null, which is a value."""


MISSING = _Nothing()
"""What lies at a path that leads nowhere."""


def same(one: Json, other: Json) -> bool:
    """JSON equality (Decision 25): 42 equals 42.0, true never equals 1, the order of keys doesn't matter."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(left, right) for left, right in zip(one, other, strict=True))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    return bool(one == other)


def at(value: Json, path: str) -> Json:
    """What lies at a path like `data.items[0].name`, or MISSING. A leading `$` is the value itself."""
    for token in TOKEN.findall(ROOT.sub("", path)):
        value = _step(value, token)
    return value


def _step(value: Json, token: str) -> Json:
    if isinstance(value, dict):
        return value.get(token.strip("'\""), MISSING)
    if isinstance(value, list) and INDEX.fullmatch(token) and int(token) < len(value):
        return value[int(token)]
    return MISSING


def kind(value: Json) -> str:
    """The JSON type's name, as the assertion `type` writes it."""
    if isinstance(value, bool):
        return "boolean"
    names = {str: "string", int: "number", float: "number", list: "array", dict: "object"}
    return names.get(type(value), "null")


def shown(value: Json) -> str:
    """A value's beginning as JSON, for people and models."""
    text = "nothing" if value is MISSING else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} characters)"
