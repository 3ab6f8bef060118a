"""A result that failed validation, from its run to its release, over the bus: every message is handled twice."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from delivery_center.adapters import in_memory as of_delivery
from delivery_center.adapters.httpx_webhook import payload
from delivery_center.app import build as build_delivery
from delivery_center.settings import Settings as DeliverySettings
from executor.adapters.in_memory import ScriptedModel, in_memory
from executor.adapters.rehearsal_model import RehearsalModel
from executor.app import build as build_executor
from executor.domain.conversation.chat import ModelReply
from executor.model_port import Prompt
from executor.settings import Settings as ExecutorSettings
from rota_common.runtime.service import Runtime
from rota_common.testing.chaos import twice
from rota_common.testing.in_memory_bus import InMemoryBus
from rota_common.testing.samples import MEMBER, NOON, TEAM, a_robot, a_trigger
from rota_contracts import catalog
from rota_contracts.messages.delivery import DeliveryType
from rota_contracts.messages.execution import ExecutionRequestedV1, ReadExecution
from rota_contracts.messages.learning import LearningCompletedV1
from rota_contracts.messages.memory import Recall, RecallReply
from rota_contracts.messages.quarantine import DecideQuarantined, ListQuarantine, QuarantineDecision, QuarantineReply
from rota_contracts.messages.replay import ReplayExecution
from rota_contracts.messages.validation import CheckRules, RulesReply, ValidationResult

OWNER = {"team_id": TEAM, "member_id": MEMBER}
BAD = ValidationResult(passed=False, score=0.4, issues=["no figures"])
HOOK = {"preferences": {"webhook": {"targets": [{"url": "https://crm.example/in"}]}}}
OUTPUT, KNOWN = "The key is known-secret-value, and password=abc-123-secret", "known-secret-value"


@dataclass
class System:
    """An executor and a delivery-center, both of which handle everything twice; every result fails its rules."""

    bus: InMemoryBus
    webhook: Any

    async def run(self) -> str:
        """A run to its end; the id of its result in quarantine."""
        fact = ExecutionRequestedV1(execution_id="e1", trigger=a_trigger(), requested_at=NOON, **OWNER)
        await self.bus.publish(catalog.EXECUTION_REQUESTED, fact, caused_by="t1")
        await self.bus.settled()
        learnt = LearningCompletedV1(execution_id="e1", skipped="nothing new", **OWNER)
        await self.bus.publish(catalog.LEARNING_COMPLETED, learnt, caused_by="e1")
        await self.bus.settled()
        (held,) = (await self.bus.ask(catalog.LIST_QUARANTINE, ListQuarantine(team_id=TEAM))).results
        return held.quarantine_id

    async def decide(self, quarantine_id: str, decision: QuarantineDecision) -> QuarantineReply:
        wanted = DecideQuarantined(team_id=TEAM, quarantine_id=quarantine_id, decision=decision, by="k_ann")
        reply = await self.bus.ask(catalog.DECIDE_QUARANTINED, wanted)
        await self.bus.settled()
        return reply


@pytest.fixture
async def system(request: pytest.FixtureRequest) -> AsyncIterator[System]:
    """The robot's delivery is the test's parameter, or HOOK."""

    async def recall(asked: Recall) -> RecallReply:
        return RecallReply()

    async def check(asked: CheckRules) -> RulesReply:
        return RulesReply(verdict=BAD)

    good = RehearsalModel()

    async def answer(prompt: Prompt) -> ModelReply | str | Exception:
        return OUTPUT if prompt.facts["kind"] == "run" else await good.complete(prompt)

    bus, robot, model = (
        InMemoryBus(),
        a_robot(config={"delivery": getattr(request, "param", HOOK)}),
        ScriptedModel(answer=answer),
    )
    bus.answer(catalog.RECALL, recall)
    bus.answer(catalog.CHECK_RULES, check)
    stores = in_memory(robot, model=model, rehearsal=model, known_secrets=lambda team: [KNOWN])
    webhook = of_delivery.ScriptedChannel()
    sending = of_delivery.in_memory(robots=of_delivery.InMemoryRobots(robot), channels={DeliveryType.WEBHOOK: webhook})
    runtime = Runtime(bus=bus, middlewares=[twice])
    apps = [
        build_executor(ExecutorSettings(connector="rehearsal"), runtime=runtime, adapters=stores),
        build_delivery(DeliverySettings(), runtime=runtime, adapters=sending),
    ]
    for app in apps:
        await app.service.start()
        await app.service.started.wait()
    yield System(bus, webhook)
    for app in apps:
        await app.service.stop(1)


async def test_a_released_result_is_delivered_once_and_says_who_released_it(system: System) -> None:  # F13
    bus, quarantine_id = system.bus, await system.run()
    (ended,) = bus.facts(catalog.EXECUTION_FINISHED)
    assert [(each.score, each.issues) for each in ended.data.quarantined] == [(0.4, ["no figures"])]
    assert (ended.data.status, system.webhook.sent) == ("failed", [])
    released = await system.decide(quarantine_id, QuarantineDecision.RELEASE)
    again = await system.decide(quarantine_id, QuarantineDecision.RELEASE)
    assert (again.result, again.repeated) == (released.result, True)
    (sent,) = system.webhook.sent
    assert (sent.body, sent.context.score) == ("The key is [REDACTED], and password=[REDACTED]", 0.4)
    (completed,) = bus.facts(catalog.DELIVERY_COMPLETED)
    assert (completed.data.context.released_by, completed.data.context.score) == ("k_ann", 0.4)
    (decided,) = bus.facts(catalog.QUARANTINE_DECIDED)
    assert (decided.data.result.status, decided.data.result.issues) == ("released", ["no figures"])
    assert len(bus.facts(catalog.EXECUTION_FINISHED)) == 1
    replayed = await bus.ask(catalog.REPLAY, ReplayExecution(team_id=TEAM, execution_id="e1"))
    assert replayed.same, replayed.difference
    assert bus.dead == []


async def test_a_dropped_result_is_never_delivered(system: System) -> None:  # F13
    quarantine_id = await system.run()
    await system.decide(quarantine_id, QuarantineDecision.DROP)
    refused = await system.decide(quarantine_id, QuarantineDecision.RELEASE)
    assert refused.refused == "this result was dropped before, by k_ann: the first decision counts"
    assert (system.webhook.sent, system.bus.facts(catalog.DELIVERY_REQUESTED)) == ([], [])
    (decided,) = system.bus.facts(catalog.QUARANTINE_DECIDED)
    assert decided.data.result.status == "dropped"
    found = (await system.bus.ask(catalog.READ_EXECUTION, ReadExecution(team_id=TEAM, execution_id="e1"))).execution
    assert found is not None
    assert (found.status, found.delivery) == ("failed", None)


@pytest.mark.parametrize("system", [HOOK | {"on": ["failed"]}], indirect=True)
async def test_why_a_run_failed_goes_to_its_targets_once_where_that_is_wanted(system: System) -> None:
    await system.run()
    found = (await system.bus.ask(catalog.READ_EXECUTION, ReadExecution(team_id=TEAM, execution_id="e1"))).execution
    assert found is not None
    (sent,) = system.webhook.sent
    body = json.loads(payload(sent))
    assert (body["type"], body["data"]["context"]["failed"]) == ("run.failed", True)
    assert body["data"]["body"] == found.error
    assert (found.status, found.delivery) == ("failed", None)
    (completed,) = system.bus.facts(catalog.DELIVERY_COMPLETED)
    assert completed.data.context.failed
    assert system.bus.dead == []
