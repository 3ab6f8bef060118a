"""The test of a connector: what of it works, and what that took."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from executor.adapters.in_memory import ScriptedModel, in_memory
from executor.adapters.in_memory_budget import ConnectorPrices, InMemoryBudget
from executor.adapters.rehearsal_model import RehearsalModel
from executor.agents.connectors import Connectors
from executor.agents.team_ceilings import TeamCeilings
from executor.agents.team_view import TeamViews
from executor.app import build
from executor.call_agents import no_robot
from executor.check_connector import CheckConnector
from executor.domain.connector_checks import RED_SQUARE
from executor.domain.conversation.chat import ModelReply, ToolCall
from executor.domain.spending import Payer
from executor.model_port import Prompt
from executor.settings import Settings
from executor.spending.metered_model import Meter
from executor.steps.models import Models
from rota_common.errors import Permanent, Transient
from rota_common.runtime.service import Runtime
from rota_common.testing.in_memory_bus import InMemoryBus
from rota_common.testing.samples import TEAM
from rota_contracts import catalog
from rota_contracts.messages.provider import CheckOutcome, TryConnector, TryConnectorReply
from rota_contracts.messages.spend import CallOutcome, ModelCalledV1
from rota_contracts.messages.usage import ModelCall, Usage
from rota_contracts.model import ALL

KEY = "sk-very-secret-1"
FILE = """
label: Mine
teams: [acme]
type: openai
options:
  model: small
  key: $ENV.MY_KEY
  host: http://models.internal:8000/v1
  price: {input_per_million: 1, output_per_million: 10}
"""
CAN = "json: true, inline_thinking: false"
USED = ModelCall(model="small", usage=Usage(tokens_in=100, tokens_out=10))


def kind(prompt: Prompt) -> str:
    picture = "picture" if RED_SQUARE in str(prompt.messages[0].content) else "call"
    return "streaming" if prompt.on_text else "tools" if prompt.tools else "json" if prompt.schema else picture


class World:
    """A connector whose model gives each check the answer of its kind; an exception is raised."""

    def __init__(self, folder: Path, *, can: str = CAN, ceilings: str = "{}", pieces: int = 2) -> None:
        (folder / "mine.yaml").write_text(f"{FILE}  capabilities: {{{can}}}\n")
        (folder / "ceilings").write_text(ceilings)
        call = ToolCall(id="1", name="weather", arguments={"city": "Paris"})
        self.answers: dict[str, Any] = {
            "call": ModelReply(text="ready", call=USED),
            "streaming": ModelReply(text="one two", call=USED),
            "tools": ModelReply(calls=[call], call=USED),
            "json": ModelReply(text='{"city": "Paris"}', call=USED),
            "picture": ModelReply(text="It is Red.", call=USED),
        }
        self.pieces = pieces
        self.model = ScriptedModel(answer=self._answer)
        self.observed: list[tuple[Payer, CallOutcome]] = []
        meter = Meter(
            budget=InMemoryBudget(),
            prices=ConnectorPrices(),
            ceilings=TeamCeilings(folder / "ceilings"),
            find_robot=no_robot,
            observe=self._observe,
        )
        connectors = Connectors("rehearsal", environ={"MY_KEY": KEY}, folder=folder)
        models = Models(
            views=TeamViews(connectors=connectors), real=self.model, rehearsal=RehearsalModel(), meter=meter
        )
        self.check = CheckConnector(models=models, timeout=0.2)

    async def _answer(self, prompt: Prompt) -> Any:
        if prompt.on_text:
            for piece in ["one", "two"][: self.pieces]:
                await prompt.on_text(piece)
        if (answer := self.answers[kind(prompt)]) is None:
            await asyncio.Event().wait()
        return answer

    async def _observe(self, payer: Payer, prompt: Prompt, outcome: CallOutcome, call: ModelCall) -> None:
        self.observed.append((payer, outcome))

    async def tested(self, connector: str = "mine", team: str = TEAM) -> TryConnectorReply:
        return await self.check(TryConnector(team_id=team, connector=connector))


def outcomes(reply: TryConnectorReply) -> dict[str, str]:
    return {check.name: check.outcome for check in reply.checks}


async def test_a_connector_that_works_is_called_once_for_each_check_and_the_team_pays(tmp_path: Path) -> None:
    world = World(tmp_path)
    reply = await world.tested()
    assert outcomes(reply) == dict.fromkeys(["call", "streaming", "tools", "json", "vision"], CheckOutcome.WORKS)
    assert (reply.calls, reply.unmeasured, reply.usage) == (5, 0, Usage(tokens_in=500, tokens_out=50))
    assert (reply.cost, reply.currency, reply.problem) == (0.001, "USD", "")
    assert world.observed == [(Payer(TEAM, ALL, ""), CallOutcome.ANSWERED)] * 5
    assert {tuple(prompt.options.items()) for prompt in world.model.prompts} == {(("max_tokens", 256),)}
    assert len({prompt.step_id for prompt in world.model.prompts}) == 5


async def test_a_test_by_message_publishes_its_calls_as_the_teams(tmp_path: Path) -> None:
    world, bus, called = World(tmp_path), InMemoryBus(), list[ModelCalledV1]()

    async def take(message: Any) -> None:
        called.append(ModelCalledV1.model_validate_json(message.data))

    bus.serve(catalog.MODEL_CALLED.subject(TEAM, ALL), take)
    settings = Settings(connector="rehearsal", connectors_dir=tmp_path)
    adapters = in_memory(model=world.model)
    app = build(settings, runtime=Runtime(bus=bus), adapters=adapters, environ={"MY_KEY": KEY})
    await app.service.start()
    await app.service.started.wait()
    reply = await bus.ask(catalog.TEST_CONNECTOR, TryConnector(team_id=TEAM, connector="mine"))
    await app.service.stop(1)
    assert (outcomes(reply)["vision"], reply.cost) == (CheckOutcome.WORKS, 0.001)
    assert [(each.connector, each.cost, each.execution_id) for each in called] == [("mine", 0.0002, None)] * 5


async def test_each_answer_that_shows_nothing_fails_its_check_alone_and_the_problem_says_why(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    wrong_call = ToolCall(id="1", name="weather", arguments={"_unreadable": "Par"})
    cases: list[tuple[str, Any, str]] = [
        ("streaming", ModelReply(stopped="length"), "expected a text, got none before the limit of its tokens"),
        (
            "streaming",
            Transient("model small at models.internal:8000 broke off"),
            "model small at [REDACTED] broke off",
        ),
        ("tools", ModelReply(text="It is sunny."), 'a call of the tool weather with a city, got "It is sunny."'),
        ("tools", ModelReply(calls=[wrong_call]), "got \"the call weather {'_unreadable': 'Par'}\""),
        ("json", ModelReply(text="Paris"), 'expected JSON alone, got "Paris"'),
        ("json", ModelReply(text='{"town": "Paris"}'), "expected an object with the text `city` alone"),
        ("json", Permanent(f"http://models.internal:8000/v1 refuses {KEY}"), "[REDACTED] refuses [REDACTED]"),
        ("picture", ModelReply(text="It is blurred."), "expected the picture's colour, red, got"),
        ("picture", None, "no answer within 0.2 s"),
    ]
    for name, answer, problem in cases:
        with subtests.test(name=name, problem=problem):
            world = World(tmp_path)
            world.answers[name] = answer
            reply = await world.tested()
            failed = [check for check in reply.checks if check.outcome is not CheckOutcome.WORKS]
            assert [(check.name, check.outcome) for check in failed] == [
                (name.replace("picture", "vision"), CheckOutcome.FAILS)
            ]
            assert problem in failed[0].problem
    whole = await World(tmp_path, pieces=0).tested()
    assert [check.problem for check in whole.checks if check.problem] == ["expected the text bit by bit, got it whole"]


async def test_what_is_not_stated_or_comes_after_a_failed_call_is_not_tried(tmp_path: Path) -> None:
    less = World(tmp_path, can=f"{CAN}, vision: false, tool_calls: false")
    reply = await less.tested()
    assert [check.problem for check in reply.checks if check.outcome is CheckOutcome.NOT_STATED] == [
        "its capabilities say tool_calls: false",
        "its capabilities say vision: false",
    ]
    less.answers["call"] = Permanent("model small refuses the request (401, the key is refused)")
    reply = await less.tested()
    assert outcomes(reply) == {
        "call": CheckOutcome.FAILS,
        "streaming": CheckOutcome.NOT_TRIED,
        "tools": CheckOutcome.NOT_STATED,
        "json": CheckOutcome.NOT_TRIED,
        "vision": CheckOutcome.NOT_STATED,
    }
    assert (reply.checks[1].problem, reply.calls) == ("not tried, because a plain call fails", 0)
    thinking = outcomes(await World(tmp_path, can="streaming: true").tested())  # its texts may hold thoughts
    assert (thinking["streaming"], thinking["tools"]) == (CheckOutcome.NOT_STATED, CheckOutcome.WORKS)


async def test_at_a_ceiling_nothing_more_is_tried(tmp_path: Path) -> None:
    world = World(tmp_path, ceilings="acme: {day: {tokens: 1000}}")
    reply = await world.tested()
    assert outcomes(reply) == {
        "call": CheckOutcome.WORKS,
        "streaming": CheckOutcome.WORKS,
        "tools": CheckOutcome.NOT_TRIED,
        "json": CheckOutcome.NOT_TRIED,
        "vision": CheckOutcome.NOT_TRIED,
    }
    assert reply.checks[-1].problem.startswith("There is no room below the ceiling of team acme (1000 tokens a day)")
    assert "run" not in reply.checks[-1].problem


async def test_a_rehearsal_answers_without_a_model_and_other_teams_connectors_are_a_problem(tmp_path: Path) -> None:
    world = World(tmp_path)
    (check,) = (await world.tested("rehearsal")).checks
    assert (check.outcome, check.problem) == (
        CheckOutcome.NO_MODEL,
        "connector rehearsal answers without a model: there is nothing to test",
    )
    keyless = await world.tested("openai")
    assert outcomes(keyless)["call"] == CheckOutcome.FAILS
    assert "OPENAI_API_KEY" in keyless.checks[0].problem
    unknown, others = await world.tested("gpt"), await world.tested(team="globex")
    assert unknown.problem.endswith("not 'gpt'")
    assert others.problem.startswith("connector mine isn't for team globex")
    assert (unknown.checks, others.checks, world.model.prompts) == ([], [], [])
