"""Attachments of a result: in mail, webhooks and processes (DC-04, DC-05)."""

import json
from collections.abc import AsyncIterator
from email.message import EmailMessage
from pathlib import Path
from random import Random
from typing import Any

import pytest

from rota_common.clock import now
from rota_common.stores.attachments import STREAM, Attachments
from rota_contracts.catalog import DELIVERY_ACCEPTED
from rota_contracts.messages.attachment import StoredAttachment
from rota_contracts.messages.delivery import ChannelResult
from tests.integration.delivery.harness import ServersHarness as Harness
from tests.integration.delivery.harness import to
from tests.integration.delivery.mailservers import PASSWORD, USER, MailServer, certificate, mail_server
from tests.integration.delivery.receivers import HttpReceiver
from tests.integration.delivery.test_process_and_notify_channels import Process

BOSS = to("email", {"to": ["boss@acme.example"]})
MB = 1_000_000


@pytest.fixture
async def server() -> AsyncIterator[MailServer]:
    async with mail_server() as made:
        yield made


async def keep(harness: Harness, content: bytes, *, team: str = "", name: str = "leads.csv") -> StoredAttachment:
    async def whole() -> AsyncIterator[bytes]:
        yield content

    return await Attachments(harness.gateway.bus).put(team or harness.team, name, "text/csv", whole(), at=now())


async def delivered(
    harness: Harness, preferences: dict[str, Any], *attachments: dict[str, Any], **settings: Any
) -> list[ChannelResult]:
    """The first results of delivering these attachments."""
    await harness.robot(preferences)
    await harness.listen(DELIVERY_ACCEPTED)
    await harness.start(**settings)
    content = {"summary": "15 new leads.", "body": {"inline": "# Leads"}, "attachments": attachments}
    await harness.request(content=content)
    (accepted,) = await harness.events(DELIVERY_ACCEPTED)
    return list(accepted.data.result.results)


def parts(mail: EmailMessage) -> list[tuple[str | None, str, bytes]]:
    """Name, type and content of what is attached."""
    found = []
    for part in mail.iter_attachments():
        content = part.get_payload(decode=True)
        assert isinstance(content, bytes)
        found.append((part.get_filename(), part.get_content_type(), content))
    return found


def text_of(mail: EmailMessage) -> str:
    text = mail.get_body(("plain",))
    assert text is not None
    return str(text.get_content())


async def test_ten_megabytes_arrive_byte_for_byte(
    harness: Harness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over TLS, from a server that takes longer than an attempt may take that has no files."""
    context, trusted = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    content = Random(10).randbytes(10 * MB)
    stored = await keep(harness, content, name="Übersicht.csv")
    async with mail_server(tls=context, password=True) as server:
        server.slow = 1.5
        url = server.url(user=f"{USER}:$ENV.MAIL_PASSWORD@", tls="starttls")
        wanted: dict[str, Any] = {"title": "Leads", "file": stored.file}
        (result,) = await delivered(
            harness, BOSS, wanted, smtp_url=url, attempt_timeout=1, environ={"MAIL_PASSWORD": PASSWORD}
        )
    assert (result.success, result.error) == (True, None)
    (mail,) = server.taken
    ((name, kind, arrived),) = parts(mail)
    assert (name, kind, arrived == content) == ("Übersicht.csv", "text/csv", True)
    assert "- Leads (Übersicht.csv)" in text_of(mail)
    assert result.details["attached"] == ["Übersicht.csv"]


async def test_a_mail_is_sent_and_names_the_files_that_cannot_be_attached(harness: Harness, server: MailServer) -> None:
    mine = await keep(harness, b"a,b\n")
    theirs = await keep(harness, b"secret", team="other", name="theirs.csv")
    large = await keep(harness, bytes(20_000), name="large.bin")
    damaged = await keep(harness, b"x" * 10, name="damaged.csv")
    await harness.gateway.bus.jetstream.purge_stream(STREAM, subject=f"$O.attachments.C.{damaged.file_id}")
    files = {
        "Mine": mine.file.replace("rota.", "yao."),
        "Theirs": theirs.file,
        "Large": large.file,
        "Damaged": damaged.file,
        "Elsewhere": "__s3://bucket/x",
        "Never": "__rota.attachment://" + "0" * 32,
    }
    wanted = [{"title": title, "file": file} for title, file in files.items()]
    (result,) = await delivered(harness, BOSS, *wanted, smtp_url=server.url(), mail_files_limit=10_000)
    (mail,) = server.taken
    assert (result.success, parts(mail)) == (True, [("leads.csv", "text/csv", b"a,b\n")])
    reasons = {each["title"]: each["reason"] for each in result.details["not_attached"]}
    assert reasons == {
        "Theirs": "there is no such file, or it is too old",
        "Large": f"it has 20.0 kB, and a mail takes 10.0 kB of files; it is {large.file}",
        "Damaged": f"the content of file {damaged.file_id} isn't what was stored there",
        "Elsewhere": "it is kept by s3, and not here",
        "Never": "there is no such file, or it is too old",
    }
    assert result.details["attached"] == ["leads.csv"]
    for title, reason in reasons.items():
        assert f"- {title} (not attached: {reason})" in text_of(mail)
    assert b"secret" not in mail.as_bytes()


async def test_webhooks_and_processes_receive_the_description_of_a_file(
    harness: Harness, receiver: HttpReceiver
) -> None:
    stored = await keep(harness, b"a,b\n")
    process = Process(harness)
    await process.answer("audit", b"{}")
    preferences = {
        "preferences": {
            "webhook": {"targets": [{"url": receiver.url()}]},
            "process": {"targets": [{"process": "audit"}]},
        }
    }
    wanted = {"title": "Leads", "file": stored.file, "task_id": "t1"}
    results = await delivered(harness, preferences, wanted, {"title": "Plan", "file": "__s3://x"})
    await process.close()
    assert [result.success for result in results] == [True, True]
    published = json.loads(receiver.got[0].body)["data"]["attachments"]
    about = {"name": "leads.csv", "content_type": "text/csv", "size": 4, "sha256": stored.sha256}
    href = f"/v1/teams/{harness.team}/attachments/{stored.file_id}"
    assert published == [
        {"title": "Leads", "description": None, "task_id": "t1", "file": stored.file, **about, "href": href},
        {"title": "Plan", "description": None, "task_id": None, "file": "__s3://x"},
    ]
    assert json.loads(process.asked[0].data)["delivery"]["attachments"] == published
