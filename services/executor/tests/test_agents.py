"""Agents are files: a front matter, then a prompt."""

from pathlib import Path

import pytest

from executor.agents.operator_files import ALL_TEAMS
from executor.agents.prompt_files import AgentFileError, Agents, parse
from executor.domain.conversation.chat import Tool
from rota_contracts.messages.provider import Capability, ConnectorOptions, Mode
from rota_contracts.robots.robot import ALL_PHASES


def test_every_phase_has_a_built_in_agent(subtests: pytest.Subtests) -> None:  # EX-03
    for name in [*ALL_PHASES, "validation", "dedup"]:
        with subtests.test(name=name):
            agent = Agents().of("acme").find(f"rota.{name}")
            assert agent is not None
            assert agent.system_prompt({}) != ""


def test_the_front_matter_names_a_connector_and_options() -> None:  # CL-10
    agent = parse(
        "x",
        "---\nconnector: local.small\noptions: {temperature: 0.1}\n---\nYou are $role. That costs $5.",
        teams=ALL_TEAMS,
    )
    assert (agent.id, agent.connector, agent.options) == ("x", "local.small", {"temperature": 0.1})
    assert agent.system_prompt({"role": "a clerk"}) == "You are a clerk. That costs $5."


def test_the_front_matter_bounds_how_often_and_which_tools_are_used() -> None:  # EX-32
    agent = parse("x", "---\nmax_iterations: 5\ntools: [time, web__search]\n---\nYou are a clerk.", teams=ALL_TEAMS)
    tools = [Tool("time__now", "time", "now"), Tool("web__search", "web", "search"), Tool("web__send", "web", "send")]
    assert agent.max_iterations == 5
    assert [tool.name for tool in tools if agent.may_use(tool)] == ["time__now", "web__search"]
    assert not any(parse("x", "---\ntools: []\n---\n", teams=ALL_TEAMS).may_use(tool) for tool in tools)
    unbounded = parse("x", "You are a clerk.", teams=ALL_TEAMS)
    assert unbounded.max_iterations is None
    assert parse("x", "---\nmax_iterations: 0\n---\nYou.", teams=ALL_TEAMS).max_iterations is None  # EX-81
    assert all(unbounded.may_use(tool) for tool in tools)


PACKAGE = """---
name: The keeper
type: assistant
connector: $ENV.KEEPER_MODEL
connector_options: {optional: true, connectors: [mine, openai], filters: [tool_calls, vision]}
options: {temperature: 0.7}
modes: [chat, task]
default_mode: chat
mcp: {servers: [{server_id: store}, {server_id: web, tools: [fetch]}]}
tags: [Data, Knowledge]
public: true
mentionable: true
sort: 14
teams: [acme]
---
You keep things."""


def test_an_agents_file_has_the_fields_of_the_package(tmp_path: Path) -> None:  # CL-08 CL-09 CL-10
    (tmp_path / "yao.keeper.md").write_text(PACKAGE)
    agents = Agents(tmp_path, environ={"KEEPER_MODEL": "mine"})
    keeper = agents.of("acme").find("yao.keeper")
    assert keeper is not None
    assert (keeper.connector, keeper.options) == ("mine", {"temperature": 0.7})
    assert keeper.connector_options == ConnectorOptions(
        optional=True, connectors=["mine", "openai"], filters=[Capability.TOOL_CALLS, Capability.VISION]
    )
    tools = [
        Tool("store__get", "store", "get"),
        Tool("web__fetch", "web", "fetch"),
        Tool("web__send", "web", "send"),
        Tool("crm__read", "crm", "read"),
        Tool("read_file", "rota", "read_file"),
    ]
    assert [tool.name for tool in tools if keeper.may_use(tool)] == ["store__get", "web__fetch", "read_file"]
    (card,) = [card for card in agents.of("acme").cards(tags=["Data"]) if not card.built_in]
    assert (card.id, card.name, card.modes, card.default_mode, card.sort) == (
        "yao.keeper",
        "The keeper",
        [Mode.CHAT, Mode.TASK],
        Mode.CHAT,
        14,
    )
    assert (card.connector, card.connector_options) == ("mine", keeper.connector_options)
    assert (card.tags, card.public, card.mentionable) == (["Data", "Knowledge"], True, True)
    assert [card.id for card in agents.of("acme").cards()][-1] == "yao.keeper"  # by its place, behind the built-in ones
    assert "yao.keeper" not in {card.id for card in agents.of("globex").cards()}


def test_a_variable_that_is_not_there_is_named(tmp_path: Path) -> None:  # CL-10
    (tmp_path / "yao.keeper.md").write_text(PACKAGE)
    with pytest.raises(AgentFileError, match="agent yao.keeper can't be read: expected the environment variable KEEP"):
        Agents(tmp_path, environ={})


def test_the_specifications_names_of_the_platforms_agents_are_aliases() -> None:  # CL-21 EX-03
    agents = Agents()
    assert agents.of("acme").find("__yao.goals") is agents.of("acme").find("rota.goals") is not None


def test_a_prompt_needs_no_front_matter() -> None:
    agent = parse("x", "You are a clerk.\n---\nBe kind.", teams=ALL_TEAMS)
    assert (agent.connector, agent.options) == ("", {})
    assert agent.system_prompt({}) == "You are a clerk.\n---\nBe kind."


def test_lines_and_tables_in_a_prompt_are_no_front_matter() -> None:
    agent = parse("x", "---\nconnector: a---b\n---\n| a |\n|---|\n---\nthe end", teams=ALL_TEAMS)
    assert agent.connector == "a---b"
    assert agent.system_prompt({}) == "| a |\n|---|\n---\nthe end"


def test_a_file_that_can_not_be_read_is_named(subtests: pytest.Subtests) -> None:
    cases = [
        ("---\noptions: {temperature\n---\nprompt", r"the front matter of mine\.md is not YAML"),
        ("---\n- a list\n---\nprompt", r"expected the front matter of mine\.md to be a mapping"),
        ("---\noptions: [1]\n---\nprompt", r"expected options in the front matter of mine\.md to be a mapping"),
        ("---\nconnecter: x\n---\nprompt", r"front matter of mine\.md .* connecter"),
        (
            "---\nmax_iterations: 101\n---\nprompt",
            r"max_iterations in the front matter of mine\.md to be up to 100, 0 for the usual, got 101",
        ),
        ("---\nmax_iterations: true\n---\nprompt", r"max_iterations .* got True"),
        ("---\ntimeout: 0\n---\nprompt", r"timeout in the front matter of mine\.md to be seconds, up to 3600, got 0"),
        ("---\ntimeout: 5m\n---\nprompt", r"timeout .* got '5m'"),
        ("---\ntools: web\n---\nprompt", r"expected tools in the front matter of mine\.md to be a list .* got 'web'"),
        ("---\nmodes: [sing]\n---\nprompt", r"modes in the front matter of mine\.md to be a list of chat, task, got"),
        ("---\ndefault_mode: chat\n---\nprompt", r"default_mode to be one of its modes"),
        ("---\nconnector_options: {filters: [visoin]}\n---\nprompt", r"filters \(of tool_calls, .*visoin"),
        ("---\nmcp: {servers: [web]}\n---\nprompt", r"expected mcp in .*server_id"),
        ("---\nsort: first\n---\nprompt", r"expected sort .* a whole number, got 'first'"),
        ("---\nconnector: x\nprompt", r"the front matter of mine\.md has no end"),
    ]
    for text, reason in cases:
        with subtests.test(text=text, reason=reason), pytest.raises(AgentFileError, match=reason):
            parse("mine", text)


OURS = "---\nteams: [acme]\n---\n"


def test_the_files_of_a_folder_go_before_the_built_in_ones(tmp_path: Path) -> None:  # EX-03
    (tmp_path / "rota.goals.md").write_text(OURS + "My own goals.")
    (tmp_path / "experts.writer.md").write_text(OURS + "I write.")
    (tmp_path / "notes.txt").write_text("not an agent")
    agents = Agents(tmp_path)
    found = {name: agents.of("acme").find(name) for name in ("rota.goals", "experts.writer", "notes", "rota.tasks")}
    assert {name: agent.system_prompt({}) for name, agent in found.items() if agent and name != "rota.tasks"} == {
        "rota.goals": "My own goals.",
        "experts.writer": "I write.",
    }
    assert found["rota.tasks"] is not None


def test_a_broken_file_of_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.md").write_text("---\n: :\n  - x: [\n---\n")
    with pytest.raises(AgentFileError, match=r"broken\.md"):
        Agents(tmp_path)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(AgentFileError, match="expected a folder of agent files"):
        Agents(tmp_path / "nowhere")


def test_an_assistant_without_a_file_gets_the_general_prompt(tmp_path: Path) -> None:
    (tmp_path / "experts.writer.md").write_text(OURS + "I write.")
    agents = Agents(tmp_path)
    assert agents.of("acme").assistant("experts.writer").system_prompt({}) == "I write."
    assert agents.of("acme").assistant("experts.unknown") == agents.of("acme").find("rota.run")


def test_an_agent_is_for_the_teams_that_its_file_names(tmp_path: Path) -> None:
    (tmp_path / "rota.goals.md").write_text(OURS + "My own goals.")
    (tmp_path / "experts.writer.md").write_text(OURS + "I write.")
    agents, built_in = Agents(tmp_path), Agents().of("globex").find("rota.goals")
    mine, theirs = agents.of("acme").find("rota.goals"), agents.of("globex").find("rota.goals")
    assert mine is not None
    assert theirs is not None
    assert built_in is not None
    assert mine.system_prompt({}) == "My own goals."
    assert theirs.system_prompt({}) == built_in.system_prompt({})
    assert agents.of("globex").find("experts.writer") is None
    assert agents.of("globex").assistant("experts.writer") == agents.of("globex").find("rota.run")


def test_an_agent_file_without_teams_is_refused(tmp_path: Path) -> None:
    (tmp_path / "experts.writer.md").write_text("I write.")
    with pytest.raises(AgentFileError, match=r"experts\.writer\.md .*expected the teams that may use it"):
        Agents(tmp_path)
