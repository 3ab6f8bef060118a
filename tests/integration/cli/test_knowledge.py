"""A team's shared knowledge in a running Rota: from files to the prompt of a run."""

import pytest

from tests.integration.cli.harness import Rota

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("running")]

READER = """
member_id: reader
robot_config:
  identity: {role: Sales Assistant}
  kb: {collections: [policies], options: {limit: 1}}
"""


def ids(rota: Rota, query: str, *words: str) -> list[str]:
    (found,) = rota.json("kb", "search", query, *words)
    return [each["entry"]["id"] for each in found]


def test_files_are_put_searched_given_to_a_run_and_removed(rota: Rota) -> None:  # EX-27
    for name, text in (
        ("refunds.md", "# Refunds\n\nCustomers get their money back within ten days."),
        ("leave.md", "# Leave\n\nParents may stay at home for a year."),
        ("plans.md", "\n\n".join(f"Plan {number}. " + "It has seats for many people. " * 100 for number in range(4))),
    ):
        (rota.home / name).write_text(text)
    rota.json("kb", "put", "policies", str(rota.home / "refunds.md"), str(rota.home / "leave.md"))
    (kept,) = rota.json("kb", "put", "products", str(rota.home / "plans.md"))
    assert kept["parts"] == 4
    assert ids(rota, "how long does a refund take?")[0] == "refunds.md"
    assert set(ids(rota, "seats for people", "--collection", "products")) == {f"plans.md#{n}" for n in range(1, 5)}

    (rota.home / "reader.yaml").write_text(READER)
    rota.json("apply", "-f", str(rota.home / "reader.yaml"))
    (run,) = rota.json("trigger", "reader", "--message", "When does Ada get her money back?", "--wait")
    (execution,) = rota.json("executions", "show", run["execution_id"])
    assert [each["id"] for each in execution["known"]] == ["refunds.md"]

    assert rota.json("kb", "remove", "products", "plans.md")[0]["count"] == 4
    assert rota.json("kb", "remove", "policies")[0]["count"] == 2
    assert ids(rota, "anything") == []
    gone = rota.run("kb", "remove", "policies")
    assert gone.returncode == 1
    assert "has no collection policies" in gone.stderr
