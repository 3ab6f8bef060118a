"""Sealed secrets: encrypted, and bound to whose they are."""

from typing import Protocol

from pydantic import Field

from rota_contracts.model import Part

Binding = tuple[str, ...]
"""The owner of a sealed secret: it opens for no other."""


class EncryptedSecret(Part):
    """A secret as it is stored: encrypted, and never shown again."""

    sealed: str = Field(repr=False)


class NoEncryptionKey(Exception):
    """Secrets can't be stored: neither ROTA_SECRETS_KEY nor ROTA_SECRETS_KEY_FILE is set."""


class SecretCipher(Protocol):
    def reload(self) -> bool:
        """Read the keys again where they come from; True if they are others now. Raise ValueError for what are none:
        the ones from before stay."""
        ...

    @property
    def fingerprints(self) -> list[str]:
        """Of its keys, the first one first."""
        ...

    def encrypt(self, secret: str, *, bound_to: Binding) -> EncryptedSecret:
        """Raise NoEncryptionKey if there is no key."""
        ...

    def decrypt(self, secret: EncryptedSecret, *, bound_to: Binding) -> str:
        """Raise ValueError if no key decrypts it, or if it is bound to something else."""
        ...

    def is_current(self, secret: EncryptedSecret) -> bool:
        """Is it sealed with the first key, in today's form?"""
        ...


def of_source(team: str, source: str) -> Binding:
    return "source", team, source


def of_team(team: str, name: str) -> Binding:
    return "secret", team, name
