"""A webhook as its sender signs it, checked by the package that receivers use."""

import json
from datetime import UTC, datetime

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from rota.demo.story import signing_secret
from rota.errors import CliError
from rota.signing import signed_event
from rota_common.clock import now


def test_a_receiver_with_the_same_secret_accepts_it_and_another_does_not() -> None:
    secret = signing_secret()
    body, headers = signed_event(secret, message_id="m1", at=now(), type="lead.created", data={"name": "Zoë"})
    assert Webhook(secret).verify(body, headers)["data"] == {"name": "Zoë"}
    with pytest.raises(WebhookVerificationError):
        Webhook(signing_secret()).verify(body, headers)


def test_the_body_holds_type_time_and_data() -> None:
    at = datetime(2026, 3, 2, 9, 14, tzinfo=UTC)
    body, headers = signed_event(signing_secret(), message_id="m1", at=at, type="lead.created", data={})
    assert json.loads(body) == {"type": "lead.created", "timestamp": "2026-03-02T09:14:00+00:00", "data": {}}
    assert headers["webhook-timestamp"] == str(int(at.timestamp()))


@pytest.mark.parametrize("secret", ["whsec_", "whsec_a"])
def test_what_is_no_secret_is_refused_in_words(secret: str) -> None:
    with pytest.raises(CliError, match="whsec_"):
        signed_event(secret, message_id="m1", at=now(), type="t", data={})
