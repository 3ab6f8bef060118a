"""Links to approvals: signed, for one member, about one call with exactly its arguments, until it expires.

A token is `<claims>.<signature>`, both in URL-safe base64. It holds nothing that the mail with it doesn't say.
"""

import base64
import hashlib
import json
from dataclasses import astuple, dataclass
from datetime import UTC, datetime

from trigger_gateway.approvals.ports import LinkSigner
from trigger_gateway.problems import Forbidden

PATH = "/v1/approvals/"
TOKEN_LIMIT = 2_000
FORM = "a1"
ADDRESS_DIGITS = 16


@dataclass(frozen=True)
class LinkClaims:
    """`address` is a digest of the address that the link was mailed to: a member with another one can't use it.
    `expires` in seconds since 1970."""

    team: str
    approval_id: str
    arguments_sha256: str
    member: str
    address: str
    expires: int

    def expired(self, now: datetime) -> bool:
        return now >= datetime.fromtimestamp(self.expires, UTC)


@dataclass(frozen=True, kw_only=True)
class ApprovalLinks:
    """`base_url` is where people reach the gateway; empty: there are no links."""

    signer: LinkSigner
    base_url: str

    def make(self, claims: LinkClaims) -> str | None:
        """None without a base URL or a key."""
        text = _packed(json.dumps([FORM, *astuple(claims)], separators=(",", ":")).encode())
        signature = self.signer.sign(text) if self.base_url else None
        return f"{self.base_url}{PATH}{text}.{signature}" if signature else None

    def read(self, token: str) -> LinkClaims:
        """The claims of a token that was made here. Raise Forbidden for any other."""
        text, _, signature = token[:TOKEN_LIMIT].partition(".")
        if not token.isascii() or not self.signer.signed(text, signature):
            raise Forbidden("link_invalid", "this link isn't valid: it was changed, or it is not complete")
        form, *claims = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        if form != FORM:
            raise Forbidden("link_invalid", "this link is of another version of Rota: decide on the command line")
        return LinkClaims(*claims)


def address_digest(email: str) -> str:
    return hashlib.sha256(email.lower().encode()).hexdigest()[:ADDRESS_DIGITS]


def _packed(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")
