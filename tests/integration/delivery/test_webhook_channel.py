"""Webhooks to a receiver on loopback."""

import asyncio
import shutil
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from standardwebhooks.webhooks import Webhook

from delivery_center.adapters.httpx_webhook import HttpxWebhook, webhook_client
from delivery_center.domain import delivery
from delivery_center.domain.outgoing_message import OutgoingMessage
from rota_common.errors import Transient
from rota_common.runtime.embedded_servers import free_port
from rota_common.testing.team_secrets import InMemoryTeamSecrets
from rota_common.urls import networks
from rota_contracts.catalog import DELIVERY_SETTLED
from rota_contracts.messages.delivery import DeliveryContent, DeliveryContext
from rota_contracts.messages.text import Text
from rota_contracts.robots.preferences import WebhookTarget
from rota_contracts.robots.robot import Robot
from tests.integration.delivery.harness import Harness, InMemoryHarness, outcome, to
from tests.integration.delivery.receivers import HttpReceiver, http_receiver

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@pytest.fixture
def harness(in_memory_harness: Harness) -> Harness:
    return in_memory_harness


async def test_a_signature_verifies_with_the_standard_library(
    harness: Harness, receiver: HttpReceiver
) -> None:  # DC-10
    target = {"url": receiver.url(), "secret": "$ENV.HOOK", "headers": {"X-Custom": "$ENV.TOKEN"}, "method": "PUT"}
    (result,) = await outcome(harness, to("webhook", target), known={"HOOK": SECRET, "TOKEN": "t0ken"})
    (got,) = receiver.got
    assert Webhook(SECRET).verify(got.body, got.headers)["data"]["request_id"] == "r1"
    assert got.headers["webhook-id"] == result.delivery_id
    assert (got.line, got.headers["x-custom"]) == ("PUT /in HTTP/1.1", "t0ken")
    assert got.headers["host"] == f"127.0.0.1:{receiver.port}"


async def test_a_missing_secret_is_named_and_awaited(harness: Harness, receiver: HttpReceiver) -> None:
    (result,) = await outcome(harness, to("webhook", {"url": receiver.url(), "secret": "$ENV.HOOK"}))
    assert (result.success, result.final) == (False, False)
    assert "the secret HOOK of team" in (result.error or "")
    assert receiver.got == []


@pytest.mark.parametrize("name", ["ROTA_MONGO_URL", "OPENAI_API_KEY", "PATH", "BETA_SIGNING"])
async def test_nothing_but_the_teams_own_secrets_leaves_in_a_header(
    harness: Harness, receiver: HttpReceiver, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:  # TG-23 # DEC-44
    monkeypatch.setenv(name, "mongodb://of-the-process")
    target = {"url": receiver.url(), "headers": {"X-Leak": f"$ENV.{name}"}}
    (result,) = await outcome(harness, to("webhook", target), environ={name: "mongodb://u:pw@db"}, known={"MINE": "x"})
    assert f"the secret {name} of team {harness.team}" in (result.error or "")
    assert f"rota secrets set {name}" in (result.error or "")
    assert receiver.got == []


async def test_a_delivery_waits_for_the_gateway_that_has_its_secrets(
    in_memory_harness: InMemoryHarness, receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "POSTPONED_FOR", timedelta(seconds=0.02))
    harness = in_memory_harness
    harness.gateway_is_away = True
    await harness.listen(DELIVERY_SETTLED)
    target = {"url": receiver.url(), "secret": "$SECRET.HOOK"}
    (waiting,) = await outcome(harness, to("webhook", target), known={"HOOK": SECRET})
    assert (waiting.final, waiting.attempts) == (False, 0)
    assert "secrets can't be read now" in (waiting.error or "")
    harness.gateway_is_away = False
    (settled,) = await harness.events(DELIVERY_SETTLED)
    assert [(each.success, each.attempts) for each in settled.data.results] == [(True, 1)]
    assert len(receiver.got) == 1


async def test_a_redirect_is_not_followed(harness: Harness, receiver: HttpReceiver) -> None:
    async with http_receiver() as other:
        receiver.will_answer(302, location=other.url())
        (result,) = await outcome(harness, to("webhook", {"url": receiver.url()}))
        assert other.got == []
    assert (result.final, result.success) == (False, False)
    assert "redirects are not followed" in (result.error or "")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"])
async def test_private_addresses_are_refused_unless_allowed(
    harness: Harness, receiver: HttpReceiver, host: str
) -> None:
    target = {"url": receiver.url(host=host)}
    (result,) = await outcome(harness, to("webhook", target), allow_private_targets="")
    assert (result.final, result.success) == (True, False)
    assert "ROTA_ALLOW_PRIVATE_TARGETS" in (result.error or "")
    assert receiver.got == []


async def test_two_kib_of_an_answer_are_kept(harness: Harness, receiver: HttpReceiver) -> None:
    receiver.script.append((200, {}, b"x" * 1_000_000))
    (result,) = await outcome(harness, to("webhook", {"url": receiver.url()}))
    assert result.details == {"status": 200, "body": "x" * 2048}


async def test_a_proxy_of_the_environment_is_not_used(
    harness: Harness, receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("ALL_PROXY", f"http://127.0.0.1:{free_port()}")
    (result,) = await outcome(harness, to("webhook", {"url": receiver.url()}))
    assert result.success


async def test_a_refused_connection_is_retried(harness: Harness) -> None:
    port = free_port()
    (result,) = await outcome(harness, to("webhook", {"url": f"http://127.0.0.1:{port}/"}))
    assert (result.success, result.final) == (False, False)
    assert result.error == f"can't reach 127.0.0.1:{port}: connection refused"


async def test_a_receiver_that_hangs_times_out_and_the_others_are_sent_to(
    harness: Harness, receiver: HttpReceiver
) -> None:
    async with http_receiver() as silent:
        silent.hold = asyncio.Event()
        targets = to("webhook", {"url": silent.url()}, {"url": receiver.url()})
        hung, fine = await outcome(harness, targets, attempt_timeout=0.2)
        silent.hold.set()
    assert (hung.success, hung.final, fine.success) == (False, False, True)


async def _openssl(folder: Path, name: str) -> tuple[Path, Path]:
    certificate, key = folder / "cert.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}"]
    command += ["-addext", f"subjectAltName=DNS:{name}", "-keyout", str(key), "-out", str(certificate)]
    quiet = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(*command, stdout=quiet, stderr=quiet)
    assert await process.wait() == 0
    return certificate, key


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate with")
async def test_tls_verifies_the_name_although_the_connection_uses_the_address(tmp_path: Path) -> None:
    certificate, key = await _openssl(tmp_path, "hooks.example.test")
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(certificate, key)
    names: list[str | None] = []
    serving.sni_callback = lambda _connection, name, _context: names.append(name)

    async def here(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    outgoing = _parcel()
    client = webhook_client(verify=ssl.create_default_context(cafile=str(certificate)))
    channel = HttpxWebhook(
        client, timeout=2, secrets=InMemoryTeamSecrets(), allowed=networks("127.0.0.0/8"), resolver=here
    )
    async with http_receiver(tls=serving) as receiver, client:
        await channel.send(WebhookTarget(url=receiver.url(host="hooks.example.test", scheme="https")), outgoing)
        with pytest.raises(Transient, match="CERTIFICATE_VERIFY_FAILED"):  # not over the connection made just before
            await channel.send(WebhookTarget(url=receiver.url(host="other.example.test", scheme="https")), outgoing)
    assert names == ["hooks.example.test", "other.example.test"]
    assert [got.headers["host"] for got in receiver.got] == [f"hooks.example.test:{receiver.port}"]


def _parcel() -> OutgoingMessage:
    at = datetime(2026, 3, 2, 12, tzinfo=UTC)
    return OutgoingMessage(
        delivery_id="d1",
        request_id="r1",
        at=at,
        created_at=at,
        content=DeliveryContent(summary="s", body=Text(inline="b")),
        body="b",
        context=DeliveryContext.model_validate(
            {"team_id": "acme", "member_id": "ann", "execution_id": "e1", "trigger_type": "event"}
        ),
        robot=Robot.model_validate(
            {"team_id": "acme", "member_id": "ann", "robot_config": {"identity": {"role": "analyst"}}}
        ),
    )
