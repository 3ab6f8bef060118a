"""The values of a team's secrets: those that it has set, and those that the operator gives it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from rota_contracts.messages.secrets import ReadSecrets as Request
from rota_contracts.messages.secrets import SecretsReply, SecretValue
from trigger_gateway.secrets.ports import OperatorSecrets, Secrets, TeamSecret
from trigger_gateway.secrets.sealed_secret import SecretCipher, of_team


@dataclass(frozen=True, kw_only=True)
class ReadSecrets:
    secrets: Secrets
    operator: OperatorSecrets
    cipher: SecretCipher
    log: Any

    async def __call__(self, request: Request) -> SecretsReply:
        """The reply to a service that uses them in the team's name."""
        values = await self.values(request.team_id, request.names)
        return SecretsReply(secrets=[SecretValue(name=name, value=value) for name, value in values.items()])

    async def values(self, team: str, names: Collection[str]) -> Mapping[str, str]:
        """Those that there are: what the team has set goes first."""
        stored = await self.secrets.find(team, names)
        opened = {secret.name: value for secret in stored if (value := self._opened(secret))}
        rest = [name for name in names if name not in opened]
        return {**opened, **await self.operator.read(team, rest)} if rest else opened

    def _opened(self, stored: TeamSecret) -> str | None:
        """None for one that no key opens: the log says which, and the caller that it is missing."""
        try:
            return self.cipher.decrypt(stored.secret, bound_to=of_team(stored.team, stored.name))
        except ValueError as error:
            self.log.warning("secret can't be opened", team=stored.team, secret=stored.name, reason=str(error))
            return None
