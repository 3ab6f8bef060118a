"""The executor on real servers, beside stand-ins for every service that it speaks to."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from executor.app import build
from executor.settings import Settings
from rota_common.bus.router import Router
from rota_common.clock import Clock, now
from rota_common.runtime.service import Runtime, Service
from rota_common.runtime.serving import App
from rota_common.testing.bus import Listener, stored
from rota_common.testing.crash import crash
from rota_common.testing.openai_server import ModelRequest, OpenAIServer
from rota_common.testing.patience import PATIENCE_S
from rota_common.testing.samples import MEMBER, TEAM, a_trigger
from rota_contracts import catalog
from rota_contracts.envelope import Event
from rota_contracts.messages.callback import CallBack, CallbackReply
from rota_contracts.messages.control import Control, ControlReply, Intervene, InterveneReply
from rota_contracts.messages.delivery import (
    DeliveryAcceptedV1,
    DeliveryPermission,
    DeliveryRequestedV1,
    DeliveryResult,
    MayDeliver,
)
from rota_contracts.messages.execution import Execution, ExecutionFinishedV1, ExecutionRequestedV1, ReadExecution
from rota_contracts.messages.executor_capacity import CheckSlots, SlotState
from rota_contracts.messages.goal_merge import ListWaiting, MergeInto, MergeReply, Waiting, WaitingPage
from rota_contracts.messages.learning import (
    CheckGoals,
    DedupDecision,
    GoalsReply,
    LearningCompletedV1,
    LearningRequestedV1,
)
from rota_contracts.messages.memory import Recall, RecallReply
from rota_contracts.messages.parking import ExecutionParkedV1, ExecutionResumableV1
from rota_contracts.messages.plan import ListPlans, PlanPage
from rota_contracts.messages.replay import ReplayExecution, ReplayReply
from rota_contracts.messages.robot_facts import RobotDeletedV1
from rota_contracts.messages.trigger import TriggerReceivedV1
from rota_contracts.messages.validation import (
    CheckRules,
    RulesReply,
    ValidationCompletedV1,
    ValidationRequestedV1,
    ValidationResult,
)
from rota_contracts.robots.robot import Robot
from rota_contracts.streams import ROBOTS_BUCKET

GOOD = ValidationResult(passed=True, score=0.9)
KEY = "sk-proj-4f9aB2c81dE07f6a5b3c9d2e"
CONNECTOR = """label: Scripted
teams: ["*"]
type: openai
options:
  model: scripted
  host: $ENV.MODEL_HOST
  key: $ENV.MODEL_KEY
"""
ENDINGS = {
    "Write the report.": "inspiration",
    "Make today's goals.": "goals",
    "Make the plan.": "tasks",
    "Write it up.": "delivery",
}


def kind(asked: ModelRequest) -> str:
    """Which step a request to the model is: a phase, or `run: <the task>`."""
    if "<task>\n" in asked.words:
        return "run: " + asked.words.split("<task>\n")[1].splitlines()[0]
    return next((name for ending, name in ENDINGS.items() if ending in asked.words), "other")


def kinds(model: OpenAIServer) -> Counter[str]:
    """How often the model was asked for which step."""
    return Counter(kind(asked) for asked in model.asked)


class Harness:
    """`verdict`, `rules` and `recall` say what the others answer; a service named in `silent` takes what it
    is asked, says nothing, and is put on the list of those that `ignored` a request."""

    def __init__(self, nats_url: str, mongo_url: str, prefix: str) -> None:
        self._urls: dict[str, Any] = {"nats_url": nats_url, "mongo_url": mongo_url, "mongo_prefix": prefix}
        self.nats_url = nats_url
        self.services = {name: Service(name, nats_url) for name in catalog.SERVICES}
        del self.services["executor"]
        self.silent: set[str] = set()
        self.ignored: asyncio.Queue[str] = asyncio.Queue()
        self.rules: Callable[[CheckRules], RulesReply] = lambda asked: RulesReply(verdict=GOOD)
        self.verdict: Callable[[ValidationRequestedV1], ValidationResult] = lambda asked: GOOD
        self.recall: Callable[[Recall], RecallReply] = lambda asked: RecallReply()
        self.compare: Callable[[CheckGoals], GoalsReply] = lambda asked: GoalsReply(decision=DedupDecision.PROCEED)
        self.waiting: list[Waiting] = []
        self.plans: Callable[[ListPlans], Awaitable[PlanPage]] = _no_plans
        self.merge: Callable[[MergeInto], MergeReply] = lambda asked: MergeReply(done=False)
        self.triggers: dict[str, TriggerReceivedV1] = {}

    @contextlib.asynccontextmanager
    async def executor(self, **given: Any) -> AsyncIterator[App]:
        """A replica of the executor, stopped at the end unless the test has ended it."""
        app = await self.start(**given)
        try:
            yield app
        finally:
            await app.service.stop(2)

    async def start(self, *, environ: dict[str, str] | None = None, clock: Clock = now, **settings: Any) -> App:
        given = {"connector": "rehearsal", "sweep_interval": 0.05, "lease": 2.0, "slots": 8} | self._urls | settings
        runtime = Runtime(clock=clock)
        app = build(Settings(**given), runtime=runtime, environ=environ or {})
        await app.service.start()
        await app.service.started.wait()
        return app

    @contextlib.asynccontextmanager
    async def neighbours(self) -> AsyncIterator["Harness"]:
        for name, router in self._routers().items():
            self.services[name].include(router)
        for service in self.services.values():
            await service.start()
        await asyncio.gather(*(service.started.wait() for service in self.services.values()))
        self.finishes = await Listener.to(self.nats_url, catalog.EXECUTION_FINISHED.pattern)
        self.parks = await Listener.to(self.nats_url, catalog.EXECUTION_PARKED.pattern)
        try:
            yield self
        finally:
            await self.finishes.close()
            await self.parks.close()
            running = (crash(each) if each.bus.connected else each.stop(1) for each in self.services.values())
            await asyncio.gather(*running)

    def _routers(self) -> dict[str, Router]:
        validator, delivery, learner, memory, scheduler = Router(), Router(), Router(), Router(), Router()
        scheduler.on(catalog.EXECUTION_RESUMABLE, self._grant)
        scheduler.answer(catalog.LIST_WAITING, self._list_waiting)
        scheduler.answer(catalog.LIST_PLANS, self._list_plans)
        scheduler.answer(catalog.MERGE_INTO, self._merge)
        validator.answer(catalog.CHECK_RULES, self._check)
        validator.on(catalog.VALIDATION_REQUESTED, self._validate)
        delivery.on(catalog.DELIVERY_REQUESTED, self._deliver)
        learner.on(catalog.LEARNING_REQUESTED, self._learn)
        learner.answer(catalog.CHECK_GOALS, self._compare)
        memory.answer(catalog.RECALL, self._recall)
        answering = {"validator": validator, "delivery-center": delivery, "learner": learner, "memory": memory}
        return answering | {"scheduler": scheduler}

    def _ignores(self, name: str) -> bool:
        if name in self.silent:
            self.ignored.put_nowait(name)
        return name in self.silent

    async def _recall(self, asked: Recall) -> RecallReply:
        return self.recall(asked)

    async def _compare(self, asked: CheckGoals) -> GoalsReply:
        return self.compare(asked)

    async def _list_waiting(self, asked: ListWaiting) -> WaitingPage:
        return WaitingPage(waiting=self.waiting)

    async def _list_plans(self, asked: ListPlans) -> PlanPage:
        return await self.plans(asked)

    async def _merge(self, asked: MergeInto) -> MergeReply:
        return self.merge(asked)

    async def _grant(self, event: Event[ExecutionResumableV1]) -> None:
        if not self._ignores("scheduler"):
            await self._give_slot(event.data.execution_id, grant=event.data.parks)

    async def _check(self, asked: CheckRules) -> RulesReply:
        return self.rules(asked)

    async def _validate(self, event: Event[ValidationRequestedV1]) -> None:
        if self._ignores("validator"):
            return
        asked = event.data
        answer = ValidationCompletedV1(
            validation_id=asked.validation_id,
            execution_id=asked.execution_id,
            task_id=asked.task_id,
            team_id=asked.team_id,
            member_id=asked.member_id,
            verdict=self.verdict(asked),
        )
        await self.services["validator"].publish(catalog.VALIDATION_COMPLETED, answer, caused_by=asked.validation_id)

    async def _deliver(self, event: Event[DeliveryRequestedV1]) -> None:
        if self._ignores("delivery-center"):
            return
        asked = event.data
        answer = DeliveryAcceptedV1(
            request_id=asked.request_id,
            execution_id=asked.context.execution_id,
            team_id=asked.team_id,
            member_id=asked.member_id,
            result=DeliveryResult(request_id=asked.request_id, content=asked.content, success=True),
        )
        await self.services["delivery-center"].publish(catalog.DELIVERY_ACCEPTED, answer, caused_by=asked.request_id)

    async def _learn(self, event: Event[LearningRequestedV1]) -> None:
        if self._ignores("learner"):
            return
        asked = event.data
        owner = {"team_id": asked.team_id, "member_id": asked.member_id}
        answer = LearningCompletedV1(execution_id=asked.execution_id, skipped="stubbed", **owner)
        await self.services["learner"].publish(catalog.LEARNING_COMPLETED, answer, caused_by=asked.execution_id)

    async def keep(self, robot: Robot) -> None:
        """Put a definition where the gateway puts it."""
        bucket = await self.services["trigger-gateway"].bus.jetstream.key_value(ROBOTS_BUCKET)
        await bucket.put(f"{robot.team_id}.{robot.member_id}", robot.model_dump_json().encode())

    async def request(self, execution_id: str = "e1", type: str = "event", **trigger: Any) -> None:
        """Give an execution its slot, as the scheduler does."""
        self.triggers[execution_id] = a_trigger(f"t-{execution_id}", type, **trigger)
        await self._give_slot(execution_id)

    async def _give_slot(self, execution_id: str, *, grant: int = 0) -> None:
        given = self.triggers[execution_id]
        owner = {"team_id": given.team_id, "member_id": given.member_id}
        fact = ExecutionRequestedV1(execution_id=execution_id, trigger=given, requested_at=now(), grant=grant, **owner)
        trace, step = f"00-{'a' * 32}-{'b' * 16}-01", str(grant) if grant else ""
        await self.services["scheduler"].publish(
            catalog.EXECUTION_REQUESTED, fact, caused_by=given.trigger_id, step=step, trace=trace
        )

    async def control(self, action: str, execution_id: str | None = "e1", **fields: Any) -> ControlReply:
        """Pause, resume or stop, as the gateway asks for it."""
        given = {"request_id": f"{action}-{execution_id}", "team_id": TEAM, "execution_id": execution_id}
        question = Control.model_validate(given | {"action": action} | fields)
        return await self.services["trigger-gateway"].ask(catalog.CONTROL, question)

    async def intervene(self, action: str, text: str = "", **fields: Any) -> InterveneReply:
        given: dict[str, Any] = {"intervention_id": f"i-{action}", "team_id": TEAM, "member_id": MEMBER}
        said = {"action": action, "messages": [{"content": text}] if text else []}
        question = Intervene.model_validate(given | said | fields)
        return await self.services["trigger-gateway"].ask(catalog.INTERVENE, question)

    async def call_back(self, callback_id: str, output: Any = None, *, error: str | None = None) -> CallbackReply:
        """A result that was promised, as the gateway passes it on."""
        question = CallBack(callback_id=callback_id, output=output, error=error)
        return await self.services["trigger-gateway"].ask(catalog.CALL_BACK, question)

    async def slots(self, *execution_ids: str) -> list[SlotState]:
        question = CheckSlots(execution_ids=[*execution_ids])
        return (await self.services["scheduler"].ask(catalog.CHECK_SLOTS, question)).slots

    async def may_deliver(self, execution_id: str = "e1", *, team: str = TEAM) -> DeliveryPermission:
        question = MayDeliver(team_id=team, execution_id=execution_id)
        return await self.services["delivery-center"].ask(catalog.MAY_DELIVER, question)

    async def replay(self, execution_id: str = "e1", *, team: str = TEAM) -> ReplayReply:
        question = ReplayExecution(team_id=team, execution_id=execution_id)
        return await self.services["trigger-gateway"].ask(catalog.REPLAY, question)

    async def until(self, reached: Callable[[Execution], bool], execution_id: str = "e1") -> Execution:
        """The execution, once it is as far."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                execution = await self.execution(execution_id)
                if execution is not None and reached(execution):
                    return execution
                await asyncio.sleep(0.02)

    async def delete(self, *, rev: int = 2) -> None:
        fact = RobotDeletedV1(team_id=TEAM, member_id=MEMBER, rev=rev)
        await self.services["trigger-gateway"].publish(catalog.ROBOT_DELETED, fact, caused_by=f"delete-{rev}")

    async def parked(self) -> list[Event[ExecutionParkedV1]]:
        """The parked facts, once there is one: a run is stored as waiting before it is published."""
        await self.parks.received(1)
        return await stored(self.nats_url, catalog.EXECUTION_PARKED)

    async def finished(self, count: int = 1, *, timeout: float = PATIENCE_S) -> list[ExecutionFinishedV1]:
        """The finished facts, once those of `count` executions are there."""
        await self.finishes.distinct(count, lambda fact: str(fact["execution_id"]), timeout=timeout)
        return [event.data for event in await stored(self.nats_url, catalog.EXECUTION_FINISHED)]

    async def execution(self, execution_id: str = "e1", *, team: str = TEAM) -> Execution | None:
        question = ReadExecution(team_id=team, execution_id=execution_id)
        return (await self.services["trigger-gateway"].ask(catalog.READ_EXECUTION, question)).execution

    async def over(self, execution_id: str = "e1") -> Execution:
        """The execution, once it is over."""
        await self.finished()
        execution = await self.execution(execution_id)
        assert execution is not None
        assert execution.status.over
        return execution


async def _no_plans(asked: ListPlans) -> PlanPage:
    return PlanPage()


def scripted(folder: Path, host: str) -> dict[str, Any]:
    """What makes an executor use the scripted model at `host`."""
    folder.mkdir(exist_ok=True)
    (folder / "scripted.yaml").write_text(CONNECTOR)
    environ = {"MODEL_HOST": host, "MODEL_KEY": KEY}
    return {"connector": "scripted", "connectors_dir": folder, "environ": environ}
