"""The executor, the validator, the learner and the memory on one bus in memory, with stores that outlive a restart."""

import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from executor.adapters.in_memory import InMemoryBlobs, InMemoryRobots, ScriptedModel
from executor.adapters.in_memory import in_memory as of_executor
from executor.adapters.rehearsal_model import RehearsalModel
from executor.app import build as build_executor
from executor.domain.conversation.chat import ModelReply
from executor.model_port import Prompt
from executor.settings import Settings as ExecutorSettings
from learner.adapters import in_memory as of_learner
from learner.adapters.nats_knowledge import NatsKnowledge
from learner.app import build as build_learner
from learner.settings import Settings as LearnerSettings
from memory import settings as of_memory_settings
from memory.adapters import in_memory as of_memory
from memory.app import build as build_memory
from memory.domain import Owner
from rota_common.bus.agents import NatsAgents
from rota_common.bus.rpc import Ask
from rota_common.runtime.service import Runtime
from rota_common.testing.in_memory_bus import InMemoryBus
from rota_common.testing.samples import MEMBER, NOON, TEAM, a_robot, a_trigger
from rota_contracts import catalog
from rota_contracts.messages.delivery import DeliveryAcceptedV1, DeliveryResult
from rota_contracts.messages.execution import Execution, ExecutionRequestedV1, ReadExecution
from rota_contracts.messages.learning import ForgetLessons, Lesson, ListLessons
from validator.adapters import in_memory as of_validator
from validator.app import build as build_validator
from validator.settings import Settings as ValidatorSettings

OWNER = {"team_id": TEAM, "member_id": MEMBER}
EVERY_RUN = {"executor": {"planning": "always"}}


class Rota:
    """One robot's runs. `read` is all that the model was sent since it was last cleared; it answers like a rehearsal,
    so that each run leaves a lesson that quotes its event."""

    def __init__(self, **config: Any) -> None:
        self.robots = InMemoryRobots()
        self.define(**config)
        self.read: list[str] = []
        self.blobs, good = InMemoryBlobs(), RehearsalModel()

        async def answer(prompt: Prompt) -> ModelReply:
            self.read += [message.text() for message in prompt.messages]
            return await good.complete(prompt)

        model = ScriptedModel(answer=answer)
        self.stores = of_executor(robots=self.robots, model=model, blobs=self.blobs)
        self.lessons, self.entries = of_learner.InMemoryLessons(), of_memory.InMemoryEntries()
        self.bus = InMemoryBus()

    def define(self, **config: Any) -> None:
        """Save the robot's definition."""
        self.robot = a_robot(config=EVERY_RUN | config)
        self.robots.put(self.robot)

    @asynccontextmanager
    async def up(self, connector: str, **settings: Any) -> AsyncIterator[None]:
        """The services, with this connector for all agents but those whose files name another."""
        self.bus = bus = InMemoryBus()
        runtime, ask = Runtime(bus=bus), Ask(bus.connection("learner"), by="learner")
        known = of_memory.InMemoryRobots()
        known.robots[Owner(TEAM, MEMBER)] = self.robot
        judge = of_validator.in_memory(agents=NatsAgents(Ask(bus.connection("validator"), by="validator")))
        pupil = of_learner.in_memory(agents=NatsAgents(ask), lessons=self.lessons)
        environ = {"OPENAI_API_KEY": "sk-of-the-test"}
        apps = [
            build_memory(
                of_memory_settings.Settings(),
                runtime=runtime,
                adapters=of_memory.in_memory(entries=self.entries, robots=known),
            ),
            build_executor(
                ExecutorSettings(connector=connector, **settings),
                runtime=runtime,
                adapters=self.stores,
                environ=environ,
            ),
            build_validator(
                ValidatorSettings(), runtime=runtime, adapters=dataclasses.replace(judge, outputs=self.blobs)
            ),
            build_learner(
                LearnerSettings(), runtime=runtime, adapters=dataclasses.replace(pupil, knowledge=NatsKnowledge(ask))
            ),
        ]
        for app in apps:
            await app.service.start()
            await app.service.started.wait()
        try:
            yield
        finally:
            for app in apps:
                await app.service.stop(1)

    async def run(self, execution_id: str, **given: Any) -> Execution:
        """The run of an event, or of another `type` of trigger, at its end; `read` is what its agents were sent."""
        self.read.clear()
        data = {"source": "tickets", "event_type": "ticket.created", "data": given.pop("data", {})}
        trigger = a_trigger(execution_id, **({} if "type" in given else {"input": data}), **given)
        fact = ExecutionRequestedV1(execution_id=execution_id, trigger=trigger, requested_at=NOON, **OWNER)
        await self.bus.publish(catalog.EXECUTION_REQUESTED, fact, caused_by=execution_id)
        await self.bus.settled(timeout=60)
        await self._deliver(execution_id)
        question = ReadExecution(team_id=TEAM, execution_id=execution_id)
        found = (await self.bus.ask(catalog.READ_EXECUTION, question)).execution
        assert found is not None
        assert found.status == "completed", found.error
        return found

    async def listed(self, **fields: Any) -> list[Lesson]:
        return (await self.bus.ask(catalog.LIST_LESSONS, ListLessons(**OWNER, **fields))).lessons

    async def forget(self, **fields: Any) -> int:
        return (await self.bus.ask(catalog.FORGET_LESSONS, ForgetLessons(**OWNER, **fields))).count

    async def _deliver(self, execution_id: str) -> None:
        """Take what is to be delivered, as the delivery-center does."""
        for each in self.bus.facts(catalog.DELIVERY_REQUESTED):
            if each.data.context.execution_id == execution_id:
                names = {"request_id": each.data.request_id, "execution_id": execution_id, **OWNER}
                result = DeliveryResult(request_id=each.data.request_id, content=each.data.content, success=True)
                fact = DeliveryAcceptedV1(result=result, **names)
                await self.bus.publish(catalog.DELIVERY_ACCEPTED, fact, caused_by=each.data.request_id)
        await self.bus.settled(timeout=60)
