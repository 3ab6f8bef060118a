"""Signatures as Standard Webhooks define them (Decision 5)."""

from collections.abc import Mapping

from standardwebhooks.webhooks import EmptyWebhookSecretError, Webhook, WebhookVerificationError

from rota_common.errors import Transient
from rota_common.logs import logger
from rota_common.secrets import MissingSecret, resolve
from trigger_gateway.domain import Source
from trigger_gateway.problems import Forbidden

ID_HEADER = "webhook-id"


class StandardWebhooks:
    """`environ` holds the secrets that sources refer to. The library refuses timestamps over 5 minutes away."""

    def __init__(self, environ: Mapping[str, str], *, service: str) -> None:
        self._environ, self._log = environ, logger(service=service)

    def verify(self, source: Source, headers: Mapping[str, str], body: bytes) -> str:
        webhook = self._webhook(source)
        try:
            webhook.verify(body, dict(headers), json_parse=False)
        # ValueError: a signature that isn't base64 or has no version, or a body that isn't UTF-8.
        except (WebhookVerificationError, ValueError) as error:
            raise Forbidden(
                "bad_signature",
                "expected webhook-id, webhook-timestamp (not older than 5 minutes) and a matching webhook-signature",
            ) from error
        return headers[ID_HEADER]

    def _webhook(self, source: Source) -> Webhook:
        """The publisher isn't told which variable is missing; whoever reads the log is."""
        try:
            return Webhook(resolve(source.secret, self._environ))
        except (MissingSecret, EmptyWebhookSecretError, ValueError) as error:
            reason = str(error) if isinstance(error, MissingSecret) else f"{source.secret} is not a base64 secret"
            self._log.warning("source has no secret", team=source.team, source=source.name, reason=reason)
            raise Transient("this source is not ready: its secret is not configured") from error
