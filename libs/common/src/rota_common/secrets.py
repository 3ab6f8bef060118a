"""Secrets by reference in the operator's own files and settings: `$ENV.NAME` stands for an environment variable.

What a team writes is never resolved here: see `rota_common.team_secrets`.
"""

from collections.abc import Mapping

PREFIX = "$ENV."


class MissingSecret(ValueError):
    """The referenced environment variable isn't set. Names the variable, never a value."""


def resolve(text: str, environ: Mapping[str, str]) -> str:
    """`text` itself, or the value of the variable that it refers to."""
    if not text.startswith(PREFIX):
        return text
    name = text.removeprefix(PREFIX)
    value = environ.get(name)
    if not value:
        raise MissingSecret(f"expected the environment variable {name} (referred to as {text}): it is not set")
    return value
