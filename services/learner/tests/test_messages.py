"""The learner's messages, on a bus in memory."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from services.learner.tests.harness import NOON, WELL

from learner.adapters.in_memory import InMemoryLessons, ScriptedAgents, in_memory
from learner.app import build
from learner.settings import Settings
from rota_common.errors import Permanent
from rota_common.runtime.service import Runtime
from rota_common.testing.chaos import twice
from rota_common.testing.in_memory_bus import InMemoryBus
from rota_contracts.catalog import CHECK_GOALS, LEARNING_COMPLETED, LEARNING_REQUESTED, ROBOT_DELETED
from rota_contracts.messages.agent import AgentReply, CallAgent
from rota_contracts.messages.learning import CheckGoals, LearningCompletedV1, LearningRequestedV1
from rota_contracts.messages.robot_facts import RobotDeletedV1

ANSWER = '{"lessons": [{"type": "insight", "content": "Acme buys in March"}]}'


@asynccontextmanager
async def learner(**adapters: Any) -> AsyncIterator[InMemoryBus]:
    """The bus of a running learner that handles every message twice."""
    bus = InMemoryBus()
    runtime = Runtime(bus=bus, middlewares=[twice])
    given = in_memory(**({"agents": ScriptedAgents(ANSWER)} | adapters))
    service = build(Settings(), runtime=runtime, adapters=given).service
    await service.start()
    await service.started.wait()
    yield bus
    await service.stop(1)


async def learn(bus: InMemoryBus, **fields: Any) -> LearningCompletedV1:
    given = {"team_id": "acme", "member_id": "leads", "execution_id": "e1", "summary": WELL} | fields
    await bus.publish(LEARNING_REQUESTED, LearningRequestedV1.model_validate(given), caused_by="e1")
    await bus.settled()
    (event,) = bus.facts(LEARNING_COMPLETED)
    return event.data


async def test_a_run_is_learnt_from_once_however_often_it_is_delivered() -> None:  # LE-01
    agents = ScriptedAgents(ANSWER)
    async with learner(agents=agents) as bus:
        fact = await learn(bus)
    assert [lesson.content for lesson in fact.lessons] == ["Acme buys in March"]
    assert [call.call_id for call in agents.calls] == ["learn:e1"]


async def test_the_result_continues_the_trace_and_names_its_cause() -> None:
    async with learner() as bus:
        assert (await learn(bus, types=[])).skipped == "no type of lesson is wanted"
        (asked,), (answered,) = bus.facts(LEARNING_REQUESTED), bus.facts(LEARNING_COMPLETED)
    assert answered.cause == "e1"
    assert answered.traceparent.split("-")[1] == asked.traceparent.split("-")[1]


async def test_a_refused_call_still_ends_in_a_result() -> None:
    class Refusing:
        async def answer(self, call: CallAgent) -> AgentReply:
            raise Permanent(f"there is no agent {call.assistant_id}")

    async with learner(agents=Refusing()) as bus:
        fact = await learn(bus, agent="experts.unknown")
    assert (fact.error, fact.lessons) == ("there is no agent experts.unknown", [])
    assert len(bus.dead) == 1


async def test_new_goals_are_compared_with_the_runs_that_ended() -> None:  # SC-13
    check = CheckGoals(
        team_id="acme", member_id="leads", execution_id="e2", goals="Score the lead", window_s=3600, asked_at=NOON
    )
    async with learner(agents=ScriptedAgents("no decision")) as bus:
        before = await bus.ask(CHECK_GOALS, check.model_copy(update={"execution_id": "e0"}))
        await learn(bus)
        (asked,) = bus.facts(LEARNING_REQUESTED)
        found = await bus.ask(CHECK_GOALS, check.model_copy(update={"asked_at": asked.time}))
    assert (before.decision, found.decision, found.execution_id) == ("proceed", "skip", "e1")


async def test_a_robots_deletion_removes_its_lessons() -> None:  # LE-07
    lessons = InMemoryLessons()
    async with learner(lessons=lessons) as bus:
        await learn(bus)
        assert await lessons.find("e1") is not None
        fact = RobotDeletedV1(team_id="acme", member_id="leads", rev=1)
        await bus.publish(ROBOT_DELETED, fact, caused_by="robot 1")
        await bus.settled()
    assert await lessons.find("e1") is None
