"""Warnings of `rota apply`."""

from pathlib import Path

from cli.tests.harness import Command, Gateway

ROBOT = """
member_id: ann
robot_config:
  identity: {role: Analyst}
  events:
    - {type: webhook, source: /webhook/leads, filter: {event_types: [lead.new]}}
    - {type: webhook, source: orders, filter: {event_types: [order.new]}}
    - {type: database, source: crm, filter: {trigger: insert}}
  delivery:
    preferences:
      webhook:
        targets:
          - {url: "https://a.example/1", secret: $SECRET.HOOK}
          - {url: "https://a.example/2", secret: $ENV.HOOK, headers: {authorization: $SECRET.TOKEN}}
"""


def test_sources_and_secrets_that_are_not_there_are_warned_of_once(
    gateway: Gateway, command: Command, tmp_path: Path
) -> None:
    (tmp_path / "ann.yaml").write_text(ROBOT)
    gateway.responses |= {"/robots": {"rev": 1}, "/sources": {"sources": [{"name": "orders"}]}}
    gateway.responses |= {"/secrets": {"secrets": [{"name": "TOKEN"}]}}
    code, out, err = command("apply", "-f", "ann.yaml")
    assert (code, out) == (0, "ann: created (rev 1)\n")
    assert err.splitlines() == [
        "ann: there is no source leads, so its events don't come: rota sources add leads --generate",
        "ann: there is no source crm, so its events don't come: rota sources add-database crm --help",
        "ann: the secret HOOK isn't set, and what needs it waits: rota secrets set HOOK",
    ]


def test_agents_and_mcp_servers_that_the_executor_has_not_are_warned_of(
    gateway: Gateway, command: Command, tmp_path: Path
) -> None:
    (tmp_path / "ann.yaml").write_text("{member_id: ann, robot_config: {identity: {role: Analyst}}}")
    problem = "MCP server crm isn't set up here, so there are no tools of it"
    gateway.responses |= {"/robots": {"rev": 1}, "/robots/ann/problems": {"problems": [problem]}}
    code, out, err = command("apply", "-f", "ann.yaml")
    assert (code, out, err) == (0, "ann: created (rev 1)\n", f"ann: {problem}\n")


def test_what_the_key_may_not_read_is_not_checked(gateway: Gateway, command: Command, tmp_path: Path) -> None:
    (tmp_path / "ann.yaml").write_text(ROBOT)
    gateway.responses["/robots"] = {"rev": 1}
    code, out, err = command("apply", "-f", "ann.yaml")
    assert (code, out, err) == (0, "ann: created (rev 1)\n", "")
