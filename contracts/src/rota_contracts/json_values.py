"""JSON values: equality, access by path, what can be stored, and short texts of values for people and models."""

import json
import math
import re

from rota_contracts.model import Json

ROOT = re.compile(r"^\$(?=$|[.\[])")
QUOTED = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
STEP = re.compile(
    rf"\.(?P<dotted>{QUOTED})(?=[.\[]|\Z)"
    rf"|\[\s*(?:(?P<quoted>{QUOTED})\s*|(?P<index>-?[0-9]+|[^\W\d][\w -]*))\]"
    r"|\.(?P<name>[^.\[\]]+)",
    re.DOTALL,
)
LONE_SURROGATE = re.compile("[\ud800-\udfff]")
INDEX = re.compile(r"[0-9]{1,9}")
SHOWN = 200
"""Characters of a value that a message quotes."""


MAX_DEPTH = 64
"""Levels of JSON from outside: MongoDB holds 100, of which a document needs some for itself."""

TOO_DEEP = f"expected JSON that is nested at most {MAX_DEPTH} levels deep"


class _Nothing:
    """Distinct from null, which is a value."""


MISSING = _Nothing()
"""The result for a path that leads nowhere."""


def same(one: Json, other: Json) -> bool:
    """JSON equality: 42 equals 42.0, true never equals 1, the order of keys doesn't matter."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(left, right) for left, right in zip(one, other, strict=True))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    return bool(one == other)


def canonical(value: Json) -> str:
    """One text for all values that are `same`: keys are sorted, and a whole number is written as an integer."""
    return compact(_canonical(value))


def _canonical(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _canonical(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_canonical(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def at(value: Json, path: str) -> Json:
    """The value at a path like `data.items[0].name`, or MISSING. Raises ValueError for an invalid path.

    A leading `$` is the value itself; a key with dots or brackets in it is quoted: `data["a.b"]`.
    """
    for key, quoted in _steps(path):
        value = _step(value, key, quoted=quoted)
    return value


def _steps(path: str) -> list[tuple[str, bool]]:
    rest = ROOT.sub("", path, count=1)
    rest = rest if rest.startswith((".", "[")) or not rest else f".{rest}"
    steps, position = [], 0
    while position < len(rest):
        step = STEP.match(rest, position)
        if step is None or step["name"] == "*":
            raise ValueError(f"expected a path like data.items[0].name or $['a key'], not {shown(path)}")
        if quoted := step["dotted"] or step["quoted"]:
            steps.append((re.sub(r"\\(.)", r"\1", quoted[1:-1], flags=re.DOTALL), True))
        else:
            steps.append(((step["index"] or step["name"]).strip(), False))
        position = step.end()
    return steps


def _step(value: Json, key: str, *, quoted: bool) -> Json:
    if isinstance(value, dict):
        return value.get(key, MISSING)
    if isinstance(value, list) and not quoted and INDEX.fullmatch(key) and int(key) < len(value):
        return value[int(key)]
    return MISSING


def unstorable(value: Json, *, depth: int = 0) -> str:
    """Why a value from outside can't be stored and sent on: the stores have no integers over 64 bits and no keys with
    a zero byte, JSON has no infinity, UTF-8 has no lone surrogates. Empty if it can."""
    match value:
        case dict() | list():
            return TOO_DEEP if depth > MAX_DEPTH else _unstorable_part(value, depth)
        case str() if not value.isascii():
            return _unstorable_text(value)
        case int() if not -(2**63) <= value < 2**63:
            return "expected whole numbers of at most 64 bits; write longer ones as text"
        case float() if not math.isfinite(value):
            return "expected finite numbers; write others as text"
    return ""


def _unstorable_part(value: dict[str, Json] | list[Json], depth: int) -> str:
    names, values = ("".join(map(str, value)), value.values()) if isinstance(value, dict) else ("", value)
    if "\0" in names:
        return "expected names without a zero byte"
    found = (unstorable(each, depth=depth + 1) for each in values)
    return _unstorable_text(names) or next(filter(None, found), "")


def _unstorable_text(text: str) -> str:
    return "expected text in Unicode, not half of a surrogate pair" if LONE_SURROGATE.search(text) else ""


def kind(value: Json) -> str:
    """The JSON type's name, as the assertion `type` writes it."""
    if isinstance(value, bool):
        return "boolean"
    names = {str: "string", int: "number", float: "number", list: "array", dict: "object"}
    return names.get(type(value), "null")


def compact(value: Json) -> str:
    """The value as JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def shown(value: Json) -> str:
    """The value as JSON, truncated, for people and models."""
    if value is MISSING:
        return "nothing"
    if isinstance(value, str) and len(value) > SHOWN:
        return f"{json.dumps(value[:SHOWN], ensure_ascii=False)[:-1]}… ({len(value)} characters)"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN * 2 else f"{text[:SHOWN]}… ({len(text)} characters)"
