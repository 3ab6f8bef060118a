"""Signed webhook requests, in each scheme that a source may have."""

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from secrets import token_bytes
from typing import Any

from rota.errors import CliError
from rota_contracts.sources import SIGNATURE_HEADER, Scheme

Request = tuple[bytes, dict[str, str]]
STANDARD_HEADERS = ("webhook-id", "webhook-timestamp", "webhook-signature")
TOLERANCE_S = 300
"""How old, or early, a request may be."""


@dataclass(frozen=True)
class Signer:
    """Signs requests in one scheme. `header` holds the signature of the scheme hmac."""

    scheme: Scheme
    secret: str
    header: str = SIGNATURE_HEADER

    def event(self, *, message_id: str, at: datetime, type: str, data: dict[str, Any]) -> Request:
        """The body and the headers of an event. CliError when the secret is invalid."""
        named: dict[str, str] = {}
        match self.scheme:
            case Scheme.GITHUB:
                event, _, action = type.partition(".")
                named, body = {"x-github-event": event}, ({"action": action} if action else {}) | data
            case Scheme.STRIPE:
                body = {"id": message_id, "object": "event", "type": type, "data": {"object": data}}
            case Scheme.SLACK:
                body = {"type": "event_callback", "event_id": message_id, "event": {"type": type, **data}}
            case _:
                body = {"type": type, "timestamp": at.isoformat(), "data": data}
        raw, headers = self.request(body, message_id=message_id, at=at)
        return raw, headers | named

    def request(self, body: dict[str, Any], *, message_id: str, at: datetime) -> Request:
        """Any body, signed. CliError when the secret is invalid."""
        raw = json.dumps(body).encode()
        return raw, {"content-type": "application/json"} | self._proof(raw, message_id, str(int(at.timestamp())))

    def _proof(self, raw: bytes, message_id: str, at: str) -> dict[str, str]:
        match self.scheme:
            case Scheme.STANDARD:
                signature = _mac(_decoded(self.secret), f"{message_id}.{at}.".encode() + raw).digest()
                value = f"v1,{base64.b64encode(signature).decode()}"
                return {"webhook-id": message_id, "webhook-timestamp": at, "webhook-signature": value}
            case Scheme.GITHUB:
                return {"x-github-delivery": message_id, "x-hub-signature-256": f"sha256={self._hex(raw)}"}
            case Scheme.STRIPE:
                return {"stripe-signature": f"t={at},v1={self._hex(at.encode() + b'.' + raw)}"}
            case Scheme.SLACK:
                signature_in_hex = self._hex(f"v0:{at}:".encode() + raw)
                return {"x-slack-request-timestamp": at, "x-slack-signature": f"v0={signature_in_hex}"}
            case Scheme.HMAC:
                return {"x-idempotency-key": message_id, self.header.lower(): f"sha256={self._hex(raw)}"}
            case Scheme.BEARER:
                return {"x-idempotency-key": message_id, "authorization": f"Bearer {self.secret}"}

    def _hex(self, content: bytes) -> str:
        return _mac(self.secret.encode(), content).hexdigest()


def signed_event(secret: str, *, message_id: str, at: datetime, type: str, data: dict[str, Any]) -> Request:
    """The body and the headers of an event in Standard Webhooks. CliError when the secret is invalid."""
    return Signer(Scheme.STANDARD, secret).event(message_id=message_id, at=at, type=type, data=data)


def new_secret() -> str:
    """A signing secret of Standard Webhooks: `whsec_` and 24 random bytes in base64."""
    return f"whsec_{base64.b64encode(token_bytes(24)).decode()}"


def check_secret(secret: str) -> None:
    """CliError when the secret is none of Standard Webhooks."""
    _decoded(secret)


def signature_problem(secret: str, body: bytes, headers: Mapping[str, str], *, at: datetime) -> str:
    """Why a request isn't signed by Standard Webhooks with this secret; empty if it is. `headers`: in lower case.
    CliError when the secret is invalid."""
    missing = [name for name in STANDARD_HEADERS if not headers.get(name)]
    if missing:
        return f"expected the headers {', '.join(STANDARD_HEADERS)}, got none of {', '.join(missing)}"
    message_id, sent, signatures = (headers[name] for name in STANDARD_HEADERS)
    if not (sent.isascii() and sent.isdigit()):
        return f"expected seconds since 1970 in webhook-timestamp, got {sent[:40]!r}"
    if abs(at.timestamp() - int(sent[:20])) > TOLERANCE_S:
        return f"expected a webhook-timestamp within {TOLERANCE_S} s of {int(at.timestamp())}, got {sent[:20]}"
    proof = _mac(_decoded(secret), f"{message_id}.{sent}.".encode() + body).digest()
    wanted = f"v1,{base64.b64encode(proof).decode()}".encode()
    given = [signature.encode() for signature in signatures.split(" ")]
    found = [hmac.compare_digest(each, wanted) for each in given]
    return "" if any(found) else "no signature is right: is it the target's secret?"


def _mac(key: bytes, content: bytes) -> hmac.HMAC:
    return hmac.new(key, content, hashlib.sha256)


def _decoded(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError) as error:
        raise _invalid_secret(str(error)) from error
    if not key:
        raise _invalid_secret("nothing follows whsec_")
    return key


def _invalid_secret(reason: str) -> CliError:
    return CliError(f"expected a signing secret like whsec_ and base64: {reason}", hint="use the secret of the source")
