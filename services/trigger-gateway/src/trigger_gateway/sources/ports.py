"""Ports of sources: their records and the encryption of their secrets."""

from typing import Protocol

from trigger_gateway.sources.source import EncryptedSecret, Source
from trigger_gateway.teams.shares import Allow, allow_all


class Sources(Protocol):
    async def add(self, source: Source, *, allow: Allow = allow_all) -> bool:
        """False if the team has a source of this name already. `allow` judges the sources of its kind that the team
        then has."""
        ...

    async def find(self, team: str, name: str) -> Source | None: ...

    async def of_team(self, team: str) -> list[Source]:
        """By name."""
        ...

    async def databases(self) -> list[Source]:
        """Every team's databases, by team and name."""
        ...

    async def replace(self, source: Source, *, expected: Source) -> bool:
        """False if the source is no longer as `expected`."""
        ...

    async def remove(self, team: str, name: str) -> bool:
        """False if the team has no such source."""
        ...


class NoEncryptionKey(Exception):
    """Secrets can't be stored: ROTA_SECRETS_KEY isn't set."""


class SecretCipher(Protocol):
    def encrypt(self, secret: str) -> EncryptedSecret:
        """Raise NoEncryptionKey if there is no key."""
        ...

    def decrypt(self, secret: EncryptedSecret) -> str:
        """Raise ValueError if no key decrypts it."""
        ...
