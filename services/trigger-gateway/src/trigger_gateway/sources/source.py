"""Sources of a team's events, and their settings."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import Field

from rota_contracts.model import Name, Part
from rota_contracts.robots.events import Conditions, Patterns
from rota_contracts.secret_refs import SecretRef
from rota_contracts.sources import OPERATIONS, SIGNATURE_HEADER, Operation, Scheme, SourceKind
from trigger_gateway.secrets.sealed_secret import EncryptedSecret

FieldName = Annotated[str, Field(min_length=1, max_length=100)]
StoredSecret = SecretRef | EncryptedSecret
"""A reference like `$SECRET.GITHUB_WEBHOOK`, or a secret stored encrypted."""


class WebhookSettings(Part):
    """A source that is posted to. Two secrets at a time let a sender change from one to the other."""

    scheme: Scheme = Scheme.STANDARD
    secrets: list[StoredSecret] = Field(min_length=1, max_length=2)
    signing_secret: StoredSecret | None = Field(
        default=None, description="bearer: with it, `header` must also hold the body's HMAC-SHA256"
    )
    header: str = Field(
        default=SIGNATURE_HEADER, pattern=r"^[A-Za-z0-9-]{1,100}$", description="hmac: where the signature is"
    )
    event_type_field: FieldName | None = Field(default=None, description="the body's field with the event's type")
    id_field: FieldName | None = Field(default=None, description="hmac, bearer: the body's field with the event's id")
    event_types: Patterns = Field(
        default=[], description="others are refused; exact or with * and ?; empty = every type"
    )
    rate_limit: int | None = Field(default=None, ge=1, description="events a minute; none: the gateway's own limit")
    robot: Name | None = Field(
        default=None,
        description="this robot answers at once: the body is {message}, the answer {response, model}",
    )


class DatabaseSettings(Part):
    """A MongoDB collection whose changes are events. The event's type is the operation."""

    url: SecretRef = Field(description="names the secret that holds the address, which the operator gives the team")
    database: str = Field(pattern=r'^[^/\\. "$*<>:|?\x00]{1,63}$')
    collection: str = Field(pattern=r"^[^$\x00]{1,120}$")
    operations: list[Operation] = Field(default=[*OPERATIONS], min_length=1)
    conditions: Conditions = Field(default=[], description="what must hold of the event's data")


@dataclass(frozen=True)
class Source:
    """Exactly one of `webhook` and `database` is set. `rev` grows with each change."""

    team: str
    name: str
    created_at: datetime
    webhook: WebhookSettings | None = None
    database: DatabaseSettings | None = None
    rev: int = 1

    def __post_init__(self) -> None:
        if (self.webhook is None) is (self.database is None):
            raise TypeError(f"expected {self.team}/{self.name} to be a webhook or a database")

    @property
    def kind(self) -> SourceKind:
        return SourceKind.WEBHOOK if self.webhook is not None else SourceKind.DATABASE

    def need_webhook(self) -> WebhookSettings:
        """The settings of a source that must be a webhook."""
        if self.webhook is None:
            raise TypeError(f"expected {self.team}/{self.name} to be a webhook: it is a database")
        return self.webhook
