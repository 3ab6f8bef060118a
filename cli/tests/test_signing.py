"""Signed webhooks, verified by the packages that receivers use."""

import json
from datetime import UTC, datetime

import pytest
import stripe
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from rota.errors import CliError
from rota.signing import Signer, new_secret, signed_event
from rota.timestamps import now
from rota_contracts.sources import Scheme
from trigger_gateway.sources.schemes import check_bearer, check_signature, key_of
from trigger_gateway.sources.source import Source, WebhookSettings
from trigger_gateway.webhooks.inbound_event import read_event


def test_only_a_receiver_with_the_same_secret_accepts_it() -> None:
    secret = new_secret()
    body, headers = signed_event(secret, message_id="m1", at=now(), type="lead.created", data={"name": "Zoë"})
    assert Webhook(secret).verify(body, headers)["data"] == {"name": "Zoë"}
    with pytest.raises(WebhookVerificationError):
        Webhook(new_secret()).verify(body, headers)


def test_the_body_holds_type_time_and_data() -> None:
    at = datetime(2026, 3, 2, 9, 14, tzinfo=UTC)
    body, headers = signed_event(new_secret(), message_id="m1", at=at, type="lead.created", data={})
    assert json.loads(body) == {"type": "lead.created", "timestamp": "2026-03-02T09:14:00+00:00", "data": {}}
    assert headers["webhook-timestamp"] == str(int(at.timestamp()))


@pytest.mark.parametrize("secret", ["whsec_", "whsec_a"])
def test_an_invalid_secret_is_rejected_with_the_expected_form(secret: str) -> None:
    with pytest.raises(CliError, match="whsec_"):
        signed_event(secret, message_id="m1", at=now(), type="t", data={})


@pytest.mark.parametrize("scheme", Scheme)
def test_the_gateway_accepts_every_scheme(scheme: Scheme) -> None:  # DEC-5
    at, secret = now(), new_secret()
    signer = Signer(scheme, secret, "X-Sig")
    body, headers = signer.event(message_id="m1", at=at, type="issues.opened", data={"number": 7})
    key = key_of(scheme, secret)
    if scheme is Scheme.BEARER:
        check_bearer([key], headers)
    else:
        check_signature(scheme, "X-Sig", [key], headers, body, at)
    settings = WebhookSettings(scheme=scheme, secrets=["$ENV.X"], header="X-Sig")
    event = read_event(Source("acme", "in", at, webhook=settings), headers, body, at, lambda: "fresh")
    assert (event.id, event.type) == ("m1", "issues.opened")
    assert "7" in str(event.data)


def test_stripes_own_package_accepts_it() -> None:
    at = now()
    body, headers = Signer(Scheme.STRIPE, "whsec_x").event(message_id="evt_1", at=at, type="invoice.paid", data={})
    assert stripe.Webhook.construct_event(body, headers["stripe-signature"], "whsec_x")["type"] == "invoice.paid"
