"""Mail to servers with TLS and passwords that refuse, drop connections and are slow (F23)."""

import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote

import pytest

from rota_contracts.catalog import DELIVERY_SETTLED
from tests.integration.delivery.harness import Harness, outcome, to
from tests.integration.delivery.mailservers import PASSWORD, USER, MailServer, certificate, mail_server

BOSS = to("email", {"to": ["boss@acme.example"]})
LOGIN = f"{USER}:$ENV.MAIL_PASSWORD@"
ENVIRON = {"MAIL_PASSWORD": PASSWORD}


@pytest.fixture
def harness(in_memory_harness: Harness) -> Harness:
    return in_memory_harness


@pytest.fixture
async def plain() -> AsyncIterator[MailServer]:
    async with mail_server() as made:
        yield made


@pytest.fixture
def tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """A certificate of a server that this process trusts."""
    context, trusted = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    return context


@pytest.mark.parametrize("asked", ["starttls", ""])
async def test_a_mail_goes_over_starttls_with_the_password(harness: Harness, tls: ssl.SSLContext, asked: str) -> None:
    async with mail_server(tls=tls, password=True) as server:
        (result,) = await outcome(harness, BOSS, smtp_url=server.url(user=LOGIN, tls=asked), environ=ENVIRON)
    assert (result.success, result.error) == (True, None)
    assert (server.encrypted, server.logins) == ([True], [(USER.encode(), PASSWORD.encode())])


async def test_the_url_may_contain_the_password(harness: Harness, tls: ssl.SSLContext) -> None:
    async with mail_server(tls=tls, password=True) as server:
        user = f"{USER}:{quote(PASSWORD, safe='')}@"
        (result,) = await outcome(harness, BOSS, smtp_url=server.url(user=user, tls="starttls"))
    assert result.success


async def test_a_self_signed_certificate_is_not_trusted(harness: Harness, tmp_path: Path) -> None:
    context, _ = certificate(tmp_path)
    async with mail_server(tls=context, password=True) as server:
        (result,) = await outcome(harness, BOSS, smtp_url=server.url(user=LOGIN), environ=ENVIRON)
    assert (result.success, server.seen, server.logins) == (False, [], [])
    assert "CERTIFICATE_VERIFY_FAILED" in (result.error or "")


async def test_required_starttls_that_is_not_offered_fails(harness: Harness, plain: MailServer) -> None:
    (result,) = await outcome(harness, BOSS, smtp_url=plain.url(tls="starttls"))
    assert (result.success, plain.seen) == (False, [])
    assert "STARTTLS" in (result.error or "")


async def test_a_password_is_not_sent_in_the_clear(harness: Harness) -> None:
    async with mail_server(password=True) as server:
        (result,) = await outcome(harness, BOSS, smtp_url=server.url(user=LOGIN), environ=ENVIRON)
    assert (result.success, server.logins, server.seen) == (False, [], [])
    assert "the password isn't sent in the clear" in (result.error or "")


async def test_a_password_is_sent_in_the_clear_where_the_operator_says_so(harness: Harness) -> None:
    async with mail_server(password=True) as server:
        (result,) = await outcome(harness, BOSS, smtp_url=server.url(user=LOGIN, tls="none"), environ=ENVIRON)
    assert (result.success, server.encrypted) == (True, [False])


async def test_a_wrong_password_says_so(harness: Harness, tls: ssl.SSLContext) -> None:
    async with mail_server(tls=tls, password=True) as server:
        (result,) = await outcome(harness, BOSS, smtp_url=server.url(user=LOGIN), environ={"MAIL_PASSWORD": "no"})
    assert (result.success, server.seen) == (False, [])
    assert "535" in (result.error or "")


async def test_a_connection_lost_after_the_content_repeats_the_same_mail(harness: Harness, plain: MailServer) -> None:
    plain.drops = 1
    await harness.listen(DELIVERY_SETTLED)
    (first,) = await outcome(harness, BOSS, smtp_url=plain.url())
    assert (first.success, first.final) == (False, False)
    assert "broke off" in (first.error or "")
    (settled,) = await harness.events(DELIVERY_SETTLED)
    assert (settled.data.success, len(plain.taken)) == (True, 1)
    assert [mail["Message-ID"] for mail in plain.seen] == [f"<{first.delivery_id}@acme.example>"] * 2


@pytest.mark.parametrize("step", ["MAIL", "RCPT", "DATA"])
async def test_a_4xx_reply_is_tried_again(harness: Harness, plain: MailServer, step: str) -> None:
    plain.replies = {step: ["451 4.3.0 later"]}
    await harness.listen(DELIVERY_SETTLED)
    (first,) = await outcome(harness, BOSS, smtp_url=plain.url())
    assert (first.success, first.final) == (False, False)
    assert "451 4.3.0 later" in (first.error or "")
    (settled,) = await harness.events(DELIVERY_SETTLED)
    assert (settled.data.success, settled.data.results[0].attempts, len(plain.taken)) == (True, 2, 1)


@pytest.mark.parametrize("step", ["MAIL", "RCPT", "DATA"])
async def test_a_5xx_reply_is_final(harness: Harness, plain: MailServer, step: str) -> None:
    plain.replies = {step: ["554 5.7.1 no"]}
    (result,) = await outcome(harness, BOSS, smtp_url=plain.url())
    assert (result.success, result.final, plain.taken) == (False, True, [])
    assert "554 5.7.1 no" in (result.error or "")


async def test_refused_recipients_are_in_the_details(harness: Harness, plain: MailServer) -> None:
    plain.unknown = {"full@b.example": "452 4.2.2 full", "spam@b.example": "550 5.7.1 policy"}
    target = {"to": ["boss@acme.example", "full@b.example"], "cc": ["spam@b.example"]}
    (result,) = await outcome(harness, to("email", target), smtp_url=plain.url())
    assert (result.success, result.recipients) == (True, ["boss@acme.example"])
    assert result.details == {
        "answer": "taken",
        "refused": {"full@b.example": "4.2.2 full", "spam@b.example": "5.7.1 policy"},
        "suppressed": [],
    }


async def test_a_mail_is_marked_as_auto_generated(harness: Harness, plain: MailServer) -> None:
    await outcome(harness, BOSS, smtp_url=plain.url())
    (mail,) = plain.taken
    assert (mail["Auto-Submitted"], mail["From"]) == ("auto-generated", "Ann <ann@acme.example>")


async def test_a_silent_server_times_out(harness: Harness, plain: MailServer) -> None:
    plain.slow = 30
    (result,) = await outcome(harness, BOSS, smtp_url=plain.url(), attempt_timeout=0.3)
    assert (result.success, result.final) == (False, False)
    assert result.error == "the mail server didn't answer in time, within 0.3 s at most"


async def test_a_template_has_subject_text_and_page(
    harness: Harness, plain: MailServer, tmp_path: Path
) -> None:  # DC-09
    (tmp_path / "brand.subject").write_text("$display_name reports")
    (tmp_path / "brand.txt").write_text("Dear all\n\n$body")
    (tmp_path / "brand.html").write_text("<main>$body</main>")
    targets = to("email", {"to": ["a@b.example"], "template": "brand"})
    await outcome(harness, targets, smtp_url=plain.url(), mail_templates=tmp_path)
    (mail,) = plain.taken
    text, html = mail.get_body(("plain",)), mail.get_body(("html",))
    assert text is not None
    assert html is not None
    assert mail["Subject"] == "Ann reports"
    assert text.get_content().splitlines() == ["Dear all", "", "# Leads", "", "- one"]
    assert html.get_content().startswith("<main><h1>Leads</h1>")
