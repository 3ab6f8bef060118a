"""A team's secrets: its admins set, list and remove them; a value is never read back."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from rota_common.clock import Clock
from rota_contracts.messages.secrets import VALUE_LIMIT
from trigger_gateway.problems import Conflict, FieldProblem, Invalid, NotFound
from trigger_gateway.secrets.ports import OperatorSecrets, Secrets, TeamSecret
from trigger_gateway.secrets.sealed_secret import NoEncryptionKey, SecretCipher, of_team

TEAM_LIMIT = 200
"""Secrets that a team may set."""

OWN_PREFIX = "ROTA_"
"""Of the names of Rota's own settings, which no team's secret has."""

WHITESPACE = "\t\n\r"


@dataclass(frozen=True)
class SecretInfo:
    """A secret without its value. One that the operator gives has no instant."""

    name: str
    given_by_operator: bool = False
    set_at: datetime | None = None
    set_by: str = ""


@dataclass(frozen=True, kw_only=True)
class ManageSecrets:
    secrets: Secrets
    operator: OperatorSecrets
    cipher: SecretCipher
    clock: Clock
    on_change: Callable[[str, str], None]

    async def set(self, team: str, name: str, value: str, *, by: str) -> SecretInfo:
        """Raise Invalid for a name or a value that can't be, Conflict if the team has too many."""
        if wrong := _problem(name, value):
            raise Invalid("invalid_secret", "the secret is not valid", fields=[wrong])
        try:
            sealed = self.cipher.encrypt(value, bound_to=of_team(team, name))
        except NoEncryptionKey as error:
            raise Conflict("no_secrets_key", NO_KEY) from error
        stored = TeamSecret(team, name, sealed, self.clock(), by)
        if not await self.secrets.put(stored, limit=TEAM_LIMIT):
            text = f"expected at most {TEAM_LIMIT} secrets, which team {team} has: remove one that isn't used any more"
            raise Conflict("too_many_secrets", text)
        self.on_change(team, name)
        return _info(stored)

    async def list(self, team: str) -> list[SecretInfo]:
        """By name; one that is set goes before one of the same name that the operator gives."""
        known = {name: SecretInfo(name, given_by_operator=True) for name in await self.operator.names(team)}
        known |= {stored.name: _info(stored) for stored in await self.secrets.of_team(team)}
        return [known[name] for name in sorted(known)]

    async def remove(self, team: str, name: str) -> None:
        removed = await self.secrets.remove(team, name)
        self.on_change(team, name)
        if removed:
            return
        if name in await self.operator.names(team):
            raise Conflict("operators_secret", f"{name} is given by the operator of Rota, who alone can remove it")
        raise NotFound("secret_not_found", f"team {team} has no secret {name}")


NO_KEY = (
    "secrets can't be kept here, because this Rota has no key to encrypt them: "
    "its operator sets ROTA_SECRETS_KEY_FILE for the trigger-gateway"
)


def _problem(name: str, value: str) -> FieldProblem | None:
    if name.upper().startswith(OWN_PREFIX):
        return FieldProblem("name", f"expected another name than {name}: {OWN_PREFIX}… are settings of Rota")
    if not value or len(value.encode()) > VALUE_LIMIT:
        return FieldProblem("value", f"expected 1 to {VALUE_LIMIT} bytes, not {len(value.encode())}")
    if any(character < " " and character not in WHITESPACE for character in value):
        return FieldProblem("value", "expected text without control characters: write bytes as base64")
    return None


def _info(stored: TeamSecret) -> SecretInfo:
    return SecretInfo(stored.name, set_at=stored.set_at, set_by=stored.set_by)
