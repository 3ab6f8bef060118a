"""Credentials in texts and JSON values, replaced by `[REDACTED]`: the value alone, so that the rest stays valid."""

import base64
import binascii
import json
import re
from collections.abc import Collection
from enum import Enum
from functools import lru_cache
from typing import Any, TypeVar
from urllib.parse import quote, quote_plus

from pydantic import BaseModel

M = TypeVar("M", bound=BaseModel)

REDACTED = "[REDACTED]"

SHORTEST = 6
"""Characters of a known value that is looked for: a shorter one would ruin ordinary texts."""

LONGEST = 20_000
"""Characters of a list or an object under a credential's name that is replaced as a whole."""

_NAME = (
    r"[\w-]{0,40}(?:(?:api|access|private|secret|signing|encryption|account)[_-]?key|token|secret|password|passwd|pwd"
    r"|passphrase|authorization|credentials?|(?<![\w-])(?:set-)?cookie)"
)
_SECRET_NAME = re.compile(_NAME, re.IGNORECASE)
_PLACE_NAME = re.compile(
    r"[\w-]*(?:next|prev|previous|page|continuation|cursor|sync|resume|delta)[_-]?(?:page)?[_-]?token", re.IGNORECASE
)
"""Names of places in a list, which are no credentials: a caller needs them for the next page."""
_QUERY_NAME = r"(?<=[?&])(?:key|sig|signature|x-(?:amz|goog)-(?:signature|credential)|code_verifier|auth)"
_BEFORE_VALUE = re.compile(
    rf"(?P<quote>\\{{0,15}}[\"'])?(?<![\w-])(?P<name>{_NAME})(?(quote)(?P=quote))\s*[:=]\s*|{_QUERY_NAME}=",
    re.IGNORECASE,
)
_QUOTE = re.compile(r"(\\{0,15})([\"'])")
_SCALAR = re.compile(r"-?\d[\d.eE+-]*(?=[\s,}\]]|$)|(?:true|false|null)\b")
_MARK = re.compile(r"\\*\"|[\[\]{}]")
_ITEM = r"[\w-]+=\\*\"[^\"\\\n]{0,500}\\*\"|[^\s\"'\\,;&<>{}\[\]()]+"
_HEADER = re.compile(r"(?:proxy-)?authorization|(?:set-)?cookie", re.IGNORECASE)
_HEADER_VALUE = re.compile(
    r"(?:(?:bearer|basic|token|api-?key|negotiate|ntlm|hawk|digest|signature|aws4-hmac-sha256)\s+)?"
    rf"(?:{_ITEM})(?:[,;]\s*(?:[\w-]+=\\*\"[^\"\\\n]{{0,500}}\\*\"|[\w-]+=[^\s\"'\\,;]+))*",
    re.IGNORECASE,
)
_BARE = re.compile(r"(?:(?:bearer|basic)\s+)?[^\s\"'\\,;&<>{}\[\]()]+", re.IGNORECASE)
_CODE = re.compile(r"[A-Za-z_][\w.]*(?=[(\[])")
_REFERENCE = re.compile(r"\$(?:(?:SECRET|ENV)\.\w+|[A-Z_][A-Z0-9_]*)\Z|\*+\Z|\.\.\.\Z|…\Z")
_WORDS = (
    "null none true false nil undefined a an the is are was has must should may can will to of for in and or not your"
    " this that it no on by with if from str string bytes int integer float bool boolean object number any array"
    " required optional missing expired invalid include omit same-origin"
)
_PLAIN = frozenset(_WORDS.split())
"""Words after a colon that begin a sentence or name a type."""
_SCHEMA = {"type", "description", "title", "format", "minLength", "maxLength", "pattern", "writeOnly", "nullable"}
_WHOLE = re.compile(
    r"(?<![\w-])(?:"
    r"(?:sk|rk)[-_](?=[\w-]{0,60}\d)[\w-]{8,}|sk-(?:proj|ant|or|svcacct)-[\w-]{6,}|(?:sk|rk|pk)_(?:live|test)_\w{6,}"
    r"|gh[pousr]_[A-Za-z0-9]{8,}|github_pat_\w{20,}|glpat-[\w-]{12,}|xox[a-z]-[\w-]{6,}|wh(?:sec|sk)[-_][\w+/=-]{6,}"
    r"|npm_[A-Za-z0-9]{30,}|hf_[A-Za-z0-9]{20,}|shpat_[a-f0-9]{20,}|SG\.[\w-]{16,}\.[\w-]{16,}"
    r"|AIza[\w-]{30,}|ya29\.[\w-]{20,}|rota_(?=[\w.-]{0,80}\d)(?![a-z_]+\.)[\w.-]{20,}"
    r"|A(?:KIA|SIA)[0-9A-Z]{16}\b"
    r"|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)"
    r"|-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
_BEARER = re.compile(
    r"\b(bearer\s+)((?=[\w.~+/=-]{0,200}(?:[\d=]|(?-i:[a-z][A-Z])))[\w.~+/=-]{6,}|[\w.~+/=-]{20,})", re.IGNORECASE
)
_BASIC = re.compile(r"\b(basic\s+)([A-Za-z0-9+/_-]{6,1000}={0,2})", re.IGNORECASE)
_SCHEME = re.compile(r"\A(?:bearer|basic|token|api-?key)\s+", re.IGNORECASE)
_USER_OF_URL = re.compile(
    r"(?<=://)(?:[^\s/@\"'<>\\?#:]{0,200}:[^\s/\"'<>\\?]{1,300}|(?![a-z][a-z._-]{0,15}@)[^\s/@\"'<>\\?#:]{1,500})(?=@)"
)
_HINT = re.compile(
    r"key|token|secret|passw|passp|pwd|authorization|credential|cookie|bearer|basic|://|[?&](?:sig|auth|code_|x-)"
    r"|(?<!ta)sk[-_]|[rp]k[-_]|gh[pousr]_|github_|glpat|xox|whs[ek]|rota_|a[ks]ia|aiza|ya29|npm_|hf_|shpat_|sg\.|eyj|-----begin"
)
"""A part of all that is hidden, in lower case; a `task_id`, which is in most lines, isn't one."""


def may_hold_credentials(text: str) -> bool:
    """Whether it is worth a closer look, which costs 20 times more: nearly no line of a log is."""
    return not text.isascii() or _HINT.search(text.lower()) is not None


def without_credentials(text: str, known: Collection[str] = ()) -> str:
    """The text with the values of credentials hidden; JSON stays JSON, also a part of a text or within a string.

    `known`: values that are secrets wherever they stand, as they are or encoded for an address, in JSON or in base64.
    """
    for value in known:
        for form in forms(value):
            text = text.replace(form, REDACTED) if form in text else text
    if not may_hold_credentials(text):
        return text
    text = _USER_OF_URL.sub(REDACTED, text)
    text = _BEARER.sub(rf"\1{REDACTED}", _Values(text).hidden())
    return _WHOLE.sub(REDACTED, _BASIC.sub(_basic, text))


@lru_cache(maxsize=4096)
def forms(value: str) -> tuple[str, ...]:
    """How a secret may be written, longest first; nothing for one that is too short to differ from ordinary words. That
    of a header may stand without its scheme."""
    value = value.strip()
    bare = _SCHEME.sub("", value)
    written = _written(value) | (_written(bare) if bare != value else set())
    return tuple(sorted(written, key=lambda form: (-len(form), form)))


def _written(value: str) -> set[str]:
    if len(value) < SHORTEST:
        return set()
    raw = value.encode()
    written = {value, quote(value, safe=""), quote(value), quote_plus(value), json.dumps(value)[1:-1]}
    written.add(json.dumps(value, ensure_ascii=False)[1:-1])
    for before in range(3):
        within = base64.b64encode(bytes(before) + raw).decode()
        whole = within[(0, 2, 3)[before] : (before + len(raw)) * 8 // 6]
        written |= {whole, whole.replace("+", "-").replace("/", "_")} if len(whole) >= SHORTEST else set()
    return written


def hides_nothing(text: str, known: Collection[str] = ()) -> bool:
    """Does the text hold no credentials?"""
    shown = without_credentials(text, known)
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
    return isinstance(key, str) and _is_name(key) and not (value in (None, True, False, "") or _is_plain(value))


def _is_name(name: str) -> bool:
    return _SECRET_NAME.fullmatch(name) is not None and _PLACE_NAME.fullmatch(name) is None


def _is_plain(value: Any) -> bool:
    """Is it the reference to a secret, or the schema of one?"""
    if isinstance(value, str):
        return value == REDACTED or _REFERENCE.match(value) is not None
    return isinstance(value, dict) and isinstance(value.get("type"), str) and value.keys() <= _SCHEMA


def _basic(found: re.Match[str]) -> str:
    """`Basic` with a user and a password, apart from the word in a sentence."""
    try:
        raw = base64.b64decode(found[2] + "=" * (-len(found[2]) % 4), altchars=b"-_" if "_" in found[2] else None)
        hidden = b":" in raw or any(each.isdigit() for each in found[2])
    except (ValueError, binascii.Error):
        hidden = any(each.isdigit() for each in found[2])
    return f"{found[1]}{REDACTED}" if hidden else found[0]


class _Values:
    """A text whose values of credentials are hidden, in time that grows with its length alone."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._open: set[str] = set()
        self._left = 2 * len(text) + LONGEST

    def hidden(self) -> str:
        kept: list[str] = []
        position, text = 0, self._text
        for found in _BEFORE_VALUE.finditer(text):
            name = found["name"] or ""
            if found.start() < position or (name and not _is_name(name)):
                continue
            header = _HEADER.fullmatch(name) is not None
            value = self._value(found.end(), found["quote"] or "", header=header)
            if value is not None:
                replacement, end = value
                kept += [text[position : found.end()], replacement]
                position = end
        return "".join([*kept, text[position:]])

    def _value(self, start: int, quotes: str, *, header: bool) -> tuple[str, int] | None:
        """What replaces the value that begins there, and where that ends. `quotes`: those of its name."""
        text = self._text
        if quoted := _QUOTE.match(text, start):
            return self._quoted(quoted)
        if text[start : start + 1] in ("{", "["):
            end = self._closing_bracket(start, quotes)
            mark = quotes or '"'
            return (f"{mark}{REDACTED}{mark}", end) if end else None
        if quotes and (scalar := _SCALAR.match(text, start)):
            known = scalar[0] in ("true", "false", "null")
            return None if known else (f"{quotes}{REDACTED}{quotes}", scalar.end())
        bare = (_HEADER_VALUE if header else _BARE).match(text, start)
        if bare is None or bare[0].lower().rstrip(".") in _PLAIN or _REFERENCE.match(bare[0]):
            return None
        if (code := _CODE.match(text, start)) and code.end() == bare.end():
            return None
        return f"{quotes}{REDACTED}{quotes}", bare.end()

    def _quoted(self, opening: re.Match[str]) -> tuple[str, int] | None:
        """Without a closing quote, as in a text that was cut, the value ends with its line."""
        text, quotes, start = self._text, opening[0], opening.end()
        inside_end = self._closing_quote(opening)
        if inside_end is None:
            end = text.find("\n", start)
            return (f"{quotes}{REDACTED}", len(text) if end < 0 else end) if start < len(text) else None
        inside = text[start:inside_end]
        if not inside or inside == REDACTED or _REFERENCE.match(inside):
            return None
        return f"{quotes}{REDACTED}{quotes}", inside_end + len(quotes)

    def _closing_quote(self, opening: re.Match[str]) -> int | None:
        """Where the value's text ends. Backslashes before a quote say how deep in strings of strings it stands."""
        text, depth, mark = self._text, len(opening[1]), opening[2]
        if opening[0] in self._open:
            return None
        at = text.find(mark, opening.end())
        while at >= 0:
            slashes = at
            while slashes > opening.end() and text[slashes - 1] == "\\":
                slashes -= 1
            more = at - slashes - depth
            if more >= 0 and more % (2 * (depth + 1)) == 0:
                return at - depth
            at = text.find(mark, at + 1)
        self._open.add(opening[0])
        return None

    def _closing_bracket(self, start: int, quotes: str) -> int | None:
        """The end of the JSON list or object that begins there; None where it is none, or the schema of a value."""
        limit = start + max(0, min(LONGEST, self._left))
        depth, level, in_string = len(quotes) - 1 if quotes else 0, 0, False
        for found in _MARK.finditer(self._text, start, limit):
            mark = found[0]
            if mark.endswith('"'):
                more = len(mark) - 1 - depth
                in_string ^= more >= 0 and more % (2 * (depth + 1)) == 0
            elif not in_string:
                level += 1 if mark in "{[" else -1
            if level == 0:
                self._left -= found.end() - start
                return found.end() if depth or _is_value(self._text[start : found.end()]) else None
        self._left -= limit - start
        return None


def _is_value(text: str) -> bool:
    try:
        return not _is_plain(json.loads(text))
    except (ValueError, RecursionError):
        return False
