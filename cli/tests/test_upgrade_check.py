"""`rota upgrade --check`: which versions may be upgraded, and what it says of failures."""

import json
from functools import partial

import httpx
import pytest
from cli.tests.harness import Command, Gateway

from rota.client import Api
from rota.server.upgrade_check import version_finding
from rota_contracts.version import FIRST_REPORTED, VERSION


@pytest.fixture
def running(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> Gateway:
    monkeypatch.setattr("rota.server.upgrade_check.Api", partial(Api, transport=httpx.MockTransport(gateway)))
    for name in ("ROTA_NATS_URL", "ROTA_MONGO_URL"):
        monkeypatch.delenv(name, raising=False)
    return gateway


def test_a_version_too_far_away_is_refused_and_one_that_says_none_is_from_before_the_first_that_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    levels = {}
    for coming in (FIRST_REPORTED, "0.3.0"):
        monkeypatch.setattr("rota.server.upgrade_check.VERSION", coming)
        for version in (coming, "", "0.9.0", "x"):
            levels[coming, version] = version_finding("executor", version).level.value
    fits = {("0.2.0", "0.2.0"), ("0.2.0", ""), ("0.3.0", "0.3.0")}
    assert {case for case, level in levels.items() if level == "ok"} == fits
    assert {level for case, level in levels.items() if case not in fits} == {"missing"}
    assert "step by step" in version_finding("executor", "0.9.0").mend


def test_it_ends_with_1_if_something_is_to_be_done_first(running: Gateway, command: Command) -> None:
    ends = {}
    for version, problems in ((VERSION, {}), ("0.9.0", {}), (VERSION, {"mongo": "ConnectionError"})):
        report = {"service": "trigger-gateway", "ready": not problems, "version": version, "problems": problems}
        running.responses["/health/ready"] = report
        code, out, _ = command("upgrade", "--check", "--partial", "--json")
        found = {one["part"]: one for one in map(json.loads, out.splitlines())}
        ends[version, bool(problems)] = (code, found["trigger-gateway"]["level"])
        assert (found["nats"]["level"], found["mongodb"]["mend"]) == ("note", "set ROTA_MONGO_URL")
    assert ends == {(VERSION, False): (0, "ok"), ("0.9.0", False): (1, "missing"), (VERSION, True): (1, "missing")}


def test_without_check_it_changes_nothing_and_says_who_does(running: Gateway, command: Command) -> None:
    code, _, err = command("upgrade")
    assert (code, "expected --check" in err, running.asked) == (1, True, [])


def test_the_version_of_each_named_service_counts(running: Gateway, command: Command) -> None:
    running.responses["/health/ready"] = {
        "service": "trigger-gateway",
        "ready": True,
        "version": VERSION,
        "problems": {},
    }
    ends = {}
    for answer in ({"service": "executor", "version": VERSION}, {"service": "executor", "version": "0.9.0"}, {"a": 1}):
        running.responses["/health/live"] = answer
        code, out, _ = command("upgrade", "--check", "--partial", "--json", "--service", "http://executor:8080")
        ends[json.dumps(answer)] = (code, json.loads(out.splitlines()[1])["part"])
    assert [*ends.values()] == [(0, "executor"), (1, "executor"), (1, "http://executor:8080")]


def test_what_is_not_checked_is_named_and_ends_with_1_but_for_partial(running: Gateway, command: Command) -> None:
    report = {"service": "trigger-gateway", "ready": True, "version": VERSION, "problems": {}}
    running.responses |= {"/health/ready": report, "/health/live": {"service": "executor", "version": VERSION}}
    code, out, _ = command("upgrade", "--check")
    said = out.splitlines()[-1]
    assert (code, said.partition(": set")[0]) == (1, "Not fully checked: 6 services, nats, mongodb")
    assert all(each in said for each in ("--service", "ROTA_NATS_URL", "ROTA_MONGO_URL", "--partial"))
    assert "Ready" not in out
    code, out, _ = command("upgrade", "--check", "--partial", "--service", "http://executor:8080")
    assert (code, "5 services" in out, out.splitlines()[-1]) == (
        0,
        True,
        f"Ready for {VERSION}, as far as it was checked.",
    )
