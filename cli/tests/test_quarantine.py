"""`rota quarantine`: the requests and the output."""

import json

import pytest
from cli.tests.harness import Command, Gateway

HELD = {
    "quarantine_id": "q1",
    "task_id": "task-1",
    "score": 0.4,
    "issues": ["no figures", "no date"],
    "member_id": "leader",
    "execution_id": "e1",
    "task": "Score the lead",
    "held_at": "2026-03-02T09:00:00Z",
    "status": "held",
    "decided_by": "",
    "decided_at": None,
    "note": "",
}
DECIDED = {"decided_by": "k_ann", "decided_at": "2026-03-02T10:00:00Z", "note": "it is right"}


def test_what_waits_is_listed(gateway: Gateway, command: Command) -> None:  # F13
    gateway.responses["/quarantine"] = {"results": [HELD], "next": "more"}
    code, out, _ = command("quarantine", "--member", "leader")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert code == 0
    assert lines[1:] == ["2026-03-02 09:00:00 q1 leader e1 0.4 held Score the lead", "next page: --after more"]
    assert dict(gateway.requests[-1].url.params) == {"limit": "50", "status": "held", "member_id": "leader"}
    command("quarantine", "--all", "--execution", "e1")
    assert dict(gateway.requests[-1].url.params) == {"limit": "50", "execution_id": "e1"}
    assert json.loads(command("quarantine", "--json")[1]) == gateway.responses["/quarantine"]
    gateway.responses["/quarantine"] = {"results": [], "next": ""}
    assert command("quarantine")[1] == "No result is in quarantine.\n"


def test_a_result_is_shown_with_what_is_wrong_and_its_output(gateway: Gateway, command: Command) -> None:  # F13
    gateway.responses["/quarantine/q1"] = HELD | {"output": "# 87 of 100", "cut": False}
    code, out, _ = command("quarantine", "show", "q1")
    assert code == 0
    assert [line for line in out.splitlines() if line.startswith(("score", "issue", "task", "#"))] == [
        "task       task-1: Score the lead",
        "score      0.4",
        "issue      no figures",
        "issue      no date",
        "# 87 of 100",
    ]
    assert json.loads(command("quarantine", "show", "q1", "--json")[1]) == gateway.responses["/quarantine/q1"]


@pytest.mark.parametrize(("verb", "status"), [("release", "released"), ("drop", "dropped")])
def test_a_result_is_released_or_dropped(gateway: Gateway, command: Command, verb: str, status: str) -> None:  # F13
    done = HELD | DECIDED | {"status": status}
    gateway.responses[f"/quarantine/q1/{verb}"] = done
    code, out, _ = command("quarantine", verb, "q1", "--note", "it is right")
    assert (code, out.splitlines()[0]) == (0, f"q1: {status}")
    assert ("rota deliveries --execution e1" in out) is (verb == "release")
    assert gateway.asked == [(f"/quarantine/q1/{verb}", {"note": "it is right"})]
    assert json.loads(command("quarantine", verb, "q1", "--json")[1]) == done
