"""Each signature scheme over HTTP, with the clock set: its sender's posts are accepted until they are too old."""

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
import pytest_asyncio
import stripe
from svix.webhooks import Webhook as SvixWebhook

from rota_common.runtime.service import Runtime
from rota_common.testing.in_memory_bus import InMemoryBus
from trigger_gateway.adapters.in_memory import in_memory

from .harness import Gateway, error_of, gateway

STANDARD = "whsec_" + base64.b64encode(b"a secret of 24 bytes or so").decode()
TEXT = "known to both sides"
SLACKS = "8f742231b10e8888abcd99yyyzzz85a5"
ENVIRON = {"STANDARD": STANDARD, "TEXT": TEXT, "KEY": "the-key-of-the-sender", "SLACKS": SLACKS}
AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
SLACKS_AT = datetime.fromtimestamp(1531420618, UTC)
SLACKS_COMMAND = (
    b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V"
    b"&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text="
    b"&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN"
    b"&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
)


@dataclass
class Sender:
    """A gateway whose clock the test sets, a team, and a robot that wants every event."""

    now: datetime = AT
    made: Gateway = field(init=False)

    async def source(self, scheme: str, secret: str, **more: Any) -> None:
        body = {"name": "in", "scheme": scheme, "secret": secret} | more
        answer = await self.made.call("POST", "/v1/teams/acme/sources", json=body)
        assert answer.status_code == 201, answer.text

    async def post(self, body: bytes, **headers: str) -> httpx.Response:
        """Headers with _ for -."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.made.http.post("/v1/hooks/acme/in", content=body, headers=named)

    def received(self) -> list[tuple[str | None, dict[str, Any]]]:
        return [(each.input.event_type, each.input.data) for each in self.made.triggers()]


@pytest_asyncio.fixture
async def sender() -> AsyncIterator[Sender]:
    sender = Sender()
    bus = InMemoryBus()
    runtime = Runtime(bus=bus, clock=lambda: sender.now)
    async with gateway(bus=bus, runtime=runtime, adapters=in_memory(given=ENVIRON)) as sender.made:
        sender.made.key = await sender.made.make_team()
        await sender.made.make_robot("all", events=[{"type": "webhook", "source": "in"}])
        yield sender


def stamp(at: datetime) -> str:
    return str(int(at.timestamp()))


def hexmac(body: bytes, secret: str = TEXT) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


async def refused_when_old(sender: Sender, body: bytes, **headers: str) -> None:
    """Six minutes later, and before, as it is refused with a byte changed."""
    sent, signed = sender.now, list(headers)
    for minutes in (6, -6):
        sender.now = sent + timedelta(minutes=minutes)
        assert error_of(await sender.post(body, **headers)) == (403, "bad_signature")
    sender.now = sent
    assert error_of(await sender.post(body + b" ", **headers)) == (403, "bad_signature")
    for name in signed:
        changed = headers[name][:-1] + chr(ord(headers[name][-1]) ^ 1)
        assert error_of(await sender.post(body, **headers | {name: changed})) == (403, "bad_signature"), name


async def test_svix(sender: Sender) -> None:  # TG-30, DEC-5
    await sender.source("standard_webhooks", "$ENV.STANDARD")
    body = b'{"type": "lead.created", "data": {"a": 1}}'
    signature = SvixWebhook(STANDARD).sign("msg_1", AT, body.decode())
    for prefix in ("webhook_", "svix_"):
        headers = {f"{prefix}id": "msg_1", f"{prefix}timestamp": stamp(AT), f"{prefix}signature": signature}
        await refused_when_old(sender, body, **headers)
        answer = await sender.post(body, **headers)
        assert answer.json()["event_id"] == "msg_1"
    assert sender.received() == [("lead.created", {"a": 1})]


async def test_github(sender: Sender) -> None:  # TG-30, DEC-5
    await sender.source("github", "$ENV.TEXT", event_types=["issues.*", "ping"])
    body = b'{"action": "opened", "issue": {"number": 7}}'
    headers = {
        "x_github_event": "issues",
        "x_github_delivery": "72d3162e",
        "x_hub_signature_256": f"sha256={hexmac(body)}",
    }
    answer = await sender.post(body, **headers)
    assert (answer.status_code, answer.json()["event_id"]) == (202, "72d3162e")
    assert (await sender.post(body, **headers)).status_code == 200
    wrong = headers | {"x_hub_signature_256": f"sha256={hexmac(body, 'another')}", "x_github_delivery": "2"}
    assert error_of(await sender.post(body, **wrong)) == (403, "bad_signature")
    other = await sender.post(body, **headers | {"x_github_event": "star", "x_github_delivery": "3"})
    assert (other.status_code, other.json()["triggers"]) == (202, [])
    assert "event type star.opened is not accepted here" in other.json()["message"]
    assert sender.received() == [("issues.opened", json.loads(body))]


async def test_stripe(sender: Sender) -> None:  # TG-30, DEC-5
    await sender.source("stripe", "$ENV.TEXT")
    body = b'{"id": "evt_1", "object": "event", "type": "invoice.paid", "data": {"object": {}}}'
    signature = stripe.WebhookSignature._compute_signature(f"{stamp(AT)}.{body.decode()}", TEXT)
    header = f"t={stamp(AT)},v1={signature}"
    await refused_when_old(sender, body, stripe_signature=header)
    answer = await sender.post(body, stripe_signature=header, x_idempotency_key="another")
    assert answer.json()["event_id"] == "evt_1"
    assert sender.received() == [("invoice.paid", json.loads(body))]


async def test_a_slack_command_from_its_documentation(sender: Sender) -> None:  # TG-30, DEC-5
    await sender.source("slack", "$ENV.SLACKS")
    sender.now = SLACKS_AT
    headers = {
        "x_slack_signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
        "x_slack_request_timestamp": "1531420618",
    }
    form = {"content_type": "application/x-www-form-urlencoded"}
    await refused_when_old(sender, SLACKS_COMMAND, **headers)
    assert (await sender.post(SLACKS_COMMAND, **headers, **form)).status_code == 202
    [(event_type, data)] = sender.received()
    assert (event_type, data["command"], data["text"]) == (None, "/webhook-collect", "")


async def test_a_signed_challenge_of_slack_is_answered(sender: Sender) -> None:
    await sender.source("slack", "$ENV.SLACKS")
    body = b'{"token": "x", "type": "url_verification", "challenge": "3eZbrw1aB"}'
    signature = f"v0={hexmac(b'v0:' + stamp(AT).encode() + b':' + body, SLACKS)}"
    answer = await sender.post(body, x_slack_signature=signature, x_slack_request_timestamp=stamp(AT))
    assert (answer.status_code, answer.json()) == (200, {"challenge": "3eZbrw1aB"})
    unsigned = await sender.post(body, x_slack_request_timestamp=stamp(AT))
    assert error_of(unsigned) == (403, "bad_signature")
    assert sender.received() == []


async def test_an_hmac_in_a_header_of_the_source(sender: Sender) -> None:  # TG-30
    await sender.source("hmac", "$ENV.TEXT", header="X-Shop-Hmac", id_field="id", event_type_field="topic")
    body = b'{"id": 17, "topic": "order.paid"}'
    in_base64 = base64.b64encode(bytes.fromhex(hexmac(body))).decode()
    for signature in (f"sha256={hexmac(body)}", hexmac(body), in_base64):
        answer = await sender.post(body, x_shop_hmac=signature)
        assert answer.json()["event_id"] == "17"
    assert error_of(await sender.post(body, x_webhook_signature=hexmac(body))) == (403, "bad_signature")
    assert sender.received() == [("order.paid", json.loads(body))]


async def test_a_bearer_key(sender: Sender) -> None:  # TG-29
    await sender.source("bearer", "$ENV.KEY")
    body = b'{"type": "a", "data": {}}'
    assert (await sender.post(body, authorization="Bearer the-key-of-the-sender")).status_code == 202
    for wrong in ({"authorization": "Bearer the-key-of-the-sendes"}, {"authorization": "Bearer"}, {}):
        answer = await sender.post(body, **wrong)
        assert error_of(answer) == (401, "unauthenticated")
        assert answer.headers["www-authenticate"] == "Bearer"
    assert len(sender.received()) == 1


async def test_a_bearer_key_and_a_signature(sender: Sender) -> None:  # TG-29, TG-30, TG-33
    await sender.source("bearer", "$ENV.KEY", signing_secret="$ENV.TEXT")
    body, key = b"{}", {"authorization": "Bearer the-key-of-the-sender"}
    right = {"x_webhook_signature": f"sha256={hexmac(body)}"}
    assert (await sender.post(body, **key, **right)).status_code == 202
    assert error_of(await sender.post(body, **key)) == (403, "bad_signature")
    assert error_of(await sender.post(body, **right)) == (401, "unauthenticated")
    assert error_of(await sender.post(b"{not json", **key)) == (403, "bad_signature")


ABSURD = (b"\xff\xfe", b"\xc3\xa9" * 64, b"9" * 5000, b"v1," * 2000, b"t=\xb2,v1=\xe9", b"sha256=\xe9", b"")
NAMES = ("webhook-id", "webhook-timestamp", "webhook-signature", "stripe-signature", "x-hub-signature-256")
SLACK_NAMES = ("x-slack-signature", "x-slack-request-timestamp")


@pytest.mark.parametrize(
    ("scheme", "more", "signature", "ids"),
    [
        ("github", {}, "x_hub_signature_256", "x_github_delivery"),
        ("hmac", {}, "x_webhook_signature", "x_idempotency_key"),
        ("bearer", {"signing_secret": "$ENV.TEXT"}, "x_webhook_signature", "x_idempotency_key"),
    ],
)
async def test_a_captured_request_starts_nothing_under_another_id(
    sender: Sender, scheme: str, more: dict[str, Any], signature: str, ids: str
) -> None:
    await sender.source(scheme, "$ENV.KEY" if scheme == "bearer" else "$ENV.TEXT", **more)
    body, other = b'{"action": "opened", "number": 1}', b'{"action": "opened", "number": 2}'
    key = {"authorization": f"Bearer {ENVIRON['KEY']}"} if scheme == "bearer" else {}

    async def post(sent: bytes, event_id: str) -> httpx.Response:
        return await sender.post(sent, **{signature: f"sha256={hexmac(sent, TEXT)}", ids: event_id} | key)

    first = await post(body, "e1")
    assert first.status_code == 202
    sender.now += timedelta(days=29)
    for event_id in ("e2", "e3", "e1"):
        again = await post(body, event_id)
        assert (again.status_code, again.json()) == (200, first.json()), event_id
    assert (await post(other, "e4")).status_code == 202
    assert len(sender.received()) == 2


async def test_two_that_come_at_once_under_different_ids_are_one_run(sender: Sender) -> None:
    await sender.source("hmac", "$ENV.TEXT")
    body = b'{"number": 1}'
    headers = {"x_webhook_signature": hexmac(body, TEXT)}
    answers = await asyncio.gather(*(sender.post(body, x_idempotency_key=str(each), **headers) for each in range(5)))
    assert {answer.status_code for answer in answers} == {200, 202}
    assert len({answer.json()["triggers"][0]["trigger_id"] for answer in answers}) == 1
    assert len(sender.received()) == 1


async def test_an_id_that_is_signed_makes_the_event(sender: Sender) -> None:
    await sender.source("hmac", "$ENV.TEXT", id_field="id")
    for number in (1, 2):
        body = json.dumps({"id": number, "type": "tick"}).encode()
        assert (await sender.post(body, x_webhook_signature=hexmac(body, TEXT))).status_code == 202
    assert len(sender.received()) == 2


@pytest.mark.parametrize("scheme", ["standard_webhooks", "github", "stripe", "slack", "hmac", "bearer"])
async def test_senseless_headers_are_refused_by_every_scheme(sender: Sender, scheme: str) -> None:
    await sender.source(scheme, "$ENV.STANDARD")
    for value in ABSURD:
        names = (*NAMES, *SLACK_NAMES, "x-webhook-signature", "authorization", "x-github-event", "x-github-delivery")
        headers = [(name.encode(), value) for name in names]
        answer = await sender.made.http.post("/v1/hooks/acme/in", content=b"{}", headers=headers)
        assert answer.status_code in (401, 403), answer.text
    assert sender.received() == []
