"""The four channels, each with a real other side."""

import asyncio
import json
import shutil
import ssl
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import nats as nats_py
import pytest
from nats.aio.msg import Msg
from standardwebhooks.webhooks import Webhook

from delivery_center.adapters.httpx_webhook import HttpxWebhook, webhook_client
from delivery_center.domain.outgoing_message import OutgoingMessage
from rota_common.errors import Transient
from rota_common.runtime.embedded_servers import free_port
from rota_common.urls import networks
from rota_contracts.catalog import (
    DELIVERY_ACCEPTED,
    DELIVERY_FAILED,
    DELIVERY_SETTLED,
    LIST_SUBSCRIPTIONS,
    NOTIFICATION_POSTED,
    SUBSCRIBE,
    UNSUBSCRIBE,
    process_subject,
)
from rota_contracts.messages.delivery import ChannelResult, DeliveryContent, DeliveryContext, DeliveryType
from rota_contracts.messages.notification import ListSubscriptions, Subscribe, Unsubscribe
from rota_contracts.messages.text import Text
from rota_contracts.robots.preferences import WebhookTarget
from rota_contracts.robots.robot import Robot
from tests.integration.delivery.conftest import Harness
from tests.integration.delivery.receivers import HttpReceiver, Mailbox, http_receiver

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def to(channel: str, *targets: dict[str, Any]) -> dict[str, Any]:
    return {"preferences": {channel: {"targets": list(targets)}}}


async def outcome(harness: Harness, preferences: dict[str, Any], **settings: Any) -> list[ChannelResult]:
    """How the first attempts fared."""
    await harness.robot(preferences)
    await harness.hear(DELIVERY_ACCEPTED)
    await harness.start(**settings)
    await harness.request()
    (accepted,) = await harness.heard(DELIVERY_ACCEPTED)
    return list(accepted.data.result.results)


# Webhooks


async def test_a_signature_verifies_with_the_standard_library(
    harness: Harness, receiver: HttpReceiver
) -> None:  # DC-10
    target = {"url": receiver.url(), "secret": "$ENV.HOOK", "headers": {"X-Custom": "$ENV.TOKEN"}, "method": "PUT"}
    (result,) = await outcome(harness, to("webhook", target), environ={"HOOK": SECRET, "TOKEN": "t0ken"})
    (got,) = receiver.got
    assert Webhook(SECRET).verify(got.body, got.headers)["data"]["request_id"] == "r1"
    assert got.headers["webhook-id"] == result.delivery_id
    assert (got.line, got.headers["x-custom"]) == ("PUT /in HTTP/1.1", "t0ken")
    assert got.headers["host"] == f"127.0.0.1:{receiver.port}"


async def test_a_missing_secret_fails_at_once_and_names_the_variable(harness: Harness, receiver: HttpReceiver) -> None:
    (result,) = await outcome(harness, to("webhook", {"url": receiver.url(), "secret": "$ENV.HOOK"}), environ={})
    assert result.final
    assert "environment variable HOOK" in (result.error or "")
    assert receiver.got == []


async def test_our_own_settings_never_leave_in_a_header(harness: Harness, receiver: HttpReceiver) -> None:
    target = {"url": receiver.url(), "headers": {"X-Leak": "$ENV.ROTA_MONGO_URL"}}
    (result,) = await outcome(harness, to("webhook", target), environ={"ROTA_MONGO_URL": "mongodb://u:pw@db"})
    assert "ROTA_MONGO_URL" in (result.error or "")
    assert receiver.got == []


async def test_a_redirect_is_not_followed(harness: Harness, receiver: HttpReceiver) -> None:
    async with http_receiver() as other:
        receiver.will_answer(302, location=other.url())
        (result,) = await outcome(harness, to("webhook", {"url": receiver.url()}))
        assert other.got == []
    assert (result.final, result.success) == (True, False)
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


async def test_nobody_listening_is_tried_again(harness: Harness) -> None:
    (result,) = await outcome(harness, to("webhook", {"url": f"http://127.0.0.1:{free_port()}/"}))
    assert (result.success, result.final) == (False, False)
    assert "can't reach 127.0.0.1" in (result.error or "")


async def test_a_receiver_that_hangs_is_cut_off_and_the_others_are_served(
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
async def test_tls_is_checked_against_the_name_although_the_address_is_asked(tmp_path: Path) -> None:
    certificate, key = await _openssl(tmp_path, "hooks.example.test")
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(certificate, key)
    names: list[str | None] = []
    serving.sni_callback = lambda _connection, name, _context: names.append(name)

    async def here(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    outgoing = _parcel()
    client = webhook_client(verify=ssl.create_default_context(cafile=str(certificate)))
    channel = HttpxWebhook(client, timeout=2, environ={}, allowed=networks("127.0.0.0/8"), resolver=here)
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


# Mail


async def test_a_mail_has_text_and_html_and_comes_from_the_robot(harness: Harness, box: Mailbox) -> None:  # DC-09
    target = {
        "to": ["Boss <boss@acme.example>"],
        "cc": ["team@acme.example"],
        "subject_template": "[$display_name] $summary",
    }
    (result,) = await outcome(harness, to("email", target), smtp_url=box.url)
    ((recipients, mail),) = box.mails
    assert recipients == result.recipients == ["boss@acme.example", "team@acme.example"]  # DC-14
    assert (mail["From"], mail["To"], mail["Cc"]) == (
        "Ann <ann@acme.example>", "Boss <boss@acme.example>", "team@acme.example",
    )  # fmt: skip
    assert mail["Subject"] == "[Ann] 15 new leads."
    assert mail["Message-ID"] == f"<{result.delivery_id}@acme.example>"
    text, html = mail.get_body(("plain",)), mail.get_body(("html",))
    assert text is not None
    assert html is not None
    assert text.get_content().startswith("# Leads")
    assert "<h1>Leads</h1>" in html.get_content()


async def test_several_mails_are_sent_for_several_targets(harness: Harness, box: Mailbox) -> None:  # DC-08
    results = await outcome(harness, to("email", {"to": ["a@b.example"]}, {"to": ["c@d.example"]}), smtp_url=box.url)
    assert [result.success for result in results] == [True, True]
    assert sorted(recipients for recipients, _ in box.mails) == [["a@b.example"], ["c@d.example"]]


async def test_a_robot_without_an_address_uses_the_default_one(harness: Harness, box: Mailbox) -> None:
    await harness.robot(to("email", {"to": ["a@b.example"]}), robot_email=None)
    await harness.hear(DELIVERY_ACCEPTED)
    await harness.start(smtp_url=box.url, default_from="Rota <rota@acme.example>")
    await harness.request()
    assert (await harness.heard(DELIVERY_ACCEPTED))[0].data.result.success
    assert box.mails[0][1]["From"] == "Rota <rota@acme.example>"


async def test_a_mail_that_was_put_off_is_sent_again_with_the_same_id(harness: Harness, box: Mailbox) -> None:
    box.refusals = ["451 try later"]
    await harness.hear(DELIVERY_SETTLED)
    (first,) = await outcome(harness, to("email", {"to": ["a@b.example"]}), smtp_url=box.url)
    assert (first.success, first.final) == (False, False)
    assert "451 try later" in (first.error or "")
    (settled,) = await harness.heard(DELIVERY_SETTLED)
    assert settled.data.success
    assert [mail["Message-ID"] for _, mail in box.mails] == [f"<{first.delivery_id}@acme.example>"]


async def test_a_mail_that_is_refused_is_final(harness: Harness, box: Mailbox) -> None:
    box.refusals = ["554 spam"]
    (result,) = await outcome(harness, to("email", {"to": ["a@b.example"]}), smtp_url=box.url)
    assert (result.final, result.error) == (True, "the mail server answered 554 spam")


async def test_a_recipient_that_is_refused_is_named(harness: Harness, box: Mailbox) -> None:
    box.unknown = {"gone@b.example"}
    targets = to("email", {"to": ["a@b.example", "gone@b.example"]}, {"to": ["gone@b.example"]})
    some, none = await outcome(harness, targets, smtp_url=box.url)
    assert (some.success, some.recipients) == (True, ["a@b.example"])
    assert some.details["refused"] == {"gone@b.example": "no such mailbox"}
    assert (none.success, none.final) == (False, True)
    assert "gone@b.example: 550 no such mailbox" in (none.error or "")


async def test_a_mail_server_that_is_away_is_tried_again(harness: Harness) -> None:
    (result,) = await outcome(harness, to("email", {"to": ["a@b.example"]}), smtp_url=f"smtp://127.0.0.1:{free_port()}")
    assert (result.success, result.final) == (False, False)
    assert "can't reach the mail server" in (result.error or "")


async def test_without_a_mail_server_the_target_fails_and_says_why(harness: Harness) -> None:
    (result,) = await outcome(harness, to("email", {"to": ["a@b.example"]}))
    assert result.final
    assert "ROTA_SMTP_URL" in (result.error or "")


# Processes


class Process:
    """Answers the processes of a team as a test says."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.asked: list[Msg] = []

    async def answer(self, name: str, reply: bytes, headers: dict[str, str] | None = None) -> None:
        self._client = await nats_py.connect(self._url)

        async def respond(message: Msg) -> None:
            self.asked.append(message)
            await self._client.publish(message.reply, reply, headers=headers)

        await self._client.subscribe(process_subject("acme", name), cb=respond)
        await self._client.flush()

    async def close(self) -> None:
        await self._client.close()


async def test_a_process_is_called_with_its_arguments_and_the_result(harness: Harness) -> None:  # DC-11
    process = Process(harness.nats_url)
    await process.answer("orders.UpdateStatus", b'{"updated": 1}')
    target = {"name": "orders.UpdateStatus", "args": ["completed", {"n": 1}]}
    (result,) = await outcome(harness, to("process", target))
    await process.close()
    (message,) = process.asked
    asked = json.loads(message.data)
    assert (asked["args"], asked["delivery_id"]) == (["completed", {"n": 1}], result.delivery_id)
    assert asked["delivery"]["summary"] == "15 new leads."
    assert asked["delivery"]["context"]["execution_id"] == "e1"
    assert message.headers is not None
    assert {message.headers[name] for name in ("Nats-Msg-Id", "rota-idempotency-key")} == {result.delivery_id}
    assert (result.target, result.success, result.details) == ("orders.UpdateStatus", True, {"reply": {"updated": 1}})


@pytest.mark.parametrize(
    ("reply", "kept"), [(b"plain", "plain"), (b'"' + b"x" * 9000 + b'"', '"' + "x" * 2047), (b"", ""), (b"NaN", "NaN")]
)
async def test_a_reply_that_is_long_or_no_json_is_kept_as_text(harness: Harness, reply: bytes, kept: str) -> None:
    process = Process(harness.nats_url)
    await process.answer("audit", reply)
    (result,) = await outcome(harness, to("process", {"process": "audit"}))
    await process.close()
    assert (result.success, result.details) == (True, {"reply": kept})


async def test_numbers_and_names_that_mongodb_does_not_know_are_kept(harness: Harness) -> None:
    odd = {"$big": 2**80, "a.b\u0000c": [1.5, None]}
    process = Process(harness.nats_url)
    await process.answer("audit", json.dumps(odd).encode())
    (result,) = await outcome(harness, to("process", {"process": "audit", "args": [odd]}))
    await process.close()
    assert result.details == {"reply": odd}
    assert json.loads(process.asked[0].data)["args"] == [odd]


async def test_a_process_that_answers_with_an_error_has_failed(harness: Harness) -> None:
    process = Process(harness.nats_url)
    await process.answer(
        "audit", b"", headers={"Nats-Service-Error": "no such order", "Nats-Service-Error-Code": "404"}
    )
    (result,) = await outcome(harness, to("process", {"process": "audit"}))
    await process.close()
    assert (result.final, result.error) == (True, "process audit failed: 404 no such order")


async def test_a_process_that_nobody_answers_is_asked_again(harness: Harness) -> None:
    await harness.hear(DELIVERY_SETTLED)
    (result,) = await outcome(harness, to("process", {"process": "audit"}), retry_schedule=(0.5,))
    assert (result.final, result.error) == (False, "nobody answers process audit")
    process = Process(harness.nats_url)
    await process.answer("audit", b"{}")
    (settled,) = await harness.heard(DELIVERY_SETTLED)
    await process.close()
    assert settled.data.success


async def test_a_process_of_another_team_is_not_called(harness: Harness) -> None:
    process = Process(harness.nats_url)
    client = await nats_py.connect(harness.nats_url)
    heard: list[Msg] = []

    async def respond(message: Msg) -> None:
        heard.append(message)

    await client.subscribe(process_subject("other", "audit"), cb=respond)
    await process.answer("audit", b"{}")
    (result,) = await outcome(harness, to("process", {"process": "audit"}))
    await client.flush()
    await client.close()
    await process.close()
    assert (result.success, heard) == (True, [])


# Notifications, and all channels together


async def test_a_notification_is_an_event_on_the_bus(harness: Harness) -> None:  # DC-07, DEC-12
    await harness.hear(NOTIFICATION_POSTED)
    (result,) = await outcome(harness, to("notify", {"channel": "sales"}))
    (posted,) = await harness.heard(NOTIFICATION_POSTED)
    assert (posted.data.notification_id, posted.data.channel) == (result.delivery_id, "sales")
    assert (posted.data.title, posted.data.body) == ("15 new leads.", "# Leads\n\n- one")
    assert posted.data.subscriber is None
    assert result.details == {"event_id": posted.id, "subscribers": 0}


async def test_a_notification_is_posted_once_for_each_subscriber_of_its_channel(
    harness: Harness,
) -> None:  # DC-07, DEC-12
    await harness.hear(NOTIFICATION_POSTED)
    await harness.start()
    for subscriber, channel, team in (("ann", "sales", "acme"), ("zoe", "sales", "acme"), ("ann", "sales", "acme")):
        await harness.gateway.ask(SUBSCRIBE, Subscribe(team_id=team, channel=channel, subscriber=subscriber))
    for channel, team in (("ops", "acme"), ("sales", "other")):
        await harness.gateway.ask(SUBSCRIBE, Subscribe(team_id=team, channel=channel, subscriber="bob"))
    await harness.gateway.ask(SUBSCRIBE, Subscribe(team_id="acme", channel="sales", subscriber="left"))
    left = await harness.gateway.ask(UNSUBSCRIBE, Unsubscribe(team_id="acme", channel="sales", subscriber="left"))
    assert [one.subscriber for one in left.subscriptions] == ["ann", "zoe"]
    listed = await harness.gateway.ask(LIST_SUBSCRIPTIONS, ListSubscriptions(team_id="acme"))
    assert [(one.channel, one.subscriber) for one in listed.subscriptions] == [
        ("ops", "bob"),
        ("sales", "ann"),
        ("sales", "zoe"),
    ]
    (result,) = await outcome(harness, to("notify", {"channel": "sales"}))
    posted = await harness.heard(NOTIFICATION_POSTED, 2)
    assert {event.data.subscriber for event in posted} == {"ann", "zoe"}
    assert {event.data.notification_id for event in posted} == {result.delivery_id}
    assert result.details == {"subscribers": 2}


async def test_every_channel_with_several_targets_at_once(
    harness: Harness, receiver: HttpReceiver, box: Mailbox
) -> None:  # DC-07, DC-08
    process = Process(harness.nats_url)
    await process.answer("audit", b"{}")
    await harness.hear(NOTIFICATION_POSTED, DELIVERY_FAILED)
    preferences = {
        "preferences": {
            "email": {"targets": [{"to": ["a@b.example"]}, {"to": ["c@d.example"]}]},
            "webhook": {"targets": [{"url": receiver.url("/a")}, {"url": receiver.url("/b")}]},
            "process": {"targets": [{"name": "audit"}, {"name": "audit", "args": [1]}]},
            "notify": {"targets": [{"channel": "x"}, {}]},
        }
    }
    results = await outcome(harness, preferences, smtp_url=box.url)
    await process.close()
    assert [result.type for result in results] == [kind for kind in DeliveryType for _ in range(2)]
    assert all(result.success for result in results)
    assert (len(box.mails), len(receiver.got), len(process.asked)) == (2, 2, 2)
    assert len(await harness.heard(NOTIFICATION_POSTED, 2)) == 2
