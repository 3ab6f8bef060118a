"""Secrets of teams in memory, held to the same tests as the real ones."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from trigger_gateway.secrets.ports import TeamSecret
from trigger_gateway.secrets.sealed_secret import EncryptedSecret


class InMemorySecrets:
    def __init__(self) -> None:
        self._secrets: dict[tuple[str, str], TeamSecret] = {}

    async def put(self, secret: TeamSecret, *, limit: int) -> bool:
        key = secret.team, secret.name
        if key not in self._secrets and len(await self.of_team(secret.team)) >= limit:
            return False
        self._secrets[key] = secret
        return True

    async def find(self, team: str, names: Collection[str]) -> list[TeamSecret]:
        return [secret for secret in await self.of_team(team) if secret.name in names]

    async def of_team(self, team: str) -> list[TeamSecret]:
        return sorted((each for each in self._secrets.values() if each.team == team), key=lambda each: each.name)

    async def remove(self, team: str, name: str) -> bool:
        return self._secrets.pop((team, name), None) is not None

    async def page(self, after: tuple[str, str], *, limit: int) -> Sequence[TeamSecret]:
        return [self._secrets[key] for key in sorted(self._secrets) if key > after][:limit]

    async def reseal(self, stored: TeamSecret, sealed: EncryptedSecret) -> None:
        key = stored.team, stored.name
        kept = self._secrets.get(key)
        if kept == stored:
            self._secrets[key] = replace(stored, secret=sealed)
