"""Secrets are compared in constant time: the duration must reveal nothing about them."""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

import pytest

from tests.architecture.sources import Source, installed, nodes

SECRET = frozenset({"signature", "signatures", "mac", "hmac", "secret", "secrets", "token", "tokens", "bearer"}) | {
    *("digest", "digests", "hexdigest", "password", "passwords", "passwd", "credential", "credentials"),
    *("api_key", "admin_key", "secret_key", "signing_key", "private_key", "shared_key"),
}
OPERATORS = (ast.Eq, ast.NotEq, ast.In, ast.NotIn)

SENT = "the digest of a body that its sender knows, to see whether it is the same one"
STORED = "the digest of a stored object, to see whether it is whole: its reader has it"
ELSEWHERE = {
    ("trigger_gateway", "first.digest != digest"): SENT,
    ("rota_common", "digest.hexdigest() != stored.sha256"): STORED,
    ("rota_common", "hashlib.sha256(raw).hexdigest() != text.ref.sha256"): STORED,
    ("rota_common", "sha256(raw).hexdigest() != text.ref.sha256"): STORED,
    ("rota_common", "sha256(content).hexdigest() != stored.sha256"): STORED,
}
"""(package, the comparison) → why it reveals nothing about a secret."""


def words(node: ast.AST) -> set[str]:
    """What the name of a value speaks of: `self._first.api_key` of `api_key`, `key` and `api`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            parts = [part for part in re.split(r"[_\d]+", name.lower()) if part]
            return {*parts, *(f"{one}_{two}" for one, two in pairwise(parts))}
        case ast.Call(func=called):
            return words(called)
        case ast.Subscript(value=of, slice=ast.Constant(value=str(key))):
            return words(of) | words(ast.Name(id=key.replace("-", "_")))
        case ast.Subscript(value=of):
            return words(of)
        case ast.Await(value=of) | ast.Starred(value=of):
            return words(of)
        case _:
            return set()


def compared(source: Source) -> Iterator[tuple[int, str]]:
    """Line and text of each comparison of a secret with anything but a constant of the code."""
    for node in nodes(source):
        if not isinstance(node, ast.Compare):
            continue
        sides = [node.left, *node.comparators]
        for operator, left, right in zip(node.ops, sides, sides[1:], strict=False):
            asked = (left,) if isinstance(operator, (ast.In, ast.NotIn)) else (left, right)
            written = any(
                isinstance(side, (ast.Constant, ast.Dict, ast.List, ast.Tuple, ast.Set)) for side in (left, right)
            )
            if isinstance(operator, OPERATORS) and not written and any(words(side) & SECRET for side in asked):
                yield node.lineno, ast.unparse(node)


def test_secrets_are_compared_in_constant_time() -> None:  # TG-29, TG-30
    found = [
        f"{source.name}:{line}: {text}"
        for source in installed()
        for line, text in compared(source)
        if (source.package, text) not in ELSEWHERE
    ]
    assert not found, (
        "use hmac.compare_digest: == takes longer the more of a secret is right. "
        "If it is no secret, name it otherwise, or say why in ELSEWHERE\n" + "\n".join(found)
    )


def test_every_exception_is_still_needed() -> None:
    needed = {(source.package, text) for source in installed() for _, text in compared(source)}
    assert not set(ELSEWHERE) - needed, "take off ELSEWHERE what no longer happens"


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("given == signature", True),
        ("headers['x-signature'] != expected", True),
        ("expected == mac.hexdigest()", True),
        ("self._admin_key == shown", True),
        ("token in self._tokens", True),
        ("a < b == webhook_secret", True),
        ("token2 == other", True),
        ("signature == ''", False),
        ("digest is None", False),
        ("key == other.key", False),
        ("machine == tokenizer", False),
        ("name in secrets", False),
        ("scheme in (Scheme.SLACK, Scheme.GITHUB)", False),
        ("hmac.compare_digest(signature, expected)", False),
    ],
)
def test_the_check_sees_what_it_looks_for(text: str, seen: bool) -> None:
    assert bool(list(compared(Source("x.py", "x", ast.parse(text), text)))) is seen
