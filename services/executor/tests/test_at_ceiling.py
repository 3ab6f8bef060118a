"""Runs that reach a ceiling: they wait, ask, and go on when there is room."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from services.executor.tests.test_service import GOOD, OWNER, deliver, execution

from executor.adapters.in_memory import InMemoryRobots, ScriptedModel, in_memory
from executor.app import build
from executor.domain.conversation.chat import ModelReply
from executor.settings import Settings
from rota_common.errors import Transient
from rota_common.runtime.service import Runtime
from rota_common.testing.in_memory_bus import InMemoryBus
from rota_common.testing.patience import PATIENCE_S
from rota_common.testing.samples import MEMBER, NOON, TEAM, a_robot, a_trigger
from rota_contracts import catalog
from rota_contracts.messages.agent import AgentReply, CallAgent
from rota_contracts.messages.control import Intervene
from rota_contracts.messages.execution import ExecStatus, Execution, ExecutionRequestedV1
from rota_contracts.messages.learning import LearningCompletedV1
from rota_contracts.messages.memory import Recall, RecallReply
from rota_contracts.messages.replay import ReplayExecution
from rota_contracts.messages.spend import ModelCalledV1, ReadSpend, SpendBy
from rota_contracts.messages.trigger import InterventionAction, Message
from rota_contracts.messages.usage import ModelCall, Usage
from rota_contracts.messages.validation import CheckRules, RulesReply
from rota_contracts.robots.robot import Robot

FILE = """label: Small
teams: ["*"]
type: openai
options: {model: small-1, price: {input_per_million: 1, output_per_million: 1}, max_output: 1000}
"""
CALL = ModelCall(model="small-1", usage=Usage(tokens_in=90_000, tokens_out=1_000))
PLAN = '{"tasks": [{"id": "a", "description": "Look", "executor_id": "writer"}]}'
ANSWERS = ["## Goals\n1. Look", PLAN, "It is fine.", '{"summary": "Done.", "body": "# Done"}']


def robot(tokens: int) -> Robot:
    return a_robot(config={"resources": {"agents": ["writer"]}, "ceilings": {"run": {"tokens": tokens}}})


class World:
    def __init__(self, folder: Path) -> None:
        (folder / "small.yaml").write_text(FILE)
        self.bus, self.robots = InMemoryBus(), InMemoryRobots(robot(92_500))
        self.model = ScriptedModel(*(ModelReply(text=text, call=CALL) for text in ANSWERS))
        adapters = in_memory(robots=self.robots, model=self.model)
        settings = Settings(connector="small", connectors_dir=folder)
        self.called: list[ModelCalledV1] = []
        self.bus.serve(catalog.MODEL_CALLED.subject(TEAM, MEMBER), self._called)
        self.app = build(settings, runtime=Runtime(bus=self.bus), adapters=adapters)

    async def request(self, grant: int = 0) -> None:
        fact = ExecutionRequestedV1(execution_id="e1", trigger=a_trigger(), requested_at=NOON, grant=grant, **OWNER)
        await self.bus.publish(catalog.EXECUTION_REQUESTED, fact, caused_by=f"t{grant}")
        await self.bus.settled()

    async def _called(self, message: Any) -> None:
        self.called.append(ModelCalledV1.model_validate_json(message.data))

    async def resumable(self, count: int) -> None:
        """Wait until so many slots were asked for."""
        async with asyncio.timeout(PATIENCE_S):
            while len(self.bus.facts(catalog.EXECUTION_RESUMABLE)) < count:
                await asyncio.sleep(0)

    async def execution(self) -> Execution:
        found = await execution(self.bus)
        assert found is not None
        return found


@pytest.fixture
async def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    monkeypatch.setattr("executor.app.CEILINGS_S", 0)

    async def recall(request: Recall) -> RecallReply:
        return RecallReply()

    async def check(request: CheckRules) -> RulesReply:
        return RulesReply(verdict=GOOD)

    made = World(tmp_path)
    made.bus.answer(catalog.RECALL, recall)
    made.bus.answer(catalog.CHECK_RULES, check)
    await made.app.service.start()
    await made.app.service.started.wait()
    yield made
    await made.app.service.stop(1)


async def test_at_a_ceiling_a_run_waits_and_asks_and_goes_on_once_it_is_raised(world: World) -> None:  # F12 EX-63
    await world.request()
    waiting = await world.execution()
    assert (waiting.status, waiting.usage.costs, waiting.error) == (ExecStatus.WAITING, {"USD": 0.091}, None)
    assert waiting.question is not None
    assert "of this run (92500 tokens)" in waiting.question.question
    assert len(world.bus.facts(catalog.EXECUTION_PARKED)) == 1
    said = Intervene(
        intervention_id="i1", action=InterventionAction.INSTRUCT, messages=[Message(content="Try again.")], **OWNER
    )
    await world.bus.ask(catalog.INTERVENE, said)
    await world.resumable(1)
    await world.request(grant=1)  # an answer alone makes no room
    assert ((await world.execution()).status, len(world.model.prompts)) == (ExecStatus.WAITING, 1)
    world.robots.put(robot(1_000_000))
    await world.resumable(2)
    await world.request(grant=2)
    await deliver(world.bus)
    learnt = LearningCompletedV1(execution_id="e1", skipped="nothing new", calls=[CALL], **OWNER)
    await world.bus.publish(catalog.LEARNING_COMPLETED, learnt, caused_by="e1")
    await world.bus.settled()
    done = await world.execution()
    assert (done.status, done.error, done.usage.calls, done.usage.unpriced) == (ExecStatus.COMPLETED, None, 5, 1)
    assert (await world.bus.ask(catalog.REPLAY, ReplayExecution(team_id=TEAM, execution_id="e1"))).same
    assert [(each.model, each.cost, each.outcome) for each in world.called] == [("small-1", 0.091, "answered")] * 4
    asked = ReadSpend(team_id=TEAM, since=NOON, by=[SpendBy.ROBOT, SpendBy.MODEL])
    spent = await world.bus.ask(catalog.READ_SPEND, asked.model_copy(update={"since": done.created_at}))
    assert [(row.robot, row.model, row.calls, row.cost) for row in spent.rows if row.currency] == [
        (MEMBER, "small-1", 4, 0.364)
    ]


async def test_a_judge_without_room_makes_its_run_ask(world: World) -> None:  # F12
    world.robots.put(robot(400_000))
    await world.request()
    assert (await world.execution()).question is None  # it waits for its delivery
    given: dict[str, Any] = OWNER | {"call_id": "c1", "assistant_id": "rota.validation", "execution_id": "e1"}
    judge = CallAgent.model_validate(given | {"messages": [Message(content="Judge it." * 50_000)]})
    with pytest.raises(Transient, match="no room below the ceiling of this run"):
        await world.bus.ask(catalog.CALL_AGENT, judge)
    async with asyncio.timeout(PATIENCE_S):
        while (await world.execution()).question is None:
            await asyncio.sleep(0.01)
    world.robots.put(robot(10_000_000))
    answer: AgentReply = await world.bus.ask(catalog.CALL_AGENT, judge)
    assert (answer.error, answer.call and answer.call.cost) == ("", None)
