"""Sources of events: their kinds, the signature schemes of webhooks, the operations of databases."""

from enum import StrEnum
from typing import Literal, get_args


class SourceKind(StrEnum):
    """The kind of a source, as a robot's subscription names it."""

    WEBHOOK = "webhook"
    DATABASE = "database"


class Scheme(StrEnum):
    """How the sender of a webhook authenticates its requests."""

    STANDARD = "standard_webhooks"
    GITHUB = "github"
    STRIPE = "stripe"
    SLACK = "slack"
    HMAC = "hmac"
    BEARER = "bearer"


SIGNATURE_HEADER = "X-Webhook-Signature"
"""Carries the signature of the scheme hmac, unless the source names another header."""

Operation = Literal["insert", "update", "replace", "delete"]
OPERATIONS: tuple[Operation, ...] = get_args(Operation)
"""The changes of a database that can be events; each is the type of its event."""
