"""Wrong settings: each service names them in its log, and each command on standard error. None shows a secret, and each
ends with an exit code of its own."""

import json
import runpy
import sys
from collections.abc import Mapping
from importlib import import_module

import pytest

from rota_contracts.catalog import SERVICES

pytestmark = pytest.mark.usefixtures("logging_as_before")

WRONG: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "scheduler": {
        "ROTA_POOL": ("ten", "expected ROTA_POOL as a whole number, got 'ten'"),
        "ROTA_LEASE": ("0", "expected ROTA_LEASE as more than 0, got '0'"),
    },
    "executor": {
        "ROTA_ALLOW_PRIVATE_TARGETS": ("172.17.0.1,foo", "expected ROTA_ALLOW_PRIVATE_TARGETS as networks as CIDRs"),
        "ROTA_TRACE_CONTENT": ("all", "as one of 'none', 'preview' or 'verbose', got 'all'"),
        "ROTA_OTLP_HEADERS": ("s3cret", "expected ROTA_OTLP_HEADERS as name=value"),
    },
    "trigger-gateway": {
        "ROTA_ADMIN_KEY": ("s3cret", "got a key of length 6: make one with"),
        "ROTA_PUBLIC_URL": ("https://me:s3cret@here", "expected ROTA_PUBLIC_URL without a user and a password"),
        "ROTA_TRUSTED_PROXIES": ("10.0.0.1/33", "got '10.0.0.1/33'"),
    },
    "delivery-center": {"ROTA_MAIL_SENDERS": ("acme", "expected ROTA_MAIL_SENDERS as JSON, got 'acme'")},
    "memory": {"ROTA_MONGO_URL": ("mongo://me:s3cret@here", "expected ROTA_MONGO_URL as mongodb://host")},
    "validator": {"ROTA_SCRIPT_MEMORY_MB": ("1", "expected ROTA_SCRIPT_MEMORY_MB as at least 32, got '1'")},
    "learner": {"ROTA_LOG_LEVEL": ("loud", "expected ROTA_LOG_LEVEL as one of CRITICAL, ERROR, WARNING, INFO, DEBUG")},
}
"""Service → variable → what it holds, and what the log says of it."""

AT_A_LATER_LOOK = [
    ("executor", "ROTA_CONNECTOR", "gpt", "expected one of anthropic, openai, rehearsal"),
    ("delivery-center", "ROTA_SMTP_URL", "http://me:s3cret@here", "expected ROTA_SMTP_URL as smtp://host"),
    ("delivery-center", "ROTA_SMTP_URL", "smtp://me:$ENV.NOT_SET@here", "the environment variable NOT_SET"),
    ("trigger-gateway", "ROTA_SECRETS_KEY", "s3cret", "ROTA_SECRETS_KEY: expected 32 bytes"),
]
"""What `build` alone finds wrong."""

COMMANDS = {
    "topology": ["--ca-file", "none"],
    "mongo_setup": ["--key-file", "none", "--passwords", "none"],
    "migrate": ["scheduler"],
    "nats_admin.feed_clients": ["list", "--config", "none"],
}
"""Those that run beside the services, each with files that aren't there."""

NOT_THERE = {
    "topology": "expected the PEM certificate of NATS's authority in none",
    "mongo_setup": "expected MongoDB's password in none",
    "migrate": "expected MongoDB's password in none",
    "nats_admin.feed_clients": "expected a key in none",
}
"""What a command says of them."""


def reasons_of(service: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The reasons in its log, which ends with it."""
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(service.replace("-", "_"), run_name="__main__", alter_sys=True)
    assert ended.value.code == 78
    said = capsys.readouterr().err
    assert "s3cret" not in said
    lines = [json.loads(line) for line in said.splitlines()]
    assert {(line["service"], line["level"]) for line in lines} == {(service, "error")}
    return [line["reason"] for line in lines]


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_names_each_wrong_setting_and_ends(
    service: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = {"ROTA_HTTP_PORT": ("eighty", "expected ROTA_HTTP_PORT as a whole number, got 'eighty'")}
    expected |= WRONG.get(service, {})
    for variable, (value, _) in expected.items():
        monkeypatch.setenv(variable, value)
    reasons = reasons_of(service, capsys)
    assert len(reasons) == len(expected) or service == "delivery-center"  # broken JSON is found before all others
    wanted = expected if service != "delivery-center" else WRONG[service]
    for variable, (_, words) in wanted.items():
        assert any(variable in reason and words in reason for reason in reasons), (variable, reasons)


@pytest.mark.parametrize(("service", "variable", "value", "words"), AT_A_LATER_LOOK)
def test_what_is_found_when_parts_are_put_together_is_shown_the_same_way(
    service: str,
    variable: str,
    value: str,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(variable, value)
    (reason,) = reasons_of(service, capsys)
    assert words in reason


def ended(command: str, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> object:
    """The exit code of a command."""
    monkeypatch.setattr(sys, "argv", [command, *arguments])
    with pytest.raises(SystemExit) as end:
        sys.exit(import_module(f"rota_common.{command}").main())
    return end.value.code


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_names_each_wrong_setting_and_ends(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ROTA_HTTP_PORT", "eighty")
    monkeypatch.setenv("ROTA_MONGO_URL", "mongo://me:s3cret@here")
    assert ended(command, COMMANDS[command], monkeypatch) == 78
    said = capsys.readouterr().err
    assert "s3cret" not in said
    named = [line.partition(" as ")[0] for line in said.splitlines()]
    assert named == ["expected ROTA_MONGO_URL", "expected ROTA_HTTP_PORT"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_lacks_a_file_says_so(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ROTA_MONGO_PASSWORD_FILE", "none")
    assert ended(command, COMMANDS[command], monkeypatch) == 1
    assert capsys.readouterr().err.startswith(NOT_THERE[command])
