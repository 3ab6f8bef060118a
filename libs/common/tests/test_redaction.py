"""Credentials in texts, in JSON and in logs."""

import base64
import io
import json
import time
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota_common.redaction import REDACTED, forms, json_without_credentials, without_credentials
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
    any_case = [*(f"{name}=abcdefgh" for name in names), "basic abcdefg1", "bearer abcdefg1", "amqp://ann:pa55@h"]
    prefixes = ["sk-", "sk_", "rk_", "pk_live_", "ghp_", "gho_", "ghs_", "ghu_", "ghr_", "xoxb-", "whsec_", "whsk_"]
    exact = [f"{prefix}abcdefg1" for prefix in prefixes]
    exact += [
        "rota_abcdefghij0123456789",
        "github_pat_11ABCDEFG0abcdefghij",
        f"AIza{'Sy0' * 12}",
        f"glpat-{'x1' * 10}",
        "AKIA0123456789ABCDEF",
        "eyJ12345678.12345678.x",
        "-----BEGIN A PRIVATE KEY-----",
    ]
    written = [*any_case, *(text.upper() for text in any_case), *exact]
    assert [text for text in written if REDACTED not in without_credentials(f"it failed ({text})")] == []


TEXT_THAT_STAYS = [
    "the secret of a good password is its length; a token is a unit of text",
    "3 tokens: none left; a basic understanding of bearer instruments; Basic English",
    "Password: must be 8 characters. The token: a short story",
    '{"max_tokens": 500, "token_count": 5, "next_page_token": "CAUQAA", "nextPageToken": "CAUQAA", "key": "ORDER-7"}',
    '{"password": {"type": "string", "minLength": 8}, "token": null, "secret": false}',
    "token: str, password: string = None; password = getpass(); token = os.environ['X']",
    "Authorization: $SECRET.CRM_TOKEN and token=$API_TOKEN and password=***",
    "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 of 2026-11-24T17:48:29Z",
    "order 550e8400-e29b-41d4-a716-446655440000, card sk-SK, disk-1234567890, pk_order_items, risk_2024_report",
    "rota_common.testing.in_memory_bus, mail ann@example.org, https://example.org/a?mail=a@b.c, ssh://git@github.com/a",
    "https://medium.com/@ann/a-story?id=3&keyword=x#token, key=value, primary_key: 7, monkey: banana",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg",
]


def test_ordinary_texts_stay_as_they_are() -> None:
    assert [text for text in TEXT_THAT_STAYS if without_credentials(text) != text] == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Authorization: token abc.def, next", "Authorization: [REDACTED], next"),
        ("Cookie: sid=abc; theme=dark\nHost: x", "Cookie: [REDACTED]\nHost: x"),
        ('Authorization: Digest username="ann", response="e1f2"', "Authorization: [REDACTED]"),
        ("basic QW5uOnBhNTU= sent", "basic [REDACTED] sent"),
        (
            "GET /x?a=1&sig=ab%2Fc&key=AB1&X-Amz-Signature=ef",
            "GET /x?a=1&sig=[REDACTED]&key=[REDACTED]&X-Amz-Signature=[REDACTED]",
        ),
        ('{"password": "ends in \\\\", "user": "ann"}', '{"password": "[REDACTED]", "user": "ann"}'),
        ('cut: {"token": "abcdefg', 'cut: {"token": "[REDACTED]'),
        ('{"a": "{\\"credentials\\": {\\"u\\": \\"x}\\"}}"}', '{"a": "{\\"credentials\\": \\"[REDACTED]\\"}"}'),
        ("postgres://ann:p@ss@db/x", "postgres://[REDACTED]@db/x"),
    ],
)
def test_a_value_is_hidden_whole(text: str, shown: str) -> None:
    assert without_credentials(text) == shown
    assert without_credentials(shown) == shown


def test_a_known_value_is_hidden_however_it_is_written() -> None:
    secret = 'Tr0ub4dor & "3"/ü'
    encoded = [base64.b64encode(f"{'x' * n}{secret}!".encode()).decode() for n in range(4)]
    written = [secret, quote(secret), quote_plus(secret), json.dumps({"a": secret}), *encoded]
    written += [base64.urlsafe_b64encode(f"ann:{secret}".encode()).decode()]
    for text in written:
        shown = without_credentials(f"<{text}>", [secret])
        assert REDACTED in shown
        assert not [form for form in forms(secret) if form in shown]
    assert json.loads(without_credentials(json.dumps({"a": secret}), [secret])) == {"a": REDACTED}
    assert without_credentials("abc is short", ["abc"]) == "abc is short"


@given(
    st.lists(
        st.sampled_from(["token", "=", ":", " ", '"', "'", "\\", "{", "}", "[", "]", ",", "a1", "\n", "://", "@"])
    ),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["token", "a", "pwd"]), inner),
        max_leaves=12,
    ),
)
def test_json_stays_json_whatever_it_holds(parts: list[str], value: Any) -> None:
    document = {"text": "".join(parts), "value": value, "inner": json.dumps({"token": value, "n": 1})}
    read = json.loads(without_credentials(json.dumps(document)))
    assert read.keys() == document.keys()
    assert json.loads(read["inner"])["n"] == 1


def test_a_known_header_is_hidden_without_its_scheme_too() -> None:
    for known in ("Bearer quokka-of-the-desk", "Token quokka-of-the-desk", "quokka-of-the-desk"):
        assert without_credentials("it said quokka-of-the-desk", [known]) == f"it said {REDACTED}", known
    assert without_credentials("a bearer of news", ["Bearer of"]) == "a bearer of news"


LONG_TEXTS = {
    "words": "-".join(["ab_cd"] * 160_000),
    "quotes": '"' * 1_000_000,
    "addresses": "https://a:" * 100_000,
    "names": "token" * 200_000,
    "open lists": "token=[" * 140_000,
    "open strings": 'token=["abc, ' * 75_000,
    "deep lists": "token=" + "[" * 1_000_000,
    "backslashes": "".join("token=" + "\\" * (n % 7) + '"abc ' for n in range(60_000)),
    "bearers": "bearer " * 140_000,
    "dotted": "eyJaaaaaaaaa." * 80_000,
    "headers": "Cookie: a=b; c" * 70_000,
    "keys": "-----BEGIN " + "A " * 500_000,
}


def test_a_megabyte_takes_no_longer_than_its_length_asks_for() -> None:
    """Seconds where it is linear, minutes where it isn't; the limit leaves room for a busy machine."""
    for name, text in LONG_TEXTS.items():
        began = time.process_time()
        without_credentials(text, ["a known secret value"])
        assert time.process_time() - began < 4, name


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
