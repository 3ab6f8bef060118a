"""A team's agents and connectors at one set of its definitions, beside the platform's."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from services.executor.tests.fixtures import a_task, at, new_run, with_tasks
from services.executor.tests.harness import StepHarness

from executor.adapters.in_memory import ScriptedModel
from executor.adapters.in_memory_team_definitions import InMemoryDefinitions
from executor.agents.connectors import Connectors
from executor.agents.model_parameters import PARAMETERS
from executor.agents.prompt_files import Agents
from executor.agents.team_view import BASE, TeamViews
from executor.domain.spending import Payer
from executor.domain.steps import RunTurn
from executor.model_port import NoAnswer, Prompt
from executor.steps.models import Candidate, Models
from executor.steps.team_keys import TeamKeys
from rota_common.errors import Permanent, Transient
from rota_common.team_secrets import CachedSecrets
from rota_common.testing.samples import MEMBER, TEAM
from rota_contracts.definitions.definition import Definition, DefinitionKind
from rota_contracts.messages.trigger import ExecutorMode, Message

AGENT, CONNECTOR, SKILL = DefinitionKind.AGENT, DefinitionKind.CONNECTOR, DefinitionKind.SKILL
OFFERS = {"description": "How to write offers", "text": "Ask for the budget."}
OTHER = "globex"
FAST = {"label": "Fast", "type": "openai", "options": {"model": "small", "key": "$SECRET.FAST"}, "fallbacks": ["mine"]}


def writer(prompt: str, **fields: Any) -> tuple[DefinitionKind, str, dict[str, Any]]:
    return AGENT, "experts.writer", {"prompt": prompt, **fields}


@pytest.fixture
def definitions() -> InMemoryDefinitions:
    return InMemoryDefinitions()


@pytest.fixture
def views(tmp_path: Path, definitions: InMemoryDefinitions) -> TeamViews:
    (tmp_path / "experts.clerk.md").write_text(f"---\nteams: [{TEAM}]\n---\nThe platform's clerk.")
    (tmp_path / "mine.yaml").write_text("label: M\nteams: '*'\ntype: openai\noptions: {model: big}\n")
    return TeamViews(
        agents=Agents(tmp_path),
        connectors=Connectors("mine", environ={"FAST": "the process's own"}, folder=tmp_path),
        definitions=definitions,
    )


async def test_a_team_sees_the_platforms_and_its_own_and_the_platforms_goes_before(
    views: TeamViews, definitions: InMemoryDefinitions
) -> None:
    own = {"prompt": "A clerk of the team's."}
    taken = {**FAST, "label": "Not this one"}
    definitions.write(
        TEAM,
        writer("I write."),
        (AGENT, "experts.clerk", own),
        (CONNECTOR, "fast", FAST),
        (CONNECTOR, "mine", taken),
        (SKILL, "offers", OFFERS),
    )
    mine, theirs = await views.of(TEAM), await views.of(OTHER)
    found = {name: mine.agents.find(name) for name in ("experts.writer", "experts.clerk", "rota.goals", "none")}
    assert {name: agent and agent.system_prompt({}) for name, agent in found.items() if name.startswith("experts")} == {
        "experts.writer": "I write.",
        "experts.clerk": "The platform's clerk.",
    }
    assert found["rota.goals"] is not None
    assert found["none"] is None
    shown = {each.id: (each.label, each.fallbacks) for each in mine.connectors.providers()}
    assert (shown["fast"], shown["mine"]) == (("Fast", ["mine"]), ("M", []))
    assert "experts.writer" in {card.id for card in mine.agents.cards()}
    assert ([skill.name for skill in mine.own.skills], theirs.own.skills) == (["offers"], [])
    assert (theirs.agents.find("experts.writer"), theirs.connectors.find("fast")) == (None, None)
    with pytest.raises(Permanent, match="expected a connector, one of anthropic, mine, .*not 'fast'"):
        theirs.connectors.choose("fast")


async def test_a_team_without_definitions_costs_no_reading(views: TeamViews, definitions: InMemoryDefinitions) -> None:
    definitions.write(TEAM, writer("I write."))
    await views.of(OTHER)
    await views.of(TEAM, 0)
    assert definitions.reads == 0
    await asyncio.gather(*(views.of(TEAM, 1) for _ in range(5)))
    assert definitions.reads == 2  # the set and its agent, once


async def test_a_run_stays_with_the_set_that_it_began_with(definitions: InMemoryDefinitions) -> None:
    shop = StepHarness(ScriptedModel(last="Done."))
    first = shop.definitions.write(TEAM, writer("The first words."))
    run = with_tasks(a_task(1)).model_copy(update={"definitions_rev": first})
    for number in range(100):
        shop.definitions.write(TEAM, writer(f"Words number {number}."))
    await shop.step(at(RunTurn, run=run))
    await shop.step(at(RunTurn, run=run.model_copy(update={"definitions_rev": 101})))
    await shop.step(at(RunTurn, run=run.model_copy(update={"definitions_rev": 0})))
    asked = [prompt.messages[0].text() for prompt in shop.model.prompts]
    assert "The first words." in asked[0]
    assert "Words number 99." in asked[1]
    assert not any(word in asked[2] for word in ("first words", "Words number"))
    assert new_run().definitions_rev == 0  # one of before there were any: it began with none


async def test_what_can_not_be_read_is_named_and_stops_no_other(
    views: TeamViews, definitions: InMemoryDefinitions, subtests: pytest.Subtests
) -> None:
    cases: dict[str, tuple[DefinitionKind, dict[str, Any], str]] = {
        "newer": (AGENT, {"prompt": "x", "calls": "random"}, "calls: .*'parallel' or 'serial'"),
        "address": (AGENT, {"prompt": "x", "options": {"api_base": "http://x"}}, "options: expected parameters of .*"),
        "keyed": (
            CONNECTOR,
            {**FAST, "options": {"model": "m", "parameters": {"api_key": "x"}}},
            "options.parameters: expected parameters of .*, got api_key",
        ),
    }
    definitions.write(TEAM, writer("I write."), *((kind, name, spec) for name, (kind, spec, _) in cases.items()))
    view = await views.of(TEAM)
    assert view.agents.find("experts.writer") is not None
    for name, (kind, _, reason) in cases.items():
        with subtests.test(name=name):
            assert view.agents.find(name) is view.connectors.find(name) is None
            with pytest.raises(AssertionError) if not reason else pytest.raises(Permanent, match=f"(?s){reason}"):
                raise Permanent(view.missing(name) if kind is AGENT else view.unreadable[f"{kind}/{name}"])
    assert "api_base" not in PARAMETERS


async def test_a_copy_that_is_behind_passes_and_a_set_that_is_gone_does_not(definitions: InMemoryDefinitions) -> None:
    class Behind(InMemoryDefinitions):
        async def one(self, *which: Any) -> Definition | None:
            return None

    behind = Behind()
    behind.write(TEAM, writer("I write."))
    connectors = Connectors("rehearsal", environ={})
    with pytest.raises(Transient, match="can't be read yet"):
        await TeamViews(connectors=connectors, definitions=behind).of(TEAM)
    with pytest.raises(Transient, match="revision 3 can't be read yet"):
        await TeamViews(connectors=connectors, definitions=definitions).of(TEAM, 3)
    definitions.write(TEAM, writer("I write."))
    definitions.write(TEAM, writer("I write well."))
    del definitions._sets[TEAM][1]
    definitions._sets[TEAM].insert(1, None)  # type: ignore[arg-type]  # it was removed
    with pytest.raises(Permanent, match="as of revision 1 aren't kept any more"):
        await TeamViews(connectors=connectors, definitions=definitions).of(TEAM, 1)


async def test_the_team_that_holds_the_most_makes_room(views: TeamViews, definitions: InMemoryDefinitions) -> None:
    """EX-79."""
    narrow = replace(views, limit=BASE * 20)
    definitions.write(OTHER, writer("I write."))
    for number in range(20):
        definitions.write(TEAM, writer(f"I write {number}."))
    await narrow.of(OTHER)
    for rev in range(1, 21):
        await narrow.of(TEAM, rev)
    reads = definitions.reads
    await narrow.of(OTHER)
    await narrow.of(TEAM, 20)
    assert definitions.reads == reads
    await narrow.of(TEAM, 1)
    assert definitions.reads == reads + 2


class Providers:
    """A model whose calls of the connectors in `down` fail, behind the teams' secrets."""

    def __init__(self, views: TeamViews, secrets: dict[tuple[str, str], str]) -> None:
        async def read(team: str, names: Any) -> dict[str, str]:
            return {name: secrets[team, name] for name in names if (team, name) in secrets}

        self.views, self.down = views, set[tuple[str, str]]()
        self.model = ScriptedModel(answer=self._answer)
        keyed = TeamKeys(model=self.model, secrets=CachedSecrets(read))
        self.models = Models(views=views, real=keyed, rehearsal=self.model)

    async def _answer(self, prompt: Prompt) -> str | Exception:
        connector = prompt.connector
        return NoAnswer("away") if (connector.owner, connector.id) in self.down else "Done."

    async def ask(self, team: str, connector: str) -> str:
        """The connector that answers."""

        async def ask(candidate: Candidate) -> str:
            await candidate.model.complete(Prompt([Message(role="user", content="Go.")], candidate.connector, 60, "s"))
            return candidate.connector.id

        payer, view = Payer(team, MEMBER, "writer"), await self.views.of(team)
        return (await self.models.ask(ask, ExecutorMode.STANDARD, connector, payer=payer, view=view))[0]


async def test_a_teams_connector_is_asked_with_its_secret_and_nothing_of_the_environment(
    views: TeamViews, definitions: InMemoryDefinitions
) -> None:
    plain = {**FAST, "options": {"model": "$ENV.FAST", "key": "$ENV.FAST"}}
    definitions.write(TEAM, (CONNECTOR, "fast", FAST), (CONNECTOR, "plain", plain))
    definitions.write(OTHER, (CONNECTOR, "fast", FAST))
    providers = Providers(views, {(TEAM, "FAST"): "sk-team"})
    assert [await providers.ask(TEAM, name) for name in ("fast", "plain", "mine")] == ["fast", "plain", "mine"]
    asked = [(each.connector.key, each.connector.model) for each in providers.model.prompts]
    assert asked == [("sk-team", "small"), ("sk-team", "$ENV.FAST"), ("", "big")]  # $ENV. is another word for $SECRET.
    assert "sk-team" not in repr(providers.model.prompts)
    with pytest.raises(Permanent, match="connector fast can't be used: expected the secret FAST of team globex"):
        await providers.ask(OTHER, "fast")


async def test_a_circuit_breaker_of_a_teams_connector_is_its_own(
    views: TeamViews, definitions: InMemoryDefinitions
) -> None:
    for team in (TEAM, OTHER):
        definitions.write(team, (CONNECTOR, "fast", {**FAST, "options": {"model": "small"}}))
    providers = Providers(views, {})
    providers.down.add((TEAM, "fast"))
    for _ in range(4):
        assert await providers.ask(TEAM, "fast") == "mine"
    asked = [(each.connector.owner, each.connector.id) for each in providers.model.prompts]
    assert asked.count((TEAM, "fast")) == 3  # then its breaker is open
    assert await providers.ask(OTHER, "fast") == "fast"
