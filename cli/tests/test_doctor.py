"""`rota doctor` about a Rota elsewhere, and what it makes of failures."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx
import nats
import nats.errors
import pytest
from cli.tests.harness import Command, Gateway

from rota import context, context_files
from rota.client import Api
from rota.context import Context

READY = {"service": "trigger-gateway", "ready": True, "problems": {}}
HERE = "http://127.0.0.1:8080"
UNASKED = ("validator", "learner", "memory", "nats", "mongodb")
OPERATOR_KEY = "keys/operator/nats.nk"
LOCAL = {"python", "nats-server", "mongod", "qdrant", "model", "smtp"}


@pytest.fixture
def elsewhere(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gateway]:
    """A Rota at http://gateway that is ready, for the modules of the doctor."""
    transport = httpx.MockTransport(gateway)
    for module in ("rota.doctor", "rota.doctor_elsewhere"):
        monkeypatch.setattr(f"{module}.Api", partial(Api, transport=transport))
    for name in ("ROTA_QDRANT_URL", "ROTA_SMTP_URL", "ROTA_NATS_URL", "ROTA_MONGO_URL"):
        monkeypatch.delenv(name, raising=False)
    gateway.responses |= {"/health/ready": READY, "/plans": {}, "/executions": {}, "/deliveries": {}}
    return gateway


def parts(printed: str) -> dict[str, tuple[str, str]]:
    found = [json.loads(line) for line in printed.splitlines()]
    return {one["part"]: (one["level"], one["found"]) for one in found}


def test_of_a_rota_elsewhere_its_services_are_reported_and_nothing_of_this_machine(
    elsewhere: Gateway, command: Command
) -> None:
    del elsewhere.responses["/deliveries"]
    elsewhere.responses["/health/ready"] = READY | {"degraded": {"TRIGGERS": "91 % full"}}
    code, out, _ = command("doctor", "--json")
    found = parts(out)
    assert {part: level for part, (level, _) in found.items()} == {
        "context": "ok",
        "gateway": "ok",
        "TRIGGERS": "note",
        "scheduler": "ok",
        "executor": "ok",
        "delivery-center": "missing",
        **dict.fromkeys(UNASKED, "note"),
    }
    assert (code, not LOCAL & set(found)) == (1, True)


def test_compose_on_this_machine_is_elsewhere_and_the_servers_of_a_rota_up_are_not_asked(
    elsewhere: Gateway, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = {"nats_url": "nats://127.0.0.1:1", "mongo_url": "mongodb://127.0.0.1:1"}
    context.save(Context("http://127.0.0.1:9999", "main", "key", **servers), "other")
    context_files.use("other")
    monkeypatch.setenv("ROTA_URL", "http://localhost:8080")
    code, out, _ = command("doctor", "--json")
    expected = ["context", "gateway", "scheduler", "executor", "delivery-center", *UNASKED]
    assert (code, list(parts(out))) == (0, expected)


def test_a_refused_key_is_one_finding(elsewhere: Gateway, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/health/ready":
            return httpx.Response(200, json=READY)
        return httpx.Response(401, json={"error": {"code": "unauthorized", "message": "unknown key"}})

    monkeypatch.setattr("rota.doctor_elsewhere.Api", partial(Api, transport=httpx.MockTransport(refuse)))
    code, out, _ = command("doctor", "--json")
    found = parts(out)
    assert (code, list(found)[:3], found["key"][0]) == (1, ["context", "gateway", "key"], "missing")


def test_what_answers_and_is_no_rota_is_a_finding(elsewhere: Gateway, command: Command) -> None:
    elsewhere.responses["/health/ready"] = ["something else"]
    code, out, _ = command("doctor", "--json")
    assert (code, parts(out)["gateway"]) == (1, ("missing", "what answers at http://gateway is not Rota"))


def test_settings_that_no_client_can_use_are_findings_without_a_traceback(
    elsewhere: Gateway, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROTA_NATS_URL", "nats://127.0.0.1:port")
    monkeypatch.setenv("ROTA_MONGO_URL", "nonsense://x")
    monkeypatch.setenv("ROTA_SMTP_URL", "smtp://mail:port")
    code, out, err = command("doctor", "--json")
    levels = {part: level for part, (level, _) in parts(out).items()}
    assert (code, levels["nats"], levels["mongodb"], levels["smtp"]) == (1, "missing", "missing", "missing")
    assert "Traceback" not in out + err


def test_the_model_and_the_mail_server_are_those_of_the_running_rota_up(
    elsewhere: Gateway, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    context.save(Context(HERE, "main", "key", mongo_url="nonsense://x", model="openai"), "own")
    context_files.use("own")
    monkeypatch.setenv("ROTA_URL", HERE)
    monkeypatch.setenv("ROTA_CONNECTOR", "rehearsal")
    monkeypatch.setenv("ROTA_SMTP_URL", "smtp://mail.invalid:25")
    found = parts(command("doctor", "--json")[1])
    assert (found["model"], found["smtp"][1]) == (("ok", "connector openai"), "no mail server")


def test_what_was_not_asked_is_listed_with_what_to_set(
    elsewhere: Gateway, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, _ = command("doctor")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert (code, lines[-1]) == (0, "Nothing that was asked is missing.")
    assert {"memory note not asked (set ROTA_NATS_URL)", "mongodb note not asked (set ROTA_MONGO_URL)"} <= set(lines)
    monkeypatch.delenv("ROTA_API_KEY")
    assert "not asked (set ROTA_TEAM and ROTA_API_KEY" in parts(command("doctor", "--json")[1])["executor"][1]


@pytest.mark.parametrize(
    ("setting", "value", "says"),
    [
        ("", "", ("asks for a key: none was sent", "set ROTA_NATS_NKEY_FILE to the operator's key")),
        ("ROTA_NATS_NKEY_FILE", "own.nk", ("doesn't know the key in own.nk", "correct ROTA_NATS_NKEY_FILE")),
        (
            "ROTA_NATS_CONFIG",
            "nats",
            ("doesn't know the key in nats/keys/operator/nats.nk", "correct ROTA_NATS_CONFIG"),
        ),
        ("ROTA_NATS_NKEY_FILE", "none.nk", ("expected a key in none.nk", "correct ROTA_NATS_NKEY_FILE")),
    ],
)
def test_a_key_that_nats_refuses_is_named_with_its_setting(
    elsewhere: Gateway,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    setting: str,
    value: str,
    says: tuple[str, str],
) -> None:
    async def refuse(*_: object, **options: object) -> None:
        assert options.get("nkeys_seed", "") == (
            value if value.endswith(".nk") else value and f"{value}/{OPERATOR_KEY}"
        )
        raise nats.errors.Error("nats: 'Authorization Violation'")

    monkeypatch.setattr("nats.connect", refuse)
    for name in ("ROTA_NATS_NKEY_FILE", "ROTA_NATS_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ROTA_NATS_URL", "nats://nats:4222")
    (tmp_path / "nats" / OPERATOR_KEY).parent.mkdir(parents=True)
    for file in ("own.nk", f"nats/{OPERATOR_KEY}"):
        (tmp_path / file).write_text("seed")
    if setting:
        monkeypatch.setenv(setting, value)
    (found,) = [one for one in map(json.loads, command("doctor", "--json")[1].splitlines()) if one["part"] == "nats"]
    assert (says[0] in found["found"], says[1] in found["mend"]) == (True, True), found
    assert "start it" not in found["mend"]
