"""Canonical JSON (RFC 8785): one text for one value, whatever wrote it; and its hash, by which a value is named."""

import json
from decimal import Decimal
from hashlib import sha256

from rota_contracts.model import Json

DECIMAL_FROM, EXPONENT_FROM = 1e-6, 1e21
"""Numbers between these are written without an exponent."""


def canonical_json(value: Json) -> str:
    """Keys by their UTF-16 code units, numbers as JavaScript writes them. Whole numbers of more than 53 bits, which
    JavaScript doesn't have, keep all their digits."""
    match value:
        case dict():
            members = sorted(value.items(), key=lambda member: member[0].encode("utf-16-be", "surrogatepass"))
            return "{" + ",".join(f"{_text(name)}:{canonical_json(each)}" for name, each in members) + "}"
        case list():
            return "[" + ",".join(map(canonical_json, value)) + "]"
        case float():
            return _number(value)
    return _text(value)


def sha256_of(value: Json) -> str:
    """SHA-256 of the canonical JSON, in hexadecimal digits."""
    return sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


def _text(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _number(value: float) -> str:
    if value.is_integer() and abs(value) < EXPONENT_FROM:
        return str(int(value))
    if DECIMAL_FROM <= abs(value) < EXPONENT_FROM:
        return format(Decimal(repr(value)), "f")
    digits, exponent = _text(value).split("e")
    return f"{digits}e{int(exponent):+d}"
