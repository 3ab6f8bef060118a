"""The learner with its own adapters: nats-server, mongod, the bucket of robots, and the memory service.

Its messages are tested on a bus in memory in services/learner/tests/test_messages.py.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import nats
import pytest

from learner.app import build
from learner.settings import Settings
from memory import app as memory_app
from memory import settings as memory_settings
from memory.adapters.in_memory import in_memory
from rota_common.bus.robots import robot_key
from rota_common.bus.router import Router
from rota_common.clock import now
from rota_common.errors import Permanent
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.runtime.service import Runtime, Service
from rota_common.stores.mongo import Mongo
from rota_common.testing.bus import Listener, stored
from rota_common.testing.chaos import twice
from rota_common.testing.crash import crash
from rota_contracts.catalog import (
    CALL_AGENT,
    CHECK_GOALS,
    LEARNING_COMPLETED,
    LEARNING_REQUESTED,
    RECALL,
    ROBOT_DELETED,
)
from rota_contracts.messages.agent import AgentReply, CallAgent
from rota_contracts.messages.learning import CheckGoals, GoalsReply, LearningCompletedV1, LearningRequestedV1
from rota_contracts.messages.memory import Recall
from rota_contracts.messages.robot_facts import RobotDeletedV1
from rota_contracts.robots.robot import Robot
from rota_contracts.streams import ROBOTS_BUCKET

ANSWER = (
    '{"lessons": [{"type": "insight", "content": "Acme buys in March"}, {"type": "feedback", "content": "Be brief"}]}'
)
DONE = '{"decision": "merge", "reason": "half is done", "execution_id": "e1", "goals": "the other half"}'


class Others:
    """The services around the learner: the executor with its agents, and the gateway."""

    def __init__(self, url: str, team: str) -> None:
        self._url, self.team = url, team
        self.calls: list[CallAgent] = []
        self.refusal, self.dedup = "", DONE
        self.hold: asyncio.Event | None = None
        self.executor, self.gateway = Service("executor", url), Service("trigger-gateway", url)
        router = Router()
        router.answer(CALL_AGENT, self._answer)
        self.executor.include(router)

    async def _answer(self, call: CallAgent) -> AgentReply:
        self.calls.append(call)
        if self.hold is not None:
            await self.hold.wait()
        if self.refusal:
            raise Permanent(self.refusal)
        return AgentReply(
            agent_id=call.assistant_id, content=self.dedup if call.call_id.startswith("dedup:") else ANSWER
        )

    async def request(self, execution_id: str, **fields: Any) -> None:
        summary = {"role": "seller", "trigger": "event lead.created", "status": "completed", "goals": "Sell"}
        given = {"team_id": self.team, "member_id": "leads", "execution_id": execution_id, "summary": summary}
        fact = LearningRequestedV1.model_validate(given | fields)
        await self.executor.publish(LEARNING_REQUESTED, fact, caused_by=f"{self.team} {execution_id}")

    async def check(self, execution_id: str, *under_way: str, goals: str = "Sell more") -> GoalsReply:
        others = [{"execution_id": run, "status": "running", "goals": "Sell"} for run in under_way]
        names = {"team_id": self.team, "member_id": "leads"}
        given = {**names, "execution_id": execution_id, "goals": goals, "window_s": 3600, "asked_at": now()}
        return await self.executor.ask(CHECK_GOALS, CheckGoals.model_validate(given | {"under_way": others}))

    async def robot(self, rev: int, *, deleted: bool = False, keep: int = 0) -> None:
        """Save a robot as the gateway does."""
        names = {"team_id": self.team, "member_id": "leads", "rev": rev}
        config = {"identity": {"role": "seller"}, "learn": {"keep": keep}}
        robot = Robot.model_validate({**names, "deleted": deleted, "robot_config": config})
        bucket = await self.gateway.bus.jetstream.key_value(ROBOTS_BUCKET)
        await bucket.put(robot_key(self.team, "leads"), robot.model_dump_json().encode())
        if deleted:
            await self.gateway.publish(
                ROBOT_DELETED, RobotDeletedV1.model_validate(names), caused_by=f"robot {self.team} {rev}"
            )

    async def completed(self, count: int = 1) -> list[LearningCompletedV1]:
        """The results, once there are `count`."""
        listener = await Listener.to(self._url, LEARNING_COMPLETED.subject(self.team, "leads"))
        have = len(await self._results())
        if have < count:
            await listener.received(count - have)
        await listener.close()
        return await self._results()

    async def _results(self) -> list[LearningCompletedV1]:
        events = await stored(self._url, LEARNING_COMPLETED)
        return [event.data for event in events if event.data.team_id == self.team]

    async def recalled(self) -> list[str]:
        found = await self.executor.ask(RECALL, Recall(team_id=self.team, member_id="leads", query="Acme"))
        return sorted(one.entry.content for one in found.entries)


@asynccontextmanager
async def running(*services: Service, hand_back: bool = False) -> AsyncIterator[None]:
    """Ends in a crash; with `hand_back` in a stop that gives messages in hand to the next replica at once."""
    for service in services:
        await service.start()
    for service in services:
        await service.started.wait()
    try:
        yield
    finally:
        for service in services:
            await (service.stop(0.1) if hand_back else crash(service))


@pytest.fixture
async def others(shared_nats: EmbeddedServer, request: pytest.FixtureRequest) -> AsyncIterator[Others]:
    made = Others(shared_nats.url, request.node.name.replace("_", "-"))
    async with running(made.executor, made.gateway):
        yield made
    await forget(shared_nats.url, LEARNING_REQUESTED.stream or "", LEARNING_REQUESTED.subject(made.team, "leads"))


async def forget(url: str, stream: str, subject: str) -> None:
    """What a crash has left would come to the learner of the next test, whose executions have the same ids."""
    client = await nats.connect(url)
    await client.jetstream().purge_stream(stream, subject=subject)
    await client.close()


@pytest.fixture
def servers(shared_nats: EmbeddedServer, mongo_url: str, mongo_prefix: str) -> dict[str, Any]:
    return {"nats_url": shared_nats.url, "mongo_url": mongo_url, "mongo_prefix": mongo_prefix}


@pytest.fixture
async def saved(mongo_url: str, mongo_prefix: str) -> AsyncIterator[Any]:
    """The learner's collection of lessons."""
    mongo = Mongo(mongo_url, f"{mongo_prefix}_learner")
    yield mongo.database["lessons"]
    await mongo.close()


def learner(servers: dict[str, Any], **runtime: Any) -> Service:
    return build(Settings(**servers), runtime=Runtime(**runtime)).service


def memory(servers: dict[str, Any]) -> Service:
    runtime = Runtime(middlewares=[twice])
    return memory_app.build(memory_settings.Settings(**servers), runtime=runtime, adapters=in_memory()).service


async def test_a_run_is_learnt_from_once_however_often_it_is_delivered(
    servers: dict[str, Any], others: Others, saved: Any
) -> None:  # LE-01, LE-05, LE-08
    await others.robot(1)
    async with running(learner(servers, middlewares=[twice]), memory(servers)):
        await others.request("e1")
        (fact,) = await others.completed()
        assert [lesson.content for lesson in fact.lessons] == ["Acme buys in March", "Be brief"]
        assert await others.recalled() == ["Acme buys in March", "Be brief"]
    assert [document["_id"] async for document in saved.find()] == ["e1"]
    assert [call.call_id for call in others.calls] == ["learn:e1"]


async def test_the_next_learner_publishes_the_result_of_a_crashed_one(
    servers: dict[str, Any], others: Others, saved: Any
) -> None:
    # No memory yet: the lessons are saved, and the result isn't published.
    async with running(learner(servers), hand_back=True):
        await others.request("e1")
        while not await saved.count_documents({}):
            await asyncio.sleep(0)
    async with running(learner(servers), memory(servers)):
        (fact,) = await others.completed()
        assert await others.recalled() == sorted(lesson.content for lesson in fact.lessons)
    assert len(others.calls) == 1


async def test_lessons_are_removed_with_their_robot(
    servers: dict[str, Any], others: Others, saved: Any
) -> None:  # LE-07
    await others.robot(1)
    async with running(learner(servers, middlewares=[twice]), memory(servers)):
        await others.request("e1")
        await others.completed()
        await others.robot(2, deleted=True)
        while await saved.count_documents({}) or await others.recalled():
            await asyncio.sleep(0)
        await others.request("e2")
        assert (await others.completed(2))[1].skipped == "the robot was deleted"


async def test_a_robot_deleted_during_learning_leaves_no_lessons(
    servers: dict[str, Any], others: Others, saved: Any
) -> None:  # LE-07
    await others.robot(1)
    others.hold = asyncio.Event()
    async with running(learner(servers), memory(servers)):
        await others.request("e1")
        while not others.calls:
            await asyncio.sleep(0)
        await others.robot(2, deleted=True)
        others.hold.set()
        assert (await others.completed())[0].skipped == "the robot was deleted"
        assert await others.recalled() == []
    assert await saved.count_documents({}) == 0


async def test_goals_are_compared_with_the_runs_that_ended(servers: dict[str, Any], others: Others) -> None:  # SC-13
    await others.robot(1)
    async with running(learner(servers, middlewares=[twice]), memory(servers)):
        before = await others.check("e0")
        await others.request("e1")
        await others.completed()
        checked = await others.check("e2")
    assert (before.decision, checked.decision, checked.goals) == ("proceed", "merge", "the other half")
    async with running(learner(servers)):  # another replica, another day
        assert (await others.check("e0"), await others.check("e2")) == (before, checked)
    assert [call.call_id for call in others.calls] == ["learn:e1", "dedup:e2"]


async def test_goals_go_to_a_run_under_way_and_the_reply_stays(
    servers: dict[str, Any], others: Others
) -> None:  # SC-13
    await others.robot(1)
    others.dedup = '{"decision": "merge", "reason": "it is at it", "into": "e7", "goals": "the other half"}'
    async with running(learner(servers, middlewares=[twice])):
        checked = await others.check("e2", "e7", "e8")
    assert (checked.decision, checked.into, checked.goals) == ("merge", "e7", "the other half")
    assert [one["execution_id"] for one in others.calls[0].metadata["under_way"]] == ["e7", "e8"]
    async with running(learner(servers)):
        assert await others.check("e2") == checked
        others.dedup = others.dedup.replace("e7", "e2")
        assert (await others.check("e7", "e2")).decision == "proceed"  # e2 ends: one of the two must go on
    assert [call.call_id for call in others.calls] == ["dedup:e2", "dedup:e7"]


async def test_of_runs_compared_at_once_one_goes_on(servers: dict[str, Any], others: Others) -> None:  # SC-13
    others.refusal = "no model is configured"  # so that equal goals are merged by rule
    runs = [f"e{number}" for number in range(6)]
    replicas = [learner(servers), learner(servers)]
    async with running(*replicas):
        for first in range(10):
            names = [f"{first} {run}" for run in runs]
            checks = [others.check(run, *(one for one in names if one != run), goals="Sell") for run in names]
            checked = await asyncio.gather(*checks)
            assert [one for one in checked if one.into is None], first


async def test_expired_documents_are_removed_from_all_stores(
    servers: dict[str, Any], others: Others, saved: Any
) -> None:  # LE-06
    history = [saved.database[name] for name in ("history", "decisions")]
    later = {"clock": lambda: now() + timedelta(days=8)}
    often = {**servers, "retention_interval": 0.05}
    await others.robot(1)
    async with running(memory(servers)):
        async with running(learner(servers)):
            await others.request("e1")
            await others.completed()
            await others.check("e2")
        async with running(learner(often, **later), learner(often, **later)):
            await others.robot(2, keep=9)
            assert await others.recalled() == ["Acme buys in March", "Be brief"]
            assert [await one.count_documents({}) for one in (saved, *history)] == [1, 1, 1]
            await others.robot(3, keep=7)
            while any([await one.count_documents({}) for one in (saved, *history)]):
                await asyncio.sleep(0)
            assert await others.recalled() == []


async def test_a_decision_does_not_wait_for_an_unavailable_executor(
    servers: dict[str, Any], others: Others, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rota_common.bus.agents.MARGIN_S", 0.2)
    async with running(learner({**servers, "dedup_timeout": 0.2}), memory(servers)):
        await others.request("e1")
        await others.completed()
        others.hold = asyncio.Event()
        checked = await others.check("e2")
        others.hold.set()
    assert checked.decision == "proceed"
    assert "can't be asked" in checked.reason


async def test_a_robots_history_is_removed_with_it(
    servers: dict[str, Any], others: Others, mongo_url: str, mongo_prefix: str
) -> None:  # LE-07
    mongo = Mongo(mongo_url, f"{mongo_prefix}_learner")
    await others.robot(1)
    async with running(learner(servers, middlewares=[twice]), memory(servers)):
        await others.request("e1")
        await others.completed()
        await others.check("e2")
        assert [await mongo.database[name].count_documents({}) for name in ("history", "decisions")] == [1, 1]
        await others.robot(2, deleted=True)
        while any([await mongo.database[name].count_documents({}) for name in ("history", "decisions")]):
            await asyncio.sleep(0)
    await mongo.close()
