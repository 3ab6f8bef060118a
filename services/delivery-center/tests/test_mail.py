"""The texts of a mail, and its server."""

from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Any

import pytest

from delivery_center.adapters.aiosmtplib_email import AiosmtplibEmail, MailServer, mail_server
from delivery_center.adapters.in_memory import InMemoryFiles, InMemoryMailCounts, InMemorySuppressions
from delivery_center.adapters.mail_bounces import is_hard_bounce
from delivery_center.adapters.mail_files import Packed
from delivery_center.adapters.mail_limits import DailyMails, MailLimits
from delivery_center.adapters.mail_message import Composer, recipients_of
from delivery_center.adapters.mail_text import mail_template, page, plain, subject
from delivery_center.domain.outgoing_message import OutgoingMessage
from rota_common.errors import Permanent, Transient
from rota_contracts.messages.attachment import StoredAttachment
from rota_contracts.messages.delivery import Attachment, DeliveryContent
from rota_contracts.robots.preferences import EmailTarget

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
NOWHERE = MailServer("mail.invalid", 25)


def content(**fields: Any) -> DeliveryContent:
    return DeliveryContent.model_validate({"summary": "All done.", "body": {"inline": "x"}} | fields)


def test_the_subject_is_the_summary_on_one_line_of_120_characters(outgoing: Any) -> None:
    assert subject(outgoing(), None) == "All done."
    assert subject(outgoing(content=content(summary="a\r\nBcc: x@y.example\tb")), None) == "a Bcc: x@y.example b"
    long = subject(outgoing(content=content(summary="word " * 100)), None)
    assert len(long) == 120
    assert long.endswith("…")


def test_a_subject_template_uses_variables(outgoing: Any) -> None:  # DC-09
    assert subject(outgoing(), "Executive Summary") == "Executive Summary"
    assert subject(outgoing(), "[$display_name] $summary ($member_id, $execution_id)") == "[Ann] All done. (ann, e1)"
    assert subject(outgoing(), "$5 and $unknown\nx") == "$5 and $unknown x"


def test_a_subject_may_show_the_score(outgoing: Any) -> None:
    context = outgoing().context
    assert subject(outgoing(), "$summary ($score)") == "All done. ()"
    scored = outgoing(context=context.model_copy(update={"score": 0.85}))
    assert subject(scored, "$summary ($score)") == "All done. (0.85)"


def test_the_subject_of_a_rehearsal_says_so(outgoing: Any) -> None:
    rehearsed = outgoing(context=outgoing().context.model_copy(update={"rehearsed": True}))
    assert subject(rehearsed, None) == "[rehearsal] All done."
    assert subject(rehearsed, "Weekly report") == "[rehearsal] Weekly report"


def test_markdown_becomes_html_and_its_tags_are_escaped(outgoing: Any) -> None:
    html = page(outgoing(body="# Report\n\n<script>alert(1)</script> [x](javascript:alert(1))\n\n|a|\n|-|\n|1|"))
    assert "<h1>Report</h1>" in html
    assert "<table>" in html
    assert "<script>" not in html
    assert 'href="javascript' not in html


def test_the_text_lists_attachments_and_why_some_are_missing(outgoing: Any) -> None:  # DC-04
    stored = StoredAttachment(file_id="1" * 32, team_id="acme", name="leads.csv", size=1, sha256="", created_at=NOON)
    packed = [
        Packed(Attachment(title="Leads", description="the new ones", file=stored.file), stored, b"x"),
        Packed(Attachment(title="Plan", file="__s3://2"), left_out="it is kept by s3, and not here"),
    ]
    assert plain(outgoing(), packed) == (
        "# Report\n\n## Attachments\n\n- Leads: the new ones (leads.csv)\n"
        "- Plan (not attached: it is kept by s3, and not here)"
    )
    assert "<li>Plan (not attached: it is kept by s3, and not here)</li>" in page(outgoing(), packed)
    assert plain(outgoing()) == "# Report"


def test_a_template_is_files_of_the_operators_folder(outgoing: Any, tmp_path: Path) -> None:  # DC-09
    (tmp_path / "brand.html").write_text("<b>$display_name: $summary</b>$body")
    (tmp_path / "brand.txt").write_text("$summary\n--\n$body")
    (tmp_path / "brand.subject").write_text("News of $display_name\n")
    made, template = outgoing(content=content(summary="<i>")), mail_template("brand", tmp_path)
    assert subject(made, template.subject) == "News of Ann"
    assert plain(made, template=template.text) == "<i>\n--\n# Report"
    assert page(made, template=template.html) == "<b>Ann: &lt;i&gt;</b><h1>Report</h1>\n"


@pytest.mark.parametrize("kind", ["html", "txt", "subject"])
def test_each_part_of_a_template_is_optional(outgoing: Any, tmp_path: Path, kind: str) -> None:  # DC-09
    (tmp_path / f"brand.{kind}").write_text("ours")
    template = mail_template("brand", tmp_path)
    assert subject(outgoing(), template.subject) == ("ours" if kind == "subject" else "All done.")
    assert plain(outgoing(), template=template.text) == ("ours" if kind == "txt" else "# Report")
    assert ("<h1>Report</h1>" in page(outgoing(), template=template.html)) is (kind != "html")


def test_another_template_is_refused(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for name in ["../secret", "other", "", "a/b"]:
        with subtests.test(name=name):
            for kind in ("html", "txt", "subject"):
                (tmp_path / f"secret.{kind}").write_text("$body")
            with pytest.raises(Permanent, match="ROTA_MAIL_TEMPLATES"):
                mail_template(name, tmp_path / "templates")
            with pytest.raises(Permanent, match="expected the folder of mail templates"):
                mail_template(name, None)


def test_only_a_missing_mailbox_is_a_hard_bounce(subtests: pytest.Subtests) -> None:  # F23
    cases = [
        (550, "5.1.1 <a@b.example>: user unknown", True),
        (550, "5.1.10 takes no mail", True),
        (551, "5.1.6 moved", True),
        (553, "5.1.3 bad syntax", True),
        (550, "No such user here", True),
        (550, "Unrouteable address", True),
        (550, "<a@b.example>: mailbox not found", True),
        (551, "User not local; please try <a@c.example>", True),
        (552, "5.2.2 mailbox full", False),
        (552, "5.1.1 user unknown", False),
        (550, "5.2.1 mailbox disabled", False),
        (550, "5.7.1 blocked: see the block list", False),
        (550, "5.1.8 sender address rejected: domain not found", False),
        (550, "relaying denied", False),
        (550, "", False),
        (450, "4.1.1 user unknown", False),
        (554, "5.1.1 no such user", False),
    ]
    for code, message, hard in cases:
        with subtests.test(code=code, message=message, hard=hard):
            assert is_hard_bounce(code, message) is hard


def email(server: MailServer | None = NOWHERE, **limits: Any) -> AiosmtplibEmail:
    allowed = MailLimits(**limits)
    return AiosmtplibEmail(
        server,
        Composer(InMemoryFiles(), limits=allowed),
        suppressions=InMemorySuppressions(),
        daily=DailyMails(InMemoryMailCounts(), allowed),
        timeout=1,
        files_timeout=2,
    )


async def head(outgoing: OutgoingMessage, default_from: str, **limits: Any) -> EmailMessage:
    """The headers of a mail as it is sent."""
    target = EmailTarget(to=["a@b.example"])
    compose = Composer(InMemoryFiles(), limits=MailLimits(**limits), default_from=default_from)
    mail = await compose(target, outgoing, recipients_of(target))
    read = message_from_bytes(b"".join(mail.chunks()), policy=default)
    assert isinstance(read, EmailMessage)
    assert read["From"].addresses[0].addr_spec == mail.sender
    return read


async def test_a_robots_address_is_where_to_reply_unless_its_team_may_send_from_its_domain(outgoing: Any) -> None:
    relay, robot = "rota@relay.example", "Ann <ann@acme.example>"
    for senders in ({}, {"other": ["acme.example"]}, {"acme": ["example"]}):
        strange = await head(outgoing(), relay, senders=senders)
        assert (strange["From"], strange["Reply-To"]) == ("Ann <rota@relay.example>", robot)
    for senders in ({"acme": ["Acme.example"]}, {"*": ["acme.example"]}, {"acme": ["*"]}):
        own = await head(outgoing(), relay, senders=senders)
        assert (own["From"], own["Reply-To"]) == (robot, None)
    with pytest.raises(Permanent, match=r"acme\.example among the domains of team acme in ROTA_MAIL_SENDERS"):
        await head(outgoing(), "")


async def test_a_mail_has_no_more_recipients_than_it_may(outgoing: Any) -> None:
    target = EmailTarget(to=[f"ann{n}@acme.example" for n in range(3)], cc=["bob@acme.example"])
    with pytest.raises(Permanent, match="expected at most 3 recipients of one mail, not 4"):
        await email(recipients=3).send(target, outgoing())


async def test_a_team_that_has_sent_its_mails_of_today_goes_on_tomorrow() -> None:
    daily = DailyMails(InMemoryMailCounts(), MailLimits(mails_a_day=2))
    with pytest.raises(ConnectionError):
        async with daily.counted("acme", NOON):
            raise ConnectionError  # no server took it
    for _ in range(2):
        async with daily.counted("acme", NOON):
            pass
    with pytest.raises(Transient, match="acme has sent 2 mails today, which is all that ROTA_MAILS_A_DAY") as raised:
        async with daily.counted("acme", NOON):
            raise AssertionError
    assert raised.value.after == 12 * 3600
    async with daily.counted("other", NOON), daily.counted("acme", NOON + timedelta(days=1)):
        pass


async def test_without_a_mail_server_the_error_names_the_setting(outgoing: Any) -> None:
    with pytest.raises(Permanent, match="ROTA_SMTP_URL"):
        await email(None).send(EmailTarget(to=["a@b.example"]), outgoing())


async def test_an_invalid_address_is_named(outgoing: Any, subtests: pytest.Subtests) -> None:
    for address in [
        "",
        "ann",
        "ann@",
        "@acme.example",
        "a@b.example, c@d.example",
        "a@b.example\nBcc: x@y.example",
        "Ann <>",
    ]:
        with subtests.test(address=address), pytest.raises(Permanent, match="expected one address like"):
            await email().send(EmailTarget(to=[address]), outgoing())


async def test_a_robot_without_an_address_fails_with_the_missing_field(outgoing: Any, robot: Any) -> None:  # DC-09
    with pytest.raises(Permanent, match="robot_email on the robot, or ROTA_DEFAULT_FROM"):
        await email().send(EmailTarget(to=["a@b.example"]), outgoing(robot=robot()))


def test_the_mail_server_is_one_url(subtests: pytest.Subtests) -> None:
    cases = [
        ("smtp://mail.example", MailServer("mail.example", 25)),
        ("smtp://mail.example:1025?tls=none", MailServer("mail.example", 1025, start_tls=False)),
        (
            "smtp://ann%40acme.example:p%3Aw@mail.example:587?tls=starttls",
            MailServer("mail.example", 587, "ann@acme.example", "p:w", start_tls=True),
        ),
        (
            "smtps://$ENV.MAIL_USER:$ENV.MAIL_PASSWORD@mail.example",
            MailServer("mail.example", 465, "u", "s3cret", use_tls=True, start_tls=False),
        ),
    ]
    for url, server in cases:
        with subtests.test(url=url, server=server):
            assert mail_server(url, {"MAIL_USER": "u", "MAIL_PASSWORD": "s3cret"}) == server


def test_no_url_means_no_mail_server() -> None:
    assert mail_server("", {}) is None


def test_a_wrong_url_says_what_is_expected_and_shows_no_password(subtests: pytest.Subtests) -> None:
    for url in ["mail.example:25", "http://mail.example", "smtp://", "smtp://u:s3cret@h:99999", "smtp://h?tls=x"]:
        with subtests.test(url=url):
            with pytest.raises(ValueError, match="expected ROTA_SMTP_URL as") as caught:
                mail_server(url, {})
            assert "s3cret" not in str(caught.value)


def test_a_missing_mail_password_is_named() -> None:
    with pytest.raises(ValueError, match="MAIL_PASSWORD"):
        mail_server("smtp://u:$ENV.MAIL_PASSWORD@mail.example", {})


def test_a_mail_server_does_not_show_its_password() -> None:
    assert "s3cret" not in repr(MailServer("h", 25, "u", "s3cret"))
