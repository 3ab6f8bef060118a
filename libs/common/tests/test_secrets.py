"""Secrets by reference."""

import pytest

from rota_common.secrets import MissingSecret, resolve

SECRET = "s3cret"


def test_a_reference_resolves_to_its_variable() -> None:  # CL-10
    assert resolve("$ENV.MAIL_PASSWORD", {"MAIL_PASSWORD": SECRET}) == SECRET


@pytest.mark.parametrize("text", ["", "plain", "$HOME", "x $ENV.NAME", "env.NAME", "$env.NAME"])
def test_a_text_that_is_no_reference_is_unchanged(text: str) -> None:
    assert resolve(text, {"NAME": SECRET}) == text


@pytest.mark.parametrize("environ", [{}, {"MAIL_PASSWORD": ""}, {"mail_password": SECRET}])
def test_a_missing_variable_is_named(environ: dict[str, str]) -> None:
    with pytest.raises(MissingSecret, match=r"environment variable MAIL_PASSWORD .*: it is not set") as raised:
        resolve("$ENV.MAIL_PASSWORD", environ)
    assert SECRET not in str(raised.value)
