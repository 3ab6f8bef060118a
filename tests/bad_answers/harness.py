"""A run with the real executor, validator and learner on one bus in memory, whose model answers one agent badly."""

import dataclasses
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from executor.adapters.in_memory import InMemoryBlobs, ScriptedModel, ScriptedTools, in_memory
from executor.adapters.rehearsal_model import RehearsalModel
from executor.app import build as build_executor
from executor.domain.conversation.chat import ModelReply, Tool
from executor.model_port import Prompt
from executor.settings import Settings as ExecutorSettings
from learner.adapters import in_memory as of_learner
from learner.app import build as build_learner
from learner.settings import Settings as LearnerSettings
from rota_common.bus.agents import NatsAgents
from rota_common.bus.rpc import Ask
from rota_common.runtime.service import Runtime
from rota_common.testing.in_memory_bus import InMemoryBus
from rota_common.testing.samples import MEMBER, NOON, TEAM, a_robot, a_trigger
from rota_contracts import catalog
from rota_contracts.messages.delivery import DeliveryAcceptedV1, DeliveryResult
from rota_contracts.messages.execution import Execution, ExecutionRequestedV1, ReadExecution
from rota_contracts.messages.memory import Recall, RecallReply
from validator.adapters import in_memory as of_validator
from validator.app import build as build_validator
from validator.settings import Settings as ValidatorSettings

OWNER = {"team_id": TEAM, "member_id": MEMBER}
RESOURCES = {"agents": ["experts.writer"], "mcp": [{"id": "crm"}]}
LOOKUP = Tool("crm__lookup", "crm", "lookup", "Looks it up", {"type": "object", "properties": {"name": {}}})

PLAN = (
    '{"tasks": [{"id": "a", "description": "Score it", "executor_id": "experts.writer", "expected_output": "a score"}]}'
)

BadAnswer = Callable[[Prompt], ModelReply | str | Exception]


@dataclass
class Ended:
    """What became of a run: `asked` counts the calls of the model by agent, `delivered` is what left."""

    execution: Execution
    asked: Counter[str] = field(default_factory=Counter)
    delivered: list[str] = field(default_factory=list)
    buried: int = 0


async def run_with(agent: str, bad: BadAnswer, *, type: str = "event") -> Ended:
    """One run; `agent` is a phase, `run` or `validation`, and the other agents answer well."""
    bus, blobs, asked, good = InMemoryBus(), InMemoryBlobs(), Counter[str](), RehearsalModel()

    async def answer(prompt: Prompt) -> ModelReply | str | Exception:
        asked[prompt.facts["kind"]] += 1
        if prompt.facts["kind"] == agent:
            return bad(prompt)
        return PLAN if prompt.facts["kind"] == "tasks" else await good.complete(prompt)

    async def recall(request: Recall) -> RecallReply:
        return RecallReply()

    bus.answer(catalog.RECALL, recall)
    model = ScriptedModel(answer=answer)
    robot = a_robot(config={"resources": RESOURCES, "executor": {"max_turns_per_task": 3}})
    stores = in_memory(robot, model=model, rehearsal=model, blobs=blobs, tools=ScriptedTools([LOOKUP]))
    judge = of_validator.in_memory(agents=NatsAgents(Ask(bus.connection("validator"), by="validator")))
    pupil = of_learner.in_memory(agents=NatsAgents(Ask(bus.connection("learner"), by="learner")))
    runtime = Runtime(bus=bus)
    apps = [
        build_executor(ExecutorSettings(connector="rehearsal"), runtime=runtime, adapters=stores),
        build_validator(ValidatorSettings(), runtime=runtime, adapters=dataclasses.replace(judge, outputs=blobs)),
        build_learner(LearnerSettings(), runtime=runtime, adapters=pupil),
    ]
    for app in apps:
        await app.service.start()
        await app.service.started.wait()
    try:
        trigger = a_trigger(type=type)
        fact = ExecutionRequestedV1(execution_id="e1", trigger=trigger, requested_at=NOON, **OWNER)
        await bus.publish(catalog.EXECUTION_REQUESTED, fact, caused_by="t1")
        await bus.settled(timeout=60)
        delivered = await _deliver(bus, blobs)
        found = (await bus.ask(catalog.READ_EXECUTION, ReadExecution(team_id=TEAM, execution_id="e1"))).execution
    finally:
        for app in apps:
            await app.service.stop(1)
    assert found is not None
    return Ended(found, asked, delivered, len(bus.dead))


async def _deliver(bus: InMemoryBus, blobs: InMemoryBlobs) -> list[str]:
    """Takes what is to be delivered, as the delivery-center does; returns its texts."""
    delivered = list[str]()
    for each in bus.facts(catalog.DELIVERY_REQUESTED):
        content = each.data.content
        delivered += [content.summary, await blobs.read(content.body)]
        result = DeliveryResult(request_id=each.data.request_id, content=content, success=True)
        accepted = DeliveryAcceptedV1(request_id=each.data.request_id, execution_id="e1", result=result, **OWNER)
        await bus.publish(catalog.DELIVERY_ACCEPTED, accepted, caused_by=each.data.request_id)
    await bus.settled(timeout=60)
    return delivered
