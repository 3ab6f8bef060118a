"""Standard Webhooks: an event as a sender posts it, with the headers that prove who sent it."""

import json
from datetime import datetime
from typing import Any

from standardwebhooks.webhooks import EmptyWebhookSecretError, Webhook

from rota.errors import CliError


def signed_event(
    secret: str, *, message_id: str, at: datetime, type: str, data: dict[str, Any]
) -> tuple[bytes, dict[str, str]]:
    """The body and the headers of a signed event. CliError when the secret isn't one."""
    body = json.dumps({"type": type, "timestamp": at.isoformat(), "data": data})
    try:
        signature = Webhook(secret).sign(message_id, at, body)
    except (ValueError, EmptyWebhookSecretError) as error:
        raise CliError(
            f"expected a signing secret like whsec_ and base64: {error}", hint="look at what the source was added with"
        ) from error
    return body.encode(), {
        "content-type": "application/json",
        "webhook-id": message_id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": signature,
    }
