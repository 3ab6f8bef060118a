"""What a mail looks like, and which server it goes to."""

from pathlib import Path
from typing import Any

import pytest

from delivery_center.adapters.aiosmtplib_email import AiosmtplibEmail, MailServer, mail_server
from delivery_center.adapters.mail_text import page, plain, subject
from rota_common.errors import Permanent
from rota_contracts.delivery import DeliveryContent
from rota_contracts.preferences import EmailTarget


def content(**fields: Any) -> DeliveryContent:
    return DeliveryContent.model_validate({"summary": "All done.", "body": {"inline": "x"}} | fields)


def test_the_subject_is_the_summary_on_one_line_of_120_characters(parcel: Any) -> None:
    assert subject(parcel(), None) == "All done."
    assert subject(parcel(content=content(summary="a\r\nBcc: x@y.example\tb")), None) == "a Bcc: x@y.example b"
    long = subject(parcel(content=content(summary="word " * 100)), None)
    assert len(long) == 120
    assert long.endswith("…")


def test_a_subject_template_names_what_it_wants(parcel: Any) -> None:  # DC-09
    assert subject(parcel(), "Executive Summary") == "Executive Summary"
    assert subject(parcel(), "[$display_name] $summary ($member_id, $execution_id)") == "[Ann] All done. (ann, e1)"
    assert subject(parcel(), "$5 and $unknown\nx") == "$5 and $unknown x"


def test_a_subject_may_show_the_score(parcel: Any) -> None:
    context = parcel().context
    assert subject(parcel(), "$summary ($score)") == "All done. ()"
    scored = parcel(context=context.model_copy(update={"score": 0.85}))
    assert subject(scored, "$summary ($score)") == "All done. (0.85)"


def test_markdown_becomes_html_and_tags_in_it_stay_text(parcel: Any) -> None:
    html = page(
        parcel(body="# Report\n\n<script>alert(1)</script> [x](javascript:alert(1))\n\n|a|\n|-|\n|1|"), None, None
    )
    assert "<h1>Report</h1>" in html
    assert "<table>" in html
    assert "<script>" not in html
    assert 'href="javascript' not in html


def test_attachments_are_listed(parcel: Any) -> None:  # DC-04
    attachments = [
        {"title": "Leads", "description": "the new ones", "file": "__rota.attachment://1"},
        {"title": "Plan", "file": "__rota.attachment://2"},
    ]
    assert plain(parcel(content=content(attachments=attachments))) == (
        "# Report\n\n## Attachments\n\n- Leads: the new ones\n- Plan"
    )
    assert plain(parcel()) == "# Report"


def test_a_template_is_a_file_of_the_operators_folder(parcel: Any, tmp_path: Path) -> None:  # DC-09
    (tmp_path / "brand.html").write_text("<b>$display_name: $summary</b>$body")
    made = parcel(content=content(summary="<i>"))
    assert page(made, "brand", tmp_path) == "<b>Ann: &lt;i&gt;</b><h1>Report</h1>\n"


@pytest.mark.parametrize("name", ["../secret", "other", "", "a/b"])
def test_another_template_is_refused(parcel: Any, tmp_path: Path, name: str) -> None:
    with pytest.raises(Permanent, match="ROTA_MAIL_TEMPLATES"):
        page(parcel(), name, tmp_path / "templates")
    with pytest.raises(Permanent, match="expected the folder of mail templates"):
        page(parcel(), name, None)


async def test_without_a_mail_server_a_target_says_what_is_missing(parcel: Any) -> None:
    with pytest.raises(Permanent, match="ROTA_SMTP_URL"):
        await AiosmtplibEmail(None, timeout=1).send(EmailTarget(to=["a@b.example"]), parcel())


NOWHERE = AiosmtplibEmail(MailServer("mail.invalid", 25), timeout=1)


@pytest.mark.parametrize(
    "address",
    ["", "ann", "ann@", "@acme.example", "a@b.example, c@d.example", "a@b.example\nBcc: x@y.example", "Ann <>"],
)
async def test_what_is_no_address_is_named(parcel: Any, address: str) -> None:
    with pytest.raises(Permanent, match="expected one address like"):
        await NOWHERE.send(EmailTarget(to=[address]), parcel())


async def test_a_robot_without_an_address_says_which_field_is_missing(parcel: Any, robot: Any) -> None:  # DC-09
    with pytest.raises(Permanent, match="robot_email on the robot, or ROTA_DEFAULT_FROM"):
        await NOWHERE.send(EmailTarget(to=["a@b.example"]), parcel(robot=robot()))


@pytest.mark.parametrize(
    ("url", "server"),
    [
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
    ],
)
def test_the_mail_server_is_one_url(url: str, server: MailServer) -> None:
    assert mail_server(url, {"MAIL_USER": "u", "MAIL_PASSWORD": "s3cret"}) == server


def test_no_url_means_no_mail_server() -> None:
    assert mail_server("", {}) is None


@pytest.mark.parametrize(
    "url", ["mail.example:25", "http://mail.example", "smtp://", "smtp://u:s3cret@h:99999", "smtp://h?tls=x"]
)
def test_a_wrong_url_says_what_is_expected_and_shows_no_password(url: str) -> None:
    with pytest.raises(ValueError, match="expected ROTA_SMTP_URL as") as caught:
        mail_server(url, {})
    assert "s3cret" not in str(caught.value)


def test_a_missing_mail_password_is_named() -> None:
    with pytest.raises(ValueError, match="MAIL_PASSWORD"):
        mail_server("smtp://u:$ENV.MAIL_PASSWORD@mail.example", {})


def test_a_mail_server_does_not_show_its_password() -> None:
    assert "s3cret" not in repr(MailServer("h", 25, "u", "s3cret"))
