"""An event as its sender posts it, with the headers that prove who sent it: for each scheme that a source may have."""

import base64
import binascii
import hashlib
import hmac
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rota.errors import CliError
from rota_contracts.sources import SIGNATURE_HEADER, Scheme

Posted = tuple[bytes, dict[str, str]]


@dataclass(frozen=True)
class Signer:
    """Signs as senders of this scheme do. `header` is where the scheme hmac has its signature."""

    scheme: Scheme
    secret: str
    header: str = SIGNATURE_HEADER

    def event(self, *, message_id: str, at: datetime, type: str, data: dict[str, Any]) -> Posted:
        """The body and the headers of an event. CliError when the secret isn't one."""
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
        raw, headers = self.posted(body, message_id=message_id, at=at)
        return raw, headers | named

    def posted(self, body: dict[str, Any], *, message_id: str, at: datetime) -> Posted:
        """Any body, signed. CliError when the secret isn't one."""
        raw = json.dumps(body).encode()
        return raw, {"content-type": "application/json"} | self._proof(raw, message_id, str(int(at.timestamp())))

    def _proof(self, raw: bytes, message_id: str, at: str) -> dict[str, str]:
        match self.scheme:
            case Scheme.STANDARD:
                signature = _mac(_decoded(self.secret), f"{message_id}.{at}.".encode() + raw).digest()
                shown = f"v1,{base64.b64encode(signature).decode()}"
                return {"webhook-id": message_id, "webhook-timestamp": at, "webhook-signature": shown}
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


def signed_event(secret: str, *, message_id: str, at: datetime, type: str, data: dict[str, Any]) -> Posted:
    """As Standard Webhooks sign it: the body and the headers. CliError when the secret isn't one."""
    return Signer(Scheme.STANDARD, secret).event(message_id=message_id, at=at, type=type, data=data)


def _mac(key: bytes, content: bytes) -> hmac.HMAC:
    return hmac.new(key, content, hashlib.sha256)


def _decoded(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError) as error:
        raise _no_secret(str(error)) from error
    if not key:
        raise _no_secret("there is nothing after whsec_")
    return key


def _no_secret(why: str) -> CliError:
    return CliError(
        f"expected a signing secret like whsec_ and base64: {why}", hint="look at what the source was added with"
    )
