"""`rota doctor` about a Rota elsewhere, and what it makes of failures."""

import json
from collections.abc import Iterator
from functools import partial

import httpx
import pytest
from cli.tests.harness import Command, Gateway

from rota import context, context_files
from rota.client import Api
from rota.context import Context

READY = {"service": "trigger-gateway", "ready": True, "problems": {}}
HERE = "http://127.0.0.1:8080"
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
    assert (code, list(parts(out))) == (0, ["context", "gateway", "scheduler", "executor", "delivery-center"])


def test_a_refused_key_is_one_finding(elsewhere: Gateway, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/health/ready":
            return httpx.Response(200, json=READY)
        return httpx.Response(401, json={"error": {"code": "unauthorized", "message": "unknown key"}})

    monkeypatch.setattr("rota.doctor_elsewhere.Api", partial(Api, transport=httpx.MockTransport(refuse)))
    code, out, _ = command("doctor", "--json")
    assert (code, list(parts(out))) == (1, ["context", "gateway", "key"])


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
