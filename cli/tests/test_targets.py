"""`rota targets` and `rota suppressions`: the requests and the output."""

import json

import pytest
from cli.tests.harness import Command, Gateway

SICK = {
    "target_id": "t1",
    "type": "webhook",
    "target": "https://crm.example/in",
    "condition": "disabled",
    "failures": 40,
    "failing_since": "2026-03-01T09:00:00Z",
    "disabled_at": "2026-03-06T09:00:00Z",
    "reason": "it failed for 5 days",
}
GONE = {
    "team_id": "main",
    "address": "ada@acme.example",
    "reason": "has left",
    "by": "wei",
    "created_at": "2026-03-02T09:00:00Z",
}


def test_failing_targets_are_listed(gateway: Gateway, command: Command) -> None:
    failing = SICK | {"target_id": "t2", "condition": "failing", "disabled_at": None, "reason": "answered 500"}
    gateway.responses["/targets"] = {"targets": [SICK, failing]}
    code, out, _ = command("targets")
    disabled, still_tried = (" ".join(line.split()) for line in out.splitlines()[1:])
    assert code == 0
    assert disabled == "t1 webhook https://crm.example/in disabled 40 2026-03-06 09:00:00 it failed for 5 days"
    assert still_tried == "t2 webhook https://crm.example/in failing 40 2026-03-01 09:00:00 answered 500"
    assert json.loads(command("targets", "--json")[1]) == [SICK, failing]


def test_without_failing_targets_all_are_healthy(gateway: Gateway, command: Command) -> None:
    gateway.responses["/targets"] = {"targets": []}
    assert command("targets")[:2] == (0, "All targets are healthy.\n")


@pytest.mark.parametrize("verb", ["enable", "disable"])
def test_a_target_is_enabled_or_disabled(gateway: Gateway, command: Command, verb: str) -> None:
    gateway.responses[f"/targets/t1/{verb}"] = {"targets": []}
    assert command("targets", verb, "t1", "--reason", "it moves")[:2] == (0, f"t1: {verb}d\n")
    assert gateway.asked == [(f"/targets/t1/{verb}", {"reason": "it moves"})]
    assert json.loads(command("targets", verb, "t1", "--json")[1]) == []


def test_suppressed_addresses_are_listed_added_and_removed(gateway: Gateway, command: Command) -> None:
    gateway.responses["/suppressions"] = {"suppressions": [GONE], "next": ""}
    gateway.responses["/suppressions/ada@acme.example"] = None
    code, out, _ = command("suppressions")
    assert code == 0
    assert " ".join(out.splitlines()[1].split()) == "ada@acme.example has left wei 2026-03-02 09:00:00"
    assert command("suppressions", "add", "ada@acme.example", "--reason", "has left")[1] == (
        "ada@acme.example: suppressed\n"
    )
    assert command("suppressions", "remove", "ada@acme.example")[1] == "ada@acme.example: no longer suppressed\n"
    assert [request.method for request in gateway.requests] == ["GET", "POST", "DELETE"]
    assert gateway.asked[1][1] == {"address": "ada@acme.example", "reason": "has left"}


def test_no_address_is_suppressed(gateway: Gateway, command: Command) -> None:
    gateway.responses["/suppressions"] = {"suppressions": [], "next": ""}
    assert command("suppressions")[1] == "No address is suppressed.\n"
    assert json.loads(command("suppressions", "--json")[1]) == []
