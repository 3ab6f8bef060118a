"""Canonical JSON as RFC 8785 has it."""

from hashlib import sha256
from typing import Any

import pytest

from rota_contracts.canonical_json import canonical_json, sha256_of

CASES: list[tuple[Any, str]] = [
    ({"b": 1, "a": [True, None, "x"]}, '{"a":[true,null,"x"],"b":1}'),
    ({"\U0001f600": 1, "\ufb33": 2}, '{"\U0001f600":1,"\ufb33":2}'),
    ("\u20ac$\u000f\n'\"\\", '"\u20ac$\\u000f\\n\'\\"\\\\"'),
    (42.0, "42"),
    (-0.0, "0"),
    (333333333.3333333, "333333333.3333333"),
    (1e21, "1e+21"),
    (1e20, "100000000000000000000"),
    (4.5, "4.5"),
    (0.002, "0.002"),
    (0.000001, "0.000001"),
    (1e-7, "1e-7"),
    (1.5e-27, "1.5e-27"),
    (2**63 - 1, "9223372036854775807"),
]


def test_a_value_has_one_text(subtests: pytest.Subtests) -> None:  # DEC-57
    for value, text in CASES:
        with subtests.test(value=value):
            assert canonical_json(value) == text


def test_the_hash_names_the_value_and_not_how_it_was_written() -> None:  # DEC-57
    assert sha256_of({"b": 1.0, "a": 2}) == sha256_of({"a": 2, "b": 1}) == sha256(b'{"a":2,"b":1}').hexdigest()
    assert sha256_of({"a": True}) != sha256_of({"a": 1})
