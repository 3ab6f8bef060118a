"""The routing of queries: rules of the operator's file, and the calls that they hold for."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
import regex
from services.executor.tests.fixtures import EQUIPPED, a_task, with_tasks
from services.executor.tests.harness import StepHarness

from executor.adapters.in_memory import InMemoryCalls, ScriptedModel
from executor.adapters.in_memory_runs import InMemoryRuns
from executor.agents.connectors import Connectors
from executor.agents.operator_files import ConnectorFileError
from executor.agents.prompt_files import AgentFileError, Agents
from executor.agents.routing import read_routing
from executor.agents.team_view import TeamViews
from executor.call_agents import CallAgents, LeaseSettings
from executor.domain.conversation.chat import ModelReply
from executor.domain.query_class import SEARCHED, QueryRule, first_met
from executor.domain.run import Run
from executor.steps.models import Models
from rota_common.errors import Permanent
from rota_common.testing.samples import MEMBER, TEAM, SetClock
from rota_contracts.messages.agent import CallAgent
from rota_contracts.messages.trigger import ExecutorMode, Message, TriggerType
from rota_contracts.messages.usage import ModelCall

RULES = """
rules:
  - {hint: fast, max_length: 20, keywords: [hello, Grüße]}
  - {hint: code, priority: 10, patterns: ['\\bSELECT\\b', 'fn \\w+\\(']}
  - {hint: long, priority: 5, min_length: 100}
  - {hint: nowhere, priority: 1, keywords: [nothing]}
  - {hint: theirs, keywords: [globex]}
  - {hint: keyless, keywords: [keyless]}
hints: {fast: small, code: coder, long: large, theirs: theirs, keyless: keyless}
"""
TEAMS = {"theirs": "globex"}
KEYS = {"keyless": ", key: $ENV.NOT_SET"}
NOTE = "sent to connector small: rule 1 of routing.yml gives the hint fast"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("usual", "small", "coder", "large", "theirs", "keyless"):
        (tmp_path / f"{name}.yaml").write_text(
            f"label: {name}\ntype: openai\nteams: '{TEAMS.get(name, '*')}'\noptions: {{model: m{KEYS.get(name, '')}}}\n"
        )
    (tmp_path / "routing.yml").write_text(RULES)
    return tmp_path


def models(folder: Path, model: ScriptedModel) -> Models:
    views = TeamViews(connectors=Connectors("usual", environ={}, folder=folder))
    return Models(views=views, real=model, rehearsal=model)


async def test_the_first_rule_by_priority_that_a_query_meets_says_its_connector(
    folder: Path, subtests: pytest.Subtests
) -> None:  # EX-40
    made = models(folder, ScriptedModel())
    view = await made.views.of(TEAM)
    cases = {
        "Hello!": "small",  # keywords in any case
        "GRÜSSE aus Bonn": "small",
        "hello, how long is this message?": None,  # longer than 20
        "SELECT hello": "coder",  # the higher priority
        "select hello": "small",  # patterns in their own case
        "fn main() {}": "coder",
        "SELECT it " + "x" * 100: "coder",
        "x" * 100: "large",
        "x" * 99: None,
        "nothing, hello": None,  # its hint has no connector: the default, not the next rule
        "globex": None,  # not this team's
        "keyless": None,
        "": None,
    }
    for query, expected in cases.items():
        with subtests.test(query=query[:30]):
            route = made.route(ExecutorMode.STANDARD, query, view=view)
            assert (route and route.connector) == expected
    assert made.route(ExecutorMode.DRYRUN, "Hello!", view=view) is None


def test_rules_of_one_priority_are_tried_in_the_order_of_the_file(folder: Path) -> None:
    rules = [f"{{hint: {hint}, keywords: [hello]}}" for hint in ("fast", "long")]
    (folder / "routing.yml").write_text(f"rules: [{', '.join(rules)}]\nhints: {{fast: small, long: large}}\n")
    route = read_routing(folder).route("hello")
    assert route is not None
    assert route.connector == "small"


def test_a_pattern_without_an_end_is_not_found_and_holds_nothing_up() -> None:
    endless, met = QueryRule(hint="a", patterns=[regex.compile(r"(?:a|aa|a.)+$")]), QueryRule(hint="b", min_length=1)
    began = monotonic()
    found = first_met("a" * (SEARCHED - 2) + "\n\n", [endless] * 100 + [met], seconds=0.05)
    assert (found, monotonic() - began < 5) == (met, True)


def test_mistakes_in_the_file_are_refused_with_their_field(folder: Path, subtests: pytest.Subtests) -> None:
    cases = {
        "rules: [{keywords: [a]}]": r"rules\.0\.hint: Field required",
        "rules: [{hint: fast}]": r"rules\.0: .*expected a condition",
        "rules: [{hint: fast, min_length: 5, max_length: 3}]": r"rules\.0: .*max_length to be at least min_length, 5",
        "rules: [{hint: fast, min_length: -1}]": r"rules\.0\.min_length: .* got -1",
        "rules: [{hint: fast, keywords: ['']}]": r"rules\.0\.keywords\.0: ",
        "rules: [{hint: fast, keywords: a}]": r"rules\.0\.keywords: .* got 'a'",
        "rules: [{hint: fast, patterns: ['(']}]": r"rules\.0\.patterns\.0: .*expected a regular expression, got '\('",
        "rules: [{hint: fast, words: [a]}]": r"rules\.0\.words: ",
        "hints: {fast: tiny}": r"hints in routing\.yml name tiny: expected connectors",
        "rules: {": r"routing\.yml can't be read",
        "[]": r"routing\.yml can't be read: the file: ",
    }
    for text, problem in cases.items():
        with subtests.test(text):
            (folder / "routing.yml").write_text(text)
            with pytest.raises(ConnectorFileError, match=problem):
                Connectors("usual", environ={}, folder=folder)
    (folder / "routing.yml").write_text("")
    assert Connectors("usual", environ={}, folder=folder).routing.route("hello") is None


def answering() -> ScriptedModel:
    async def answer(prompt: Any) -> ModelReply:
        return ModelReply(text="Done.", call=ModelCall(model="m"))

    return ScriptedModel(answer=answer)


def asked_by(run: Run, type_: TriggerType, words: str) -> Run:
    trigger = run.execution.trigger
    said = trigger.input.model_copy(update={"messages": [Message(content=words)]})
    return run.with_execution(trigger=trigger.model_copy(update={"type": type_, "input": said}))


async def test_turns_for_a_person_are_routed_and_noted_once_and_others_are_not(
    folder: Path, tmp_path: Path
) -> None:  # EX-40
    async def asked(type_: TriggerType, own: str = "") -> tuple[Sequence[str], Sequence[str]]:
        shop = StepHarness(model := answering())
        writer = shop.agents.of(TEAM).assistant("experts.writer")
        shop.agents._built_in["experts.writer"] = replace(writer, id="experts.writer", connector=own)
        shop.use(Connectors("usual", environ={}, folder=folder))
        run = await shop.task_done(asked_by(with_tasks(a_task(1), robot=EQUIPPED), type_, "Hello!"))
        return [prompt.connector.id for prompt in model.prompts], [
            note for note in run.execution.notes if note.startswith("sent to")
        ]

    assert await asked(TriggerType.HUMAN) == (["small"], [NOTE])
    assert await asked(TriggerType.EVENT) == (["usual"], [])
    assert await asked(TriggerType.HUMAN, "large") == (["large"], [])


async def test_plain_calls_are_routed_by_their_last_message_unless_a_connector_is_named(folder: Path) -> None:  # EX-40
    calls = CallAgents(
        calls=InMemoryCalls(),
        runs=InMemoryRuns(),
        models=models(folder, model := answering()),
        clock=SetClock(),
        lease=LeaseSettings("first", 10),
    )
    said = [Message(role="user", content="SELECT"), Message(role="assistant", content="?"), Message(content="Hello!")]

    async def asked(**fields: Any) -> str:
        given = {"team_id": TEAM, "member_id": MEMBER, "assistant_id": "rota.learning", "messages": said}
        await calls(CallAgent.model_validate(given | fields))
        return model.prompts[-1].connector.id

    assert await asked(call_id="c1") == "small"
    assert await asked(call_id="c2", model="large") == "large"
    assert await asked(call_id="c3", execution_id="e1") == "usual"  # a judge's or a learner's, in the course of a run


def test_names_of_connectors_that_are_not_there_are_refused_at_the_start(folder: Path, tmp_path: Path) -> None:  # EX-81
    with pytest.raises(ConnectorFileError, match="ROTA_CONNECTOR is 'usal': expected one of anthropic, coder"):
        Connectors("usal", environ={}, folder=folder)
    known = Connectors("usual", environ={}, folder=folder).ids
    for number, front in enumerate(("connector: usal", "connector_options: {connectors: [usal]}")):
        agents = tmp_path / str(number)
        agents.mkdir()
        (agents / "clerk.md").write_text(f"---\nteams: '*'\n{front}\n---\nYou help.")
        with pytest.raises(AgentFileError, match=r"expected agent clerk to name connectors, of .*, got usal"):
            Agents(agents).check_means(known, None)


def test_a_team_that_may_not_use_the_default_gets_the_first_that_it_may_use(folder: Path) -> None:  # EX-81
    connectors = Connectors("theirs", environ={}, folder=folder)
    mine = connectors.of(TEAM)
    assert (connectors.of("globex").choose().id, mine.choose().id) == ("theirs", "coder")
    with pytest.raises(Permanent, match="connector theirs isn't for team"):
        mine.choose("theirs")
