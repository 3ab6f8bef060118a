"""Mail to a server on loopback."""

import pytest

from rota_common.runtime.embedded_servers import free_port
from rota_contracts.catalog import (
    DELIVERY_ACCEPTED,
    DELIVERY_SETTLED,
)
from tests.integration.delivery.harness import Harness, outcome, to
from tests.integration.delivery.receivers import Mailbox


@pytest.fixture
def harness(in_memory_harness: Harness) -> Harness:
    return in_memory_harness


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
    await harness.listen(DELIVERY_ACCEPTED)
    await harness.start(smtp_url=box.url, default_from="Rota <rota@acme.example>")
    await harness.request()
    assert (await harness.events(DELIVERY_ACCEPTED))[0].data.result.success
    assert box.mails[0][1]["From"] == "Rota <rota@acme.example>"


async def test_a_deferred_mail_is_retried_with_the_same_id(harness: Harness, box: Mailbox) -> None:
    box.refusals = ["451 try later"]
    await harness.listen(DELIVERY_SETTLED)
    (first,) = await outcome(harness, to("email", {"to": ["a@b.example"]}), smtp_url=box.url)
    assert (first.success, first.final) == (False, False)
    assert "451 try later" in (first.error or "")
    (settled,) = await harness.events(DELIVERY_SETTLED)
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


async def test_an_unreachable_mail_server_is_retried(harness: Harness) -> None:
    (result,) = await outcome(harness, to("email", {"to": ["a@b.example"]}), smtp_url=f"smtp://127.0.0.1:{free_port()}")
    assert (result.success, result.final) == (False, False)
    assert "can't reach the mail server" in (result.error or "")


async def test_without_a_mail_server_the_target_fails_with_the_reason(harness: Harness) -> None:
    (result,) = await outcome(harness, to("email", {"to": ["a@b.example"]}))
    assert result.final
    assert "ROTA_SMTP_URL" in (result.error or "")
