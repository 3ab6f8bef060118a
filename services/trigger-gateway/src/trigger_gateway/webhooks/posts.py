"""Posts as they came in: headers and body, for the team's admins; no I/O.

Header values that prove who sent a post are never stored. Bodies are stored as they came, like the data of their
events, and shown without credentials: to look for these takes longer than to accept the post.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from urllib.parse import parse_qsl, urlencode

from rota_common.redaction import REDACTED, json_without_credentials, without_credentials
from rota_contracts.streams import MIB
from trigger_gateway.webhooks.inbound_event import FORM, InboundEvent, SentPost
from trigger_gateway.webhooks.inbound_log import Refusal

BODY_KEPT = 64 * 1024
"""Bytes of one body. One post can't use up the share of its team."""

REFUSED_BODY_KEPT = 8 * 1024
REFUSED_PART = 16
"""Anybody may send a post that is refused. So these have a share of their own, a sixteenth of the other one's size."""

HEADERS_KEPT = 8 * 1024

_PROOF = re.compile(r"signature|hmac|(?:^|[-_])(?:auth|sig|pass|jwt|session|key)(?:[-_]|$)", re.IGNORECASE)
_NO_PROOF = frozenset({"idempotency-key", "x-idempotency-key", "x-event-key"})


@dataclass(frozen=True)
class PostLimits:
    """`days` that a post is kept, 0: none is. `bytes_per_team`: 0: no limit."""

    days: int = 7
    bytes_per_team: int = 64 * MIB

    def share(self, *, refused: bool) -> int:
        return self.bytes_per_team // REFUSED_PART if refused else self.bytes_per_team


@dataclass(frozen=True)
class KeptPost:
    """A post as it is stored. `size`: bytes of the body as it was sent; `body` is its beginning if it is longer."""

    team: str
    at: datetime
    headers: Mapping[str, str]
    body: bytes
    size: int
    refused: bool = False

    @property
    def weight(self) -> int:
        """Bytes of the team's share."""
        return len(self.body) + sum(len(name) + len(value) for name, value in self.headers.items())

    @property
    def is_cut(self) -> bool:
        return self.size > len(self.body)


def accepted_post(event: InboundEvent) -> KeptPost | None:
    """The post of an event; None for an event that was not posted."""
    return _kept(event.team, event.received_at, event.sent, BODY_KEPT) if event.sent else None


def refused_post(refusal: Refusal) -> KeptPost | None:
    if refusal.sent is None:
        return None
    return replace(_kept(refusal.team, refusal.at, refusal.sent, REFUSED_BODY_KEPT), refused=True)


def shown_headers(post: KeptPost) -> dict[str, str]:
    return {name: without_credentials(value) for name, value in post.headers.items()}


def shown_body(post: KeptPost) -> str:
    """The body without credentials; JSON stays JSON, and a form a form. May take 100 ms."""
    text = post.body.decode(errors="replace")
    if not post.headers.get("content-type", "").startswith(FORM):
        return without_credentials(text)
    fields = parse_qsl(text, keep_blank_values=True)
    return urlencode([(name, json_without_credentials({name: value})[name]) for name, value in fields], safe="[]")


def _kept(team: str, at: datetime, sent: SentPost, limit: int) -> KeptPost:
    shown, left = dict[str, str](), HEADERS_KEPT
    for name, value in sent.headers.items():
        left -= len(name) + len(value)
        if left < 0:
            break
        is_proof = _proves_sender(name) or name.lower() == sent.signature_header.lower()
        shown[name] = REDACTED if is_proof else value
    return KeptPost(team, at, shown, sent.body[:limit], len(sent.body))


@lru_cache(maxsize=1024)
def _proves_sender(name: str) -> bool:
    """Is the value of such a header a signature, or a credential of any other kind?"""
    if name.lower() in _NO_PROOF:
        return False
    value = "a value"
    is_kept = json_without_credentials({name: value}) == {name: value}
    return not is_kept or _PROOF.search(name) is not None
