"""Signature schemes of senders: each is checked over the bytes as received, in constant time."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from rota_contracts.sources import Scheme
from trigger_gateway.problems import Forbidden, Unauthenticated

TOLERANCE_S = 300
SIGNATURES_READ = 20
"""Of one header: enough for any change of secrets, and no way to keep the gateway busy."""

STANDARD_PREFIX = "whsec_"
TIMESTAMP_DIGITS = 12

EXPECTED = {
    Scheme.STANDARD: "webhook-id, webhook-timestamp and a matching webhook-signature",
    Scheme.GITHUB: "a matching X-Hub-Signature-256: sha256=<hex>",
    Scheme.STRIPE: "a matching Stripe-Signature: t=<seconds>,v1=<hex>",
    Scheme.SLACK: "X-Slack-Request-Timestamp and a matching X-Slack-Signature: v0=<hex>",
}
STAMPED = frozenset({Scheme.STANDARD, Scheme.STRIPE, Scheme.SLACK})

STANDARD_PREFIXES = ("webhook-", "svix-")
"""Of the headers of Standard Webhooks; Svix, which began them, still sends its own prefix."""

Headers = Mapping[str, str]


@dataclass(frozen=True)
class SignedContent:
    """The signed bytes of a request, its signatures, and its timestamp if the scheme has one."""

    content: bytes
    signatures: Sequence[str]
    timestamp: str | None = None


def standard_header(headers: Headers, part: str) -> str:
    """`part` is id, timestamp or signature; empty where there is none."""
    return next((value for prefix in STANDARD_PREFIXES if (value := headers.get(prefix + part))), "")


def key_of(scheme: Scheme, secret: str) -> bytes:
    """The key that a secret stands for; raises ValueError for one that isn't of the scheme's form."""
    if not secret:
        raise ValueError("expected a secret, not nothing")
    if scheme is not Scheme.STANDARD:
        return secret.encode()
    try:
        key = base64.b64decode(secret.removeprefix(STANDARD_PREFIX), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError("expected whsec_ and base64") from error
    if not key:
        raise ValueError("expected whsec_ and base64, not whsec_ alone")
    return key


def check_signature(
    scheme: Scheme, header: str, keys: Sequence[bytes], headers: Headers, body: bytes, now: datetime
) -> None:
    """Raise Forbidden unless one of the keys has signed this, not more than 5 minutes away from now.

    `header` is where the scheme hmac has its signature. All keys are tried, so that the time says nothing of them.
    """
    claim = _claim(scheme, header, headers, body)
    right = [form for key in keys for form in _forms(scheme, hmac.new(key, claim.content, hashlib.sha256).digest())]
    signed = _any_equal(right, claim.signatures)
    if not signed or not _recent(claim.timestamp, now):
        expected = EXPECTED.get(scheme, f"a matching {header}: sha256=<hex of the body's HMAC-SHA256>")
        age = f", not more than {TOLERANCE_S // 60} minutes old" if scheme in STAMPED else ""
        cause = _cause(scheme, claim, headers, now)
        raise Forbidden("bad_signature", f"expected {expected}{age}", cause=cause)


def _cause(scheme: Scheme, claim: SignedContent, headers: Headers, now: datetime) -> str:
    """Why a signature is refused, for the owner; its sender gets one answer for all of these."""
    if scheme is Scheme.STANDARD and not standard_header(headers, "id"):
        return "no_id: expected the header webhook-id"
    if not any(claim.signatures):
        return "no_signature: expected a signature where the scheme has it"
    if claim.timestamp == "":
        return "no_timestamp: expected a timestamp where the scheme has it"
    sent = _seconds(claim.timestamp)
    if claim.timestamp is not None and sent is None:
        return "bad_timestamp: expected whole seconds since 1970"
    if sent is not None and not _recent(claim.timestamp, now):
        word, received = "timestamp_too_old" if sent < now.timestamp() else "timestamp_ahead", int(now.timestamp())
        return f"{word}: sent at {sent}, received at {received}: {abs(received - sent)} s, at most {TOLERANCE_S}"
    return "no_match: none of the source's secrets has signed this"


def check_bearer(keys: Sequence[bytes], headers: Headers) -> None:
    """Raise Unauthenticated unless one of the keys is shown."""
    kind, _, shown = headers.get("authorization", "").partition(" ")
    if not _any_equal(keys, [shown.strip()]) or kind.lower() != "bearer":
        raise Unauthenticated("unauthenticated", "expected Authorization: Bearer and this source's key")


def _claim(scheme: Scheme, header: str, headers: Headers, body: bytes) -> SignedContent:
    match scheme:
        case Scheme.STANDARD:
            message_id, at = standard_header(headers, "id"), standard_header(headers, "timestamp")
            listed = standard_header(headers, "signature").split(" ")
            content = b".".join((_bytes(message_id), _bytes(at), body))
            return SignedContent(content, _after("v1,", listed) if message_id else [], at)
        case Scheme.GITHUB:
            return SignedContent(body, _after("sha256=", [headers.get("x-hub-signature-256", "")]))
        case Scheme.STRIPE:
            parts = [part.strip() for part in headers.get("stripe-signature", "").split(",")]
            at = next(iter(_after("t=", parts)), "")
            return SignedContent(_bytes(at) + b"." + body, _after("v1=", parts), at)
        case Scheme.SLACK:
            at = headers.get("x-slack-request-timestamp", "")
            content = b":".join((b"v0", _bytes(at), body))
            return SignedContent(content, _after("v0=", [headers.get("x-slack-signature", "")]), at)
        case _:
            return SignedContent(body, [headers.get(header.lower(), "").strip().removeprefix("sha256=")])


def _after(prefix: str, values: Iterable[str]) -> list[str]:
    return [value.removeprefix(prefix) for value in values if value.startswith(prefix)]


def _forms(scheme: Scheme, mac: bytes) -> list[bytes]:
    """How a signature may be written."""
    in_hex, in_base64 = mac.hex().encode(), base64.b64encode(mac)
    match scheme:
        case Scheme.STANDARD:
            return [in_base64]
        case Scheme.GITHUB | Scheme.STRIPE | Scheme.SLACK:
            return [in_hex]
        case _:
            return [in_hex, in_hex.upper(), in_base64]


def _any_equal(right: Sequence[bytes], given: Sequence[str]) -> bool:
    """Looks at all of them, whichever fits."""
    shown = [_bytes(one) for one in given[:SIGNATURES_READ]]
    found = [hmac.compare_digest(one, other) for one in right for other in shown]
    return any(found)


def _recent(timestamp: str | None, now: datetime) -> bool:
    """None is a scheme without a timestamp."""
    if timestamp is None:
        return True
    sent = _seconds(timestamp)
    return sent is not None and abs(now.timestamp() - sent) <= TOLERANCE_S


def _seconds(timestamp: str | None) -> int | None:
    """Seconds since 1970; None for anything else."""
    valid = timestamp and timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= TIMESTAMP_DIGITS
    return int(timestamp) if timestamp and valid else None


def _bytes(header: str) -> bytes:
    """A header as it was sent; the server reads its bytes as Latin-1."""
    return header.encode("latin-1", "replace")
