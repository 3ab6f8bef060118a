"""Judgement of what a team is about to write, beside the rest of its definitions and what the platform has."""

from pathlib import Path
from typing import Any

import pytest

from executor.adapters.in_memory_team_definitions import InMemoryDefinitions
from executor.agents.connectors import Connectors
from executor.agents.prompt_files import Agents
from executor.agents.skill_files import Skills
from executor.agents.team_view import TeamViews
from executor.reads.judge_definitions import JudgeDefinitions
from rota_common.testing.samples import TEAM, SetClock
from rota_contracts.definitions.definition import DefinitionKind, entry
from rota_contracts.messages.definition import CheckDefinitions, WrittenDefinition

AGENT, CONNECTOR, SERVER = DefinitionKind.AGENT, DefinitionKind.CONNECTOR, DefinitionKind.MCP_SERVER
SKILL = DefinitionKind.SKILL
MODEL = {"label": "Fast", "type": "openai", "options": {"model": "small"}}
OFFERS = {"description": "How to write offers", "text": "Ask for the budget."}
STORE = {"label": "Store", "url": "https://store.example/mcp"}

REFUSED: dict[str, tuple[DefinitionKind, str, dict[str, Any], str, str]] = {
    "the platform's agent": (AGENT, "experts.clerk", {"prompt": "x"}, "id", "is the platform's: choose another id"),
    "a name of the platform's": (AGENT, "__yao.new", {"prompt": "x"}, "id", "is the platform's"),
    "the platform's connector": (CONNECTOR, "usual", MODEL, "id", "connector usual is the platform's"),
    "the platform's server": (SERVER, "crm", STORE, "id", "MCP server crm is the platform's"),
    "the platform's skill": (SKILL, "hiring", OFFERS, "id", "skill hiring is the platform's"),
    "no description": (SKILL, "s", {"text": "t"}, "description", "Field required"),
    "no name of a skill": (SKILL, "Offers", OFFERS, "id", "expected the name of a skill (lowercase letters, digits"),
    "no such skill": (AGENT, "a", {"prompt": "x", "skills": ["offers"]}, "skills", "a skill, got offers: apply one"),
    "a skill of another team's": (AGENT, "a", {"prompt": "x", "skills": ["bills"]}, "skills", "a skill, got bills"),
    "no skill's name": (AGENT, "a", {"prompt": "x", "skills": ["*"]}, "skills.0", "String should match pattern"),
    "a file elsewhere": (SKILL, "s", {**OFFERS, "files": {"../x": ""}}, "files.../x.[key]", "pattern"),
    "no such connector": (AGENT, "a", {"prompt": "x", "connector": "fats"}, "connector", "a connector, got fats"),
    "a connector of another team's": (AGENT, "a", {"prompt": "x", "connector": "theirs"}, "connector", "got theirs"),
    "no variable of the environment": (AGENT, "a", {"prompt": "x", "connector": "$ENV.KEY"}, "connector", "ENV.KEY"),
    "a choice that isn't there": (
        AGENT,
        "a",
        {"prompt": "x", "connector_options": {"connectors": ["usual", "fats"]}},
        "connector_options.connectors",
        "a connector, got fats: apply one with this id too, or see `rota connectors list`",
    ),
    "no such server": (AGENT, "a", {"prompt": "x", "mcp": {"servers": [{"server_id": "s"}]}}, "mcp.servers", "got s:"),
    "no such agent": (AGENT, "a", {"prompt": "x", "uses": {"vision": "b"}}, "uses.vision", "an agent, got b"),
    "a tool of no server": (AGENT, "a", {"prompt": "x", "uses": {"web": "mcp:s.t"}}, "uses.web", "MCP server, got s"),
    "no such way": (AGENT, "a", {"prompt": "x", "uses": {"vision": "builtin"}}, "uses.vision", "expected an agent"),
    "no such parameter": (AGENT, "a", {"prompt": "x", "options": {"api_key": "x"}}, "options", "got api_key"),
    "no such field": (AGENT, "a", {"prompt": "x", "teams": ["*"]}, "teams", "Extra inputs are not permitted"),
    "no prompt": (AGENT, "a", {}, "prompt", "Field required"),
    "itself as its fallback": (CONNECTOR, "c", {**MODEL, "fallbacks": ["c"]}, "fallbacks", "expected other connectors"),
    "no such fallback": (CONNECTOR, "c", {**MODEL, "fallbacks": ["d"]}, "fallbacks", "a connector, got d"),
    "canned answers": (CONNECTOR, "c", {**MODEL, "fallbacks": ["rehearsal"]}, "fallbacks", "that ask a model"),
    "a key in the open": (CONNECTOR, "c", {**MODEL, "options": {"model": "m", "key": "sk-1"}}, "options.key", "SECRET"),
    "no address": (SERVER, "s", {**STORE, "url": "ftp://x"}, "url", "expected an address that begins with https"),
}


@pytest.fixture
def definitions() -> InMemoryDefinitions:
    return InMemoryDefinitions()


@pytest.fixture
def judge(tmp_path: Path, definitions: InMemoryDefinitions) -> JudgeDefinitions:
    (tmp_path / "experts.clerk.md").write_text(f"---\nteams: [{TEAM}]\n---\nThe platform's clerk.")
    for name, teams in (("usual", "'*'"), ("theirs", "[globex]")):
        text = f"label: {name}\nteams: {teams}\ntype: openai\noptions: {{model: big}}\n"
        (tmp_path / f"{name}.yaml").write_text(text)
    connectors = Connectors("usual", environ={}, folder=tmp_path)
    for name, team in (("hiring", TEAM), ("bills", "globex")):
        skill = tmp_path / "skills" / name
        skill.mkdir(parents=True)
        (skill / "SKILL.md").write_text(f"---\ndescription: d\nteams: [{team}]\n---\nt")
    skills = Skills(tmp_path / "skills")
    views = TeamViews(agents=Agents(tmp_path), connectors=connectors, skills=skills, definitions=definitions)
    servers = {"crm": frozenset({TEAM}), "vault": frozenset({"globex"})}
    return JudgeDefinitions(views=views, servers=servers, clock=SetClock())


async def problems(
    judge: JudgeDefinitions, *written: tuple[DefinitionKind, str, dict[str, Any]], beside: tuple[str, ...] = ()
) -> dict[str, str]:
    """By `<kind>/<id> <field>`."""
    request = CheckDefinitions(
        team_id=TEAM,
        definitions=[WrittenDefinition(kind=kind, id=name, spec=spec) for kind, name, spec in written],
        entries=[*beside, *(entry(kind, name) for kind, name, _ in written)],
    )
    found = (await judge(request)).problems
    return {f"{entry(each.kind, each.id)} {each.field}": each.message for each in found}


async def test_what_can_not_work_is_refused_with_its_field_and_what_to_do(
    judge: JudgeDefinitions, subtests: pytest.Subtests
) -> None:
    for about, (kind, name, spec, field, message) in REFUSED.items():
        with subtests.test(about):
            ((where, why),) = (await problems(judge, (kind, name, spec))).items()
            assert where == f"{entry(kind, name)} {field}"
            assert message in why
            assert "sk-1" not in why


async def test_definitions_that_come_together_may_name_each_other_and_hidden_names_are_free(
    judge: JudgeDefinitions,
) -> None:
    helper = {"prompt": "x", "connector": "fast", "uses": {"web": "mcp:store.find", "vision": "seer"}}
    together = (
        (AGENT, "helper", helper),
        (AGENT, "seer", {"prompt": "x", "mcp": {"servers": [{"server_id": "store"}, {"server_id": "crm"}]}}),
        (CONNECTOR, "fast", {**MODEL, "fallbacks": ["usual"]}),
        (CONNECTOR, "theirs", MODEL),  # another team's of the platform is as if it weren't there
        (AGENT, "reader", {"prompt": "x", "skills": ["bills", "hiring", "offers"]}),
        (SKILL, "bills", OFFERS),
        (SKILL, "offers", OFFERS),
        (SERVER, "vault", STORE),
        (SERVER, "store", STORE),
    )
    assert await problems(judge, *together) == {}
    assert set(await problems(judge, together[0])) == {
        f"Agent/helper {at}" for at in ("connector", "uses.web", "uses.vision")
    }


async def test_what_is_left_must_work_without_what_goes(
    judge: JudgeDefinitions, definitions: InMemoryDefinitions
) -> None:
    definitions.write(TEAM, (AGENT, "helper", {"prompt": "x", "connector": "fast"}), (CONNECTOR, "fast", MODEL))
    assert await problems(judge, beside=("Agent/helper", "Connector/fast")) == {}
    assert set(await problems(judge, beside=("Agent/helper",))) == {"Agent/helper connector"}
    assert await problems(judge, beside=("Connector/fast",)) == {}
    definitions.write(TEAM, (AGENT, "reader", {"prompt": "x", "skills": ["offers"]}), (SKILL, "offers", OFFERS))
    assert await problems(judge, beside=("Agent/reader", "Skill/offers")) == {}
    assert set(await problems(judge, beside=("Agent/reader",))) == {"Agent/reader skills"}
