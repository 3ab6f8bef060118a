"""Wrappers of attachments (DC-04, DC-05)."""

import pytest

from rota_contracts.messages.attachment import object_name, parse, wrap


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("__rota.attachment://abc123", ("rota.attachment", "abc123", True)),
        ("__yao.attachment://ccd472d11feb96e0", ("yao.attachment", "ccd472d11feb96e0", True)),
        ("__drive://a/b c.pdf", ("drive", "a/b c.pdf", True)),
        ("report.pdf", ("", "report.pdf", False)),
        ("__://abc", ("", "__://abc", False)),
        ("__rota.attachment://", ("", "__rota.attachment://", False)),
        ("https://example.org/a", ("", "https://example.org/a", False)),
    ],
)
def test_a_wrapper_names_its_uploader_and_its_file(value: str, expected: tuple[str, str, bool]) -> None:
    assert parse(value) == expected


def test_a_wrapped_id_is_parsed_again() -> None:
    assert parse(wrap("0a1b2c3d")) == ("rota.attachment", "0a1b2c3d", True)


def test_a_file_is_stored_under_the_name_of_its_team() -> None:
    assert object_name("acme", "0a1b2c3d") == "acme/0a1b2c3d"
