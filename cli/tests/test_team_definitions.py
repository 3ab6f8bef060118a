"""`rota apply` of agents, connectors and MCP servers, and their list, history, rollback and canary."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from cli.tests.harness import Command, Gateway

from rota.errors import CliError
from rota.kinds import read_all
from rota_contracts.messages.definition import WrittenDefinition

TEAM = """\
kind: Agent
id: experts.writer
prompt: You write offers.
connector: fast
---
kind: Connector
id: fast
label: Fast
type: openai
options: {model: small, key: $SECRET.FAST}
---
kind: MCPServer
id: store
label: The store
url: https://store.example/mcp
---
member_id: seller
robot_config: {identity: {role: Sales}, resources: {agents: [experts.writer]}}
"""
DEFINITIONS, SEEN = "/definitions", "/definitions/seen"
APPLIED = {
    "rev": 3,
    "definitions": [
        {"kind": "Agent", "id": "experts.writer", "outcome": "changed", "rev": 3, "before": None, "after": None},
        {"kind": "Connector", "id": "fast", "outcome": "unchanged", "rev": 1, "before": None, "after": None},
    ],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "team").mkdir()
    return tmp_path / "team"


def test_a_folder_holds_documents_of_all_kinds_and_agents_in_markdown(folder: Path) -> None:
    (folder / "all.yaml").write_text(TEAM)
    (folder / "agents").mkdir()
    (folder / "agents" / "experts.clerk.md").write_text("---\ntags: [Data]\n---\nYou keep the books.\n")
    (folder / "experts.reader").mkdir()
    (folder / "experts.reader" / "AGENTS.md").write_text("You read.\n")
    (folder / "README.md").write_text("# What this is\n")
    (folder / "skills" / "offers" / "references").mkdir(parents=True)
    (folder / "skills" / "offers" / "SKILL.md").write_text(
        "---\nname: offers\ndescription: How we write offers.\nallowed-tools: Read\n"
        "metadata: {version: 1.0}\n---\nAsk for the budget.\n"
    )
    (folder / "skills" / "offers" / "references" / "prices.md").write_text("---\nA page: 5 EUR.\n")
    (folder / "skills" / "offers" / "data.yaml").write_text("kind: nothing of ours\n")
    (folder / "skills" / "offers" / ".hidden").write_bytes(b"\xff")
    found = read_all([folder])
    written = {f"{each.kind}/{each.id}": each.spec for each in found if isinstance(each, WrittenDefinition)}
    assert written.keys() == {
        *("Agent/experts.writer", "Agent/experts.clerk", "Agent/experts.reader"),
        *("Connector/fast", "MCPServer/store", "Skill/offers"),
    }
    assert written["Skill/offers"] == {
        "description": "How we write offers.",
        "allowed-tools": "Read",
        "metadata": {"version": 1.0},
        "text": "Ask for the budget.",
        "files": {"data.yaml": "kind: nothing of ours\n", "references/prices.md": "---\nA page: 5 EUR.\n"},
    }
    assert written["Agent/experts.clerk"] == {"tags": ["Data"], "prompt": "You keep the books."}
    assert written["Agent/experts.reader"] == {"prompt": "You read."}
    assert [each.member_id for each in found if not isinstance(each, WrittenDefinition)] == ["seller"]


def test_what_is_wrong_is_named_with_its_file(folder: Path, subtests: pytest.Subtests) -> None:
    cases = {
        "kind: Agent\nid: a\npromt: x": "promt",
        "kind: Agent\nprompt: x": "id: expected one, like experts.writer, of the Agent",
        "kind: Agent\nid: a b\nprompt: x": "id",
        "kind: Connector\nid: c\nlabel: C\ntype: openai\noptions: {model: m, key: sk-1}": r"options.key: .*\$SECRET",
        "kind: Agent\nid: a\nprompt: x\noptions: {temperature: .inf}": "is not a valid Agent: .*",
        "kind: Agnet\nid: a": "expected a kind of Robot, Member, Agent, Connector, MCPServer, Skill in",
        "kind: Skill\nid: s\ntext: x": "description",
        "kind: Skill\nid: s\ndescription: d\ntext: x\nfiles: {../a: x}": r"files.*\.\./a",
        TEAM + "---\nkind: Agent\nid: experts.writer\nprompt: x": "several of Agent/experts.writer",
    }
    for text, expected in cases.items():
        with subtests.test(expected):
            (folder / "wrong.yaml").write_text(text)
            with pytest.raises(CliError) as caught:
                read_all([folder])
            shown = "\n".join([caught.value.what, *caught.value.details])
            assert re.search(expected, shown), shown
            assert "sk-1" not in shown
    (folder / "wrong.yaml").unlink()
    (folder / "a.md").write_text("---\nteams: [acme]\n---\nx")
    with pytest.raises(CliError, match="names teams: only the operator's files do"):
        read_all([folder])
    (folder / "a.md").unlink()
    with pytest.raises(CliError, match="there are none"):
        read_all([folder])


def test_a_wrong_skill_is_named_with_its_file(folder: Path, subtests: pytest.Subtests) -> None:
    (folder / "offers").mkdir()
    skill = folder / "offers" / "SKILL.md"
    for text, expected in {
        "---\nname: sales\ndescription: d\n---\nx": "the name of its folder, offers, got 'sales'",
        "---\ndescription: d\n": "has no end",
        "no front matter": "expected SKILL.md to begin with a front matter",
    }.items():
        with subtests.test(expected):
            skill.write_text(text)
            with pytest.raises(CliError) as caught:
                read_all([folder])
            assert expected in "\n".join([caught.value.what, *caught.value.details])
    (folder / "offers" / "link.md").symlink_to(folder.parent)
    skill.write_text("---\ndescription: d\n---\nx")
    with pytest.raises(CliError, match="link.md leads out of it"):
        read_all([skill])
    (folder / "offers" / "link.md").unlink()
    (folder / "offers" / "large.md").write_text("x" * 256 * 1024)
    with pytest.raises(CliError, match="expected at most 262144 bytes in the whole folder; large.md is beyond"):
        read_all([folder])
    (folder / "offers" / "large.md").unlink()
    (folder / "all.yaml").write_text("kind: Skill\nid: Of.fers\ndescription: d\ntext: x")
    with pytest.raises(CliError, match="not a valid Skill: expected the name of a skill"):
        read_all([folder / "all.yaml"])
    (folder / "all.yaml").unlink()
    (folder / "offers" / "logo.png").write_bytes(b"\x89PNG\xff")
    skill.write_text("---\ndescription: d\n---\nx")
    with pytest.raises(CliError, match="logo.png to be text in UTF-8"):
        read_all([folder])


def test_definitions_are_applied_as_one_before_the_robots_and_known(
    gateway: Gateway, command: Command, folder: Path
) -> None:
    (folder / "all.yaml").write_text(TEAM)
    gateway.responses[DEFINITIONS] = APPLIED
    gateway.responses["/robots"] = {"member_id": "seller", "rev": 1}
    gateway.responses["/robots/seller/problems"] = {"problems": []}
    gateway.responses[SEEN] = {"rev": 3, "executors": 2, "seen": 2}
    code, out, err = command("apply", "-f", "team", "--wait", "--canary", "10")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        *("Agent/experts.writer: changed (rev 3)", "Connector/fast: unchanged (rev 1)"),
        "seller: created (rev 1)",
    ]
    [(path, body), *rest] = gateway.asked
    assert (path, [each["id"] for each in body["definitions"]]) == (DEFINITIONS, ["experts.writer", "fast", "store"])
    assert (body["canary"], body["prune"], body["dry_run"]) == (10, False, False)
    assert [path for path, _ in rest][:2] == ["/robots", SEEN]
    gateway.responses[SEEN] = {"rev": 3, "executors": 2, "seen": 1}
    code, _, err = command("apply", "-f", "team", "--wait", "--timeout", "0")
    assert code == 1
    assert "1 of 2 executors know revision 3" in err


def test_a_diff_changes_nothing_and_its_exit_code_says_whether_anything_would(
    gateway: Gateway, command: Command, folder: Path
) -> None:
    (folder / "all.yaml").write_text(TEAM.partition("---")[0])
    change: dict[str, Any] = {"kind": "Agent", "id": "experts.writer", "outcome": "changed", "rev": 3}
    change |= {"before": {"prompt": "Old."}, "after": {"prompt": "New."}}
    gateway.responses[DEFINITIONS] = {"rev": 3, "definitions": [change]}
    code, out, _ = command("apply", "-f", "team", "--diff")
    assert (code, out.splitlines()) == (
        1,
        [
            *("--- Agent/experts.writer (now)", "+++ Agent/experts.writer (file)", "@@ -1 +1 @@"),
            *("-prompt: Old.", "+prompt: New."),
        ],
    )
    assert gateway.asked[0][1]["dry_run"] is True
    gateway.responses[DEFINITIONS] = {"rev": 3, "definitions": [change | {"after": {"prompt": "Old."}}]}
    assert command("apply", "-f", "team", "--diff")[:2] == (0, "")


def test_what_prune_deletes_is_confirmed_or_said(gateway: Gateway, command: Command, folder: Path) -> None:
    (folder / "all.yaml").write_text(TEAM.partition("---")[0])
    gone = {"kind": "Connector", "id": "fast", "outcome": "deleted", "rev": 4, "before": {}, "after": None}
    gateway.responses[DEFINITIONS] = {"rev": 4, "definitions": [gone]}
    code, _, err = command("apply", "-f", "team", "--prune")
    assert code == 1
    assert "--prune would delete Connector/fast" in err
    assert [body["dry_run"] for _, body in gateway.asked] == [True]
    assert command("apply", "-f", "team", "--prune", "--yes")[:2] == (0, "Connector/fast: deleted (rev 4)\n")
    assert gateway.asked[-1][1]["prune"] is True


def test_definitions_are_listed_shown_and_rolled_back(gateway: Gateway, command: Command) -> None:
    one = {"kind": "Agent", "id": "a", "rev": 3, "written_at": "2026-11-26T09:00:00Z", "written_by": "ci"}
    canary = {"rev": 4, "share": 10, "since": "2026-11-26T09:00:00Z"}
    gateway.responses[DEFINITIONS] = {"rev": 3, "canary": canary, "definitions": [one]}
    code, out, _ = command("definitions", "list", "--kind", "agent")
    assert code == 0
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines[1:] == [
        "Agent a 3 2026-11-26 09:00:00 ci",
        "Revision 4 is a canary with 10 % of new runs: see `rota canary show`.",
    ]
    assert dict(gateway.requests[-1].url.params) == {"kind": "Agent"}
    gateway.responses["/definitions/Agent/a"] = one | {"spec": {"prompt": "You write."}}
    assert command("definitions", "show", "Agent", "a", "--rev", "3")[1] == "kind: Agent\nid: a\nprompt: You write.\n"
    history = [one | {"deleted": True, "rolled_back_to": None}, one | {"deleted": False, "rolled_back_to": 1}]
    gateway.responses["/definitions/Agent/a/revisions"] = {"revisions": history}
    shown = command("definitions", "history", "Agent", "a")[1].splitlines()[1:]
    assert [line.split()[4:] for line in shown] == [["deleted"], ["as", "revision", "1"]]
    again = one | {"outcome": "changed", "rev": 5}
    gateway.responses["/definitions/Agent/a/rollback"] = {"rev": 5, "definitions": [again]}
    assert command("rollback", "Agent", "a", "--to", "2")[1] == "Agent/a: changed (rev 5)\n"
    assert gateway.asked[-1][1] == {"to": 2}
    assert command("definitions", "delete", "Agent", "a", "--yes")[1] == "Agent, a: deleted\n"


def test_a_robots_history_is_shown_and_rolled_back(gateway: Gateway, command: Command) -> None:
    one = {"rev": 3, "written_at": "2026-11-26T09:00:00Z", "written_by": "ci"}
    gateway.responses["/robots/seller/revisions"] = {"revisions": [one]}
    assert command("robots", "history", "seller")[1].splitlines()[1].split() == ["3", "2026-11-26", "09:00:00", "ci"]
    gateway.responses["/robots/seller/rollback"] = {"member_id": "seller", "rev": 4}
    assert command("rollback", "robot", "seller")[1] == "Robot/seller: changed (rev 4)\n"
    assert gateway.asked[-1] == ("/robots/seller/rollback", {"to": None})


def test_figures_of_canaries_stand_beside_those_of_what_is_current(gateway: Gateway, command: Command) -> None:
    canary = {"rev": 4, "share": 10, "since": "2026-11-26T09:00:00Z"}
    counts = [
        {"rev": 3, "runs": 90, "completed": 80, "failed": 4, "cost": {"USD": 1.5}},
        {"rev": 4, "runs": 10, "completed": 0, "failed": 0, "cost": {}},
    ]
    robots = [{"member_id": "seller", "canary": canary}, {"member_id": "other", "canary": None}]
    gateway.responses["/robots"] = {"robots": robots, "total": 2}
    gateway.responses["/robots/seller/canary"] = {"rev": 3, "canary": canary, "counts": counts}

    def shown(*words: str) -> list[str]:
        return [" ".join(line.split()) for line in command("canary", *words)[1].splitlines()][1:]

    of_seller = ["seller current 3 90 80 4 95 % 1.50 USD", "seller canary, 10 % 4 10 0 0 - -"]
    assert shown("show") == of_seller
    gateway.responses["/definitions/canary"] = {"rev": 3, "canary": canary, "counts": counts, "definitions": []}
    assert shown("show") == [line.replace("seller", "definitions") for line in of_seller] + of_seller
    assert shown("show", "--robot", "seller") == of_seller
    assert "revision 4 for 10 % of new runs" in command("canary", "share", "20")[1]
    assert command("canary", "share", "20", "--robot", "seller")[1].startswith("Robot seller is revision 3, with")
    assert gateway.asked[-1] == ("/robots/seller/canary", {"share": 20})
    gateway.responses["/definitions/canary/promote"] = {"rev": 4, "canary": None, "definitions": []}
    assert command("canary", "promote")[1] == "The current definitions are revision 4.\n"
    gateway.responses["/robots/seller/canary/promote"] = {"rev": 5, "canary": None}
    assert command("canary", "promote", "--robot", "seller")[1] == "Robot seller is revision 5.\n"
    gateway.responses["/definitions/canary/abort"] = {"rev": 3, "canary": None}
    assert json.loads(command("canary", "abort", "--json")[1]) == {"rev": 3, "canary": None}
    gateway.responses = {"/robots": {"robots": [], "total": 0}}
    assert command("canary", "show")[1].startswith("There is no canary: `rota apply")


def test_files_are_validated_without_a_running_rota(command: Command, folder: Path) -> None:
    (folder / "all.yaml").write_text(TEAM)
    shown: Any = command("validate", "-f", "team")
    assert (shown[0], shown[1].splitlines()) == (
        0,
        ["Agent/experts.writer: valid", "Connector/fast: valid", "MCPServer/store: valid", "seller: valid"],
    )
