"""References to a team's secrets: `$SECRET.NAME`, or `$ENV.NAME`, the specification's spelling of the same."""

import hashlib
from typing import Annotated

from pydantic import AfterValidator, StringConstraints, WithJsonSchema

PREFIXES = ("$SECRET.", "$ENV.")
NAME_LIMIT = 100

SecretName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=NAME_LIMIT)]
"""The name of a secret, as it could be a variable's."""


def is_reference(text: str) -> bool:
    return text.startswith(PREFIXES)


def secret_name(reference: str) -> str | None:
    """The name in a reference; None if it isn't one, or none with a possible name."""
    prefix = next((prefix for prefix in PREFIXES if reference.startswith(prefix)), None)
    name = reference.removeprefix(prefix) if prefix else ""
    return name if name.isidentifier() and name.isascii() and len(name) <= NAME_LIMIT else None


def _checked(text: str) -> str:
    if secret_name(text) is None:
        raise ValueError("expected a reference like $SECRET.SLACK_HOOK: a secret is never written into a definition")
    return text


SecretRef = Annotated[
    str,
    AfterValidator(_checked),
    WithJsonSchema(
        {"anyOf": [{"type": "string", "pattern": rf"^\${word}\.[A-Za-z_][A-Za-z0-9_]*$"} for word in ("ENV", "SECRET")]}
    ),
]
"""The reference to a secret of the team that writes it."""


def key_fingerprint(key: str) -> str:
    """A master key's name: it says which key it is, and nothing about it."""
    return hashlib.sha256(b"rota master key " + key.strip().encode()).hexdigest()[:12]
