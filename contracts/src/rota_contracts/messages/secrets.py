"""Secrets of teams: the services that use them in a team's name ask for their values."""

from pydantic import ConfigDict, Field

from rota_contracts.model import Name, Part
from rota_contracts.secret_refs import SecretName

SECRETS_LIMIT = 50
"""Secrets in one reply, which must fit into a message."""

VALUE_LIMIT = 8 * 1024
"""Bytes of a secret's value."""


class SecretValue(Part):
    """A secret in the clear: it is shown in no log and no error."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    name: SecretName
    value: str = Field(repr=False)


class ReadSecrets(Part):
    """Request to the gateway: the values of these secrets of the team."""

    team_id: Name
    names: list[SecretName] = Field(min_length=1, max_length=SECRETS_LIMIT)


class SecretsReply(Part):
    """Those of the requested secrets that the team has."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    secrets: list[SecretValue] = []
