"""Credentials in texts, in JSON and in logs."""

import io
import json
from typing import Any

import pytest

from rota_common.redaction import REDACTED, json_without_credentials, without_credentials
from rota_common.runtime.logs import logger, written_to

NESTED: dict[str, Any] = {
    "api_key": "sk-123456789",
    "a": 1,
    "headers": {"Authorization": "Bearer abc.def", "x-trace": "t", "X-Api-Key": 12345},
    "credentials": {"user": "ann", "parts": ["p", {"q": "}"}]},
    "items": [{"password": 'quo"ted, with: {braces}'}, {"token": None, "key": "ORDER-7", "max_tokens": 500}],
    "url": "https://ann:pa55@db.example/x?q=1",
    "next": 'see "https://db.example/y", then go',
    "inner": json.dumps({"secret": "s3cret", "n": [1, 2]}),
}
HIDDEN = ("sk-123456789", "abc.def", "12345", "ann", "braces", "pa55", "s3cret")


@pytest.mark.parametrize("indent", [None, 2])
def test_json_stays_json_and_keeps_its_keys(indent: int | None) -> None:  # DEC-9
    shown = without_credentials(json.dumps(NESTED, indent=indent))
    assert not [each for each in HIDDEN if each in shown]
    read = json.loads(shown)
    assert read == json_without_credentials(NESTED) | {"inner": read["inner"]}
    assert list(read) == list(NESTED)
    assert (read["a"], read["credentials"], read["headers"]["x-trace"]) == (1, REDACTED, "t")
    assert read["items"] == [{"password": REDACTED}, {"token": None, "key": "ORDER-7", "max_tokens": 500}]
    assert (read["url"], read["next"]) == (f"https://{REDACTED}@db.example/x?q=1", NESTED["next"])
    assert json.loads(read["inner"]) == {"secret": REDACTED, "n": [1, 2]}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('failed: {"api_key": "k", "a": 1}, try again', 'failed: {"api_key": "[REDACTED]", "a": 1}, try again'),
        ('GET "https://a.example/?token=abc&b=2", then', 'GET "https://a.example/?token=[REDACTED]&b=2", then'),
        ("AWS_SECRET_ACCESS_KEY=abcd1234efgh5678 left", "AWS_SECRET_ACCESS_KEY=[REDACTED] left"),
        ("Authorization: Bearer abc", "Authorization: [REDACTED]"),
        ("password='two words', done", "password='[REDACTED]', done"),
        ("key ghp_abcdefghijklmnop was refused", "key [REDACTED] was refused"),
        ("token: {not json", "token: {not json"),
        ("3 tokens: none left; the secret of success", "3 tokens: none left; the secret of success"),
        ("mongodb://u:p@h:1/db", "mongodb://[REDACTED]@h:1/db"),
    ],
)
def test_only_values_are_hidden(text: str, shown: str) -> None:
    assert without_credentials(text) == shown


def test_every_kind_of_credential_is_found_alone() -> None:  # DEC-9
    kinds = ("api", "access", "private", "secret", "signing", "encryption", "account")
    names = [f"{kind}{joint}key" for kind in kinds for joint in ("", "-", "_")]
    names += ["token", "secret", "password", "passwd", "pwd", "authorization", "credential", "credentials", "cookie"]
    any_case = [*(f"{name}=abcdefgh" for name in names), "basic abcdefgh", "bearer abcdefgh", "amqp://ann:pa55@h"]
    prefixes = [f"{name}{joint}" for name in ("sk", "pk", "rk", "ghp", "gho", "ghs", "xoxb", "whsec") for joint in "-_"]
    exact = [f"{prefix}abcdefgh" for prefix in prefixes]
    exact += [
        "rota_abcdefghij0123456789",
        "AKIA0123456789ABCDEF",
        "eyJ12345678.12345678.x",
        "-----BEGIN A PRIVATE KEY-----",
    ]
    written = [*any_case, *(text.upper() for text in any_case), *exact]
    assert [text for text in written if REDACTED not in without_credentials(f"it failed ({text})")] == []


def test_long_texts_without_credentials_take_no_long() -> None:
    for text in ("-".join(["ab_cd"] * 200_000), '"' * 300_000, "https://" * 50_000, "token" * 100_000):
        without_credentials(text)


def test_a_log_line_holds_no_credentials() -> None:
    stream = io.StringIO()
    with written_to(stream):
        logger(service="x").warning("failed", reason='401 {"api_key": "sk-123456789"}', seconds=0.1)
        logger(service="x").warning("failed", reason="to\N{KELVIN SIGN}en=abcdefgh")
        try:
            raise ConnectionError("mongodb://ann:pa55@db.example")
        except ConnectionError:
            logger(service="x").exception("failed")
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert lines[0]["reason"] == '401 {"api_key": "[REDACTED]"}'
    assert "abcdefgh" not in lines[1]["reason"]
    assert "pa55" not in lines[2]["exception"]
