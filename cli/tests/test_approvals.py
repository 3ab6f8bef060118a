"""`rota approvals` and `rota members`: the requests, the prompt and the output; `rota apply` of several kinds."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from cli.tests.harness import Command, Gateway

from rota.errors import CliError
from rota.kinds import read_kinds
from rota_contracts.members import MemberDefinition

SHA = "8f" * 32
WAITING: dict[str, Any] = {
    "approval_id": "a1",
    "member_id": "leader",
    "execution_id": "e1",
    "task_id": "t1",
    "tool": "crm.delete_lead",
    "arguments": '{"id":"L-1042"}',
    "arguments_sha256": SHA,
    "reason": "it may destroy something",
    "asked_at": "2026-03-02T09:14:08Z",
    "expires_at": "2026-03-05T09:14:08Z",
    "status": "pending",
    "decided_by": "",
    "decided_at": None,
    "note": "",
}
DONE = WAITING | {"status": "approved", "decided_by": "k1", "decision": "approve", "repeated": False}
ANN = {"member_id": "ann", "display_name": "Ann", "email": "ann@acme.example", "role": "member", "contacts": {}}
QUESTION = '[Approval Required]\nTool: crm.delete_lead\nArgs: {"id":"L-1042"}\n'


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_calls_that_wait_are_listed(gateway: Gateway, command: Command) -> None:
    gateway.responses["/approvals"] = {"approvals": [WAITING], "next": ""}
    code, out, _ = command("approvals", "--member", "leader")
    row = ["a1", "leader", "crm.delete_lead", '{"id":"L-1042"}', "2026-03-05", "09:14:08"]
    assert (code, out.splitlines()[1].split()) == (0, row)
    assert gateway.requests[0].url.params["member_id"] == "leader"
    assert json.loads(command("approvals", "--json")[1]) == [WAITING]
    gateway.responses["/approvals"] = {"approvals": [], "next": ""}
    assert command("approvals")[:2] == (0, "No call waits for an approval.\n")


def test_a_call_is_shown_with_its_arguments(gateway: Gateway, command: Command) -> None:  # EX-57
    gateway.responses["/approvals/a1"] = WAITING
    code, out, _ = command("approvals", "show", "a1")
    assert (code, out.startswith(QUESTION)) == (0, True)
    assert "Why it waits: it may destroy something" in out


@pytest.mark.parametrize(
    ("words", "decision"),
    [(["approve", "a1"], "approve"), (["approve", "a1", "--always"], "always"), (["deny", "a1"], "deny")],
)
def test_a_decision_is_about_the_arguments_that_were_shown(
    gateway: Gateway, command: Command, words: list[str], decision: str
) -> None:  # DEC-57
    gateway.responses["/approvals/a1"] = WAITING
    code, out, _ = command("approvals", *words, "--note", "checked")
    assert (code, out.startswith(QUESTION)) == (0, True)
    expected = {"decision": decision, "arguments_sha256": SHA, "note": "checked"}
    assert gateway.asked == [("/approvals/a1", None), ("/approvals/a1", expected)]


def test_a_decision_is_printed_as_json(gateway: Gateway, command: Command) -> None:
    gateway.responses["/approvals/a1"] = DONE
    assert json.loads(command("approvals", "approve", "a1", "--json")[1]) == DONE


@pytest.mark.parametrize(
    ("key", "decision"), [("y", "approve"), ("n", "deny"), ("a", "always"), ("s", None), ("x", None)]
)
def test_the_prompt_takes_three_answers(
    gateway: Gateway, command: Command, monkeypatch: pytest.MonkeyPatch, key: str, decision: str | None
) -> None:  # EX-57
    gateway.responses["/approvals"] = {"approvals": [WAITING], "next": ""}
    gateway.responses["/approvals/a1"] = DONE
    monkeypatch.setattr("sys.stdin", Terminal(f"{key}\n"))
    code, out, _ = command("approvals", "decide")
    assert (code, out.startswith(QUESTION)) == (0, True)
    assert [body["decision"] for _, body in gateway.asked if body] == ([decision] if decision else [])


def test_the_prompt_needs_a_terminal(gateway: Gateway, command: Command) -> None:
    code, _, err = command("approvals", "decide", "a1")
    assert (code, "rota approvals approve ID" in err, gateway.asked) == (1, True, [])


def test_people_are_listed_shown_and_deleted(gateway: Gateway, command: Command) -> None:  # TG-54
    gateway.responses["/members"] = {"members": [ANN], "next": ""}
    gateway.responses["/members/ann"] = ANN
    assert command("members")[1].splitlines()[1].split() == ["ann", "Ann", "member", "ann@acme.example"]
    assert json.loads(command("members", "--json")[1]) == [ANN]
    assert "email: ann@acme.example" in command("members", "show", "ann")[1]
    assert command("members", "delete", "ann")[0] == 1
    assert command("members", "delete", "ann", "--yes")[:2] == (0, "ann: deleted\n")
    assert gateway.requests[-1].method == "DELETE"


FILE = """
member_id: leader
manager_id: ann
robot_config: {identity: {role: Tester}}
---
kind: Member
member_id: ann
email: ann@acme.example
"""


def test_members_are_applied_before_the_robots_of_the_same_file(
    gateway: Gateway, command: Command, tmp_path: Path
) -> None:  # TG-53
    gateway.responses |= {"/members": ANN | {"rev": 1}, "/robots": {"rev": 1}}
    (tmp_path / "team.yaml").write_text(FILE)
    code, out, _ = command("apply", "-f", "team.yaml")
    assert (code, out) == (0, "ann: created (rev 1)\nleader: created (rev 1)\n")
    assert gateway.asked[0] == ("/members", {"member_id": "ann", "email": "ann@acme.example"})


def test_a_file_holds_robots_and_members(tmp_path: Path) -> None:
    path = tmp_path / "team.yaml"
    path.write_text(FILE)
    robot, ann = read_kinds(path)
    assert (robot.member_id, ann) == ("leader", MemberDefinition(member_id="ann", email="ann@acme.example"))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("kind: Membre\n", "expected a kind of Robot, Member, Agent"),
        ("kind: Member\nmember_id: ann\n", "not a valid member"),
    ],
)
def test_another_kind_and_a_wrong_member_are_refused(tmp_path: Path, text: str, what: str) -> None:
    path = tmp_path / "team.yaml"
    path.write_text(text)
    with pytest.raises(CliError, match=what) as caught:
        read_kinds(path)
    assert caught.value.hint
