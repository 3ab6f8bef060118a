"""The scheduler under test, with a gateway that triggers and an executor that reports."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

from rota_common.bus.router import Router
from rota_common.clock import Clock, now
from rota_common.runtime.service import Runtime, Service
from rota_common.runtime.serving import App
from rota_common.testing.bus import Listener, stored
from rota_common.testing.crash import crash
from rota_common.testing.patience import PATIENCE_S
from rota_common.testing.samples import MEMBER, TEAM, a_trigger
from rota_contracts import catalog
from rota_contracts.catalog import Channel
from rota_contracts.envelope import Event
from rota_contracts.ids import execution_id
from rota_contracts.messages.control import Withdraw, WithdrawReply
from rota_contracts.messages.execution import (
    ExecStatus,
    ExecutionFinishedV1,
    ExecutionRequestedV1,
    ExecutionStartedV1,
    ReadTrigger,
    TriggerReply,
)
from rota_contracts.messages.executor_capacity import ExecutorReportedV1
from rota_contracts.messages.parking import ExecutionParkedV1, ExecutionResumableV1
from rota_contracts.messages.plan import ChangePlan, ChangePlanReply, ListPlans, PlanItem
from rota_contracts.messages.robot_facts import RobotDeletedV1
from rota_contracts.model import ALL
from rota_contracts.robots.robot import Robot
from rota_contracts.streams import ROBOTS_BUCKET
from scheduler.app import build
from scheduler.settings import Settings


class Harness:
    """On real servers; `InMemoryHarness` in services/scheduler/tests needs none."""

    def __init__(self, nats_url: str, mongo_url: str, prefix: str) -> None:
        self._urls: dict[str, Any] = {"nats_url": nats_url, "mongo_url": mongo_url, "mongo_prefix": prefix}
        self.nats_url = nats_url
        self.gateway, self.executor = self.service("trigger-gateway"), self.service("executor")
        self.requested: list[str] = []
        self._kept: dict[tuple[str, str], Robot] = {}
        self.capacity: int | None = 1000
        router = Router()
        router.on(catalog.EXECUTION_REQUESTED, self._on_requested)
        self.executor.include(router)

    def service(self, name: str) -> Service:
        return Service(name, self.nats_url, runtime=self.runtime())

    def runtime(self, **given: Any) -> Runtime:
        return Runtime(**given)

    def build(self, settings: Settings, runtime: Runtime) -> App:
        return build(settings, runtime=runtime)

    async def listen(self, channel: Channel[Any]) -> Listener:
        return await Listener.to(self.nats_url, channel.pattern)

    async def store(self, robot: Robot) -> None:
        bucket = await self.gateway.bus.jetstream.key_value(ROBOTS_BUCKET)
        await bucket.put(f"{robot.team_id}.{robot.member_id}", robot.model_dump_json().encode())

    async def events(self, channel: Channel[Any]) -> list[Event[Any]]:
        """The events of a channel, as its stream holds them."""
        return await stored(self.nats_url, channel)

    async def end(self, service: Service) -> None:
        await crash(service)

    async def _on_requested(self, event: Event[ExecutionRequestedV1]) -> None:
        self.requested.append(event.data.trigger.trigger_id)

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator["Harness"]:
        for service in (self.gateway, self.executor):
            await service.start()
            await service.started.wait()
        self.requests = await self.listen(catalog.EXECUTION_REQUESTED)
        self.rejections = await self.listen(catalog.TRIGGER_REJECTED)
        self.admissions = await self.listen(catalog.TRIGGER_ADMITTED)
        alive = asyncio.create_task(self._alive())
        try:
            yield self
        finally:
            alive.cancel()
            for listener in (self.requests, self.rejections, self.admissions):
                await listener.close()
            for service in (self.gateway, self.executor):
                await self.end(service)

    async def _alive(self) -> None:
        """Reports all the time, unless `capacity` is None."""
        while True:
            if self.capacity is not None:
                await self.report(self.capacity)
            await asyncio.sleep(0.1)

    async def report(self, capacity: int, executor: str = "e1") -> None:
        """An executor's report of its capacity."""
        report = ExecutorReportedV1(team_id=ALL, member_id=ALL, executor_id=executor, capacity=capacity, at=now())
        await self.executor.publish.observe(catalog.EXECUTOR_REPORTED, report)

    async def start(self, *, clock: Clock = now, middlewares: Any = (), **settings: Any) -> App:
        runtime = self.runtime(clock=clock, middlewares=middlewares)
        app = self.build(Settings(**{"lease": 0.6} | self._urls | settings), runtime)
        await app.service.start()
        await app.service.started.wait()
        return app

    @contextlib.asynccontextmanager
    async def scheduler(self, **given: Any) -> AsyncIterator[App]:
        app = await self.start(**given)
        try:
            yield app
        finally:
            await app.service.stop(2)

    async def keep(self, robot: Robot) -> None:
        """Store a definition as the gateway does: each change has a new revision."""
        last = self._kept.get((robot.team_id, robot.member_id))
        if last is not None and robot.rev == last.rev and robot != last:
            robot = robot.model_copy(update={"rev": last.rev + 1})
        self._kept[robot.team_id, robot.member_id] = robot
        await self.store(robot)

    async def trigger(self, trigger_id: str = "t1", type: str = "event", *, again: int = 0, **fields: Any) -> None:
        given = a_trigger(trigger_id, type, at=now(), **fields)
        await self.gateway.publish(catalog.TRIGGER_RECEIVED, given, caused_by=trigger_id, again=again)

    async def started(self, trigger_id: str, *, member: str = MEMBER, grant: int = 0) -> None:
        given: dict[str, Any] = {"team_id": TEAM, "member_id": member, "started_at": now(), "grant": grant}
        fact = ExecutionStartedV1(execution_id=execution_id(trigger_id), **given)
        step = str(grant) if grant else ""
        await self.executor.publish(catalog.EXECUTION_STARTED, fact, caused_by=fact.execution_id, step=step)

    async def parked(self, trigger_id: str, parks: int = 1, *, again: int = 0) -> None:
        given: dict[str, Any] = {"team_id": TEAM, "member_id": MEMBER, "parked_at": now(), "status": "waiting"}
        fact = ExecutionParkedV1(execution_id=execution_id(trigger_id), parks=parks, **given)
        await self.executor.publish(
            catalog.EXECUTION_PARKED, fact, caused_by=fact.execution_id, step=str(parks), again=again
        )

    async def resumable(self, trigger_id: str, parks: int = 1, *, again: int = 0) -> None:
        given: dict[str, Any] = {"team_id": TEAM, "member_id": MEMBER, "resumable_at": now()}
        fact = ExecutionResumableV1(execution_id=execution_id(trigger_id), parks=parks, **given)
        await self.executor.publish(
            catalog.EXECUTION_RESUMABLE, fact, caused_by=fact.execution_id, step=str(parks), again=again
        )

    async def finished(
        self, trigger_id: str, *, member: str = MEMBER, status: str = "completed", error: str | None = None
    ) -> None:
        fact = ExecutionFinishedV1(
            execution_id=execution_id(trigger_id),
            team_id=TEAM,
            member_id=member,
            trigger_id=trigger_id,
            status=ExecStatus(status),
            error=error,
            finished_at=now(),
        )
        await self.executor.publish(catalog.EXECUTION_FINISHED, fact, caused_by=fact.execution_id)

    async def delete(self, *, rev: int = 2) -> None:
        fact = RobotDeletedV1(team_id=TEAM, member_id=MEMBER, rev=rev)
        await self.gateway.publish(catalog.ROBOT_DELETED, fact, caused_by=f"delete-{rev}")

    async def read(self, trigger_id: str = "t1", *, team: str = TEAM, execution_id: str | None = None) -> TriggerReply:
        question = ReadTrigger(team_id=team, trigger_id=trigger_id, execution_id=execution_id)
        return await self.gateway.ask(catalog.READ_TRIGGER, question)

    async def withdraw(self, **fields: Any) -> WithdrawReply:
        return await self.gateway.ask(catalog.WITHDRAW, Withdraw(**{"team_id": TEAM, "reason": "enough"} | fields))

    async def plan(self, plan_id: str = "p1", action: str = "plan.add", **fields: Any) -> ChangePlanReply:
        base: dict[str, Any] = {"team_id": TEAM, "member_id": MEMBER, "plan_id": plan_id, "action": action}
        if action == "plan.add":
            base["messages"] = [{"content": "Look at Globex"}]
        return await self.gateway.ask(catalog.CHANGE_PLAN, ChangePlan.model_validate(base | fields))

    async def plans(self) -> list[PlanItem]:
        return (await self.gateway.ask(catalog.LIST_PLANS, ListPlans(team_id=TEAM))).items

    async def until(self, state: str, trigger_id: str) -> TriggerReply:
        """The trigger, once it is in this state."""
        while (read := await self.read(trigger_id)).state != state:
            await asyncio.sleep(0.05)
        return read

    async def facts(self, channel: Channel[Any]) -> list[Any]:
        return [event.data for event in await self.events(channel)]

    async def slots(self, count: int, *, timeout: float = PATIENCE_S) -> list[str]:
        """The triggers whose executions were requested, once there are `count`, each counted once."""
        return await self.requests.distinct(count, lambda fact: str(fact["trigger"]["trigger_id"]), timeout=timeout)

    async def admitted(self, count: int, *, timeout: float = PATIENCE_S) -> list[str]:
        """The admitted triggers, once there are `count`, each counted once."""
        return await self.admissions.distinct(count, lambda fact: str(fact["trigger_id"]), timeout=timeout)

    async def rejected(self, count: int, *, timeout: float = PATIENCE_S) -> list[str]:
        """The rejected triggers, once there are `count`, each counted once."""
        return await self.rejections.distinct(count, lambda fact: str(fact["trigger_id"]), timeout=timeout)

    async def grants(self, count: int, *, timeout: float = PATIENCE_S) -> list[tuple[str, int]]:
        """The triggers whose executions were requested, with the number of the grant, once there are `count`."""
        received = await self.requests.distinct(
            count, lambda fact: json.dumps([fact["trigger"]["trigger_id"], fact["grant"]]), timeout=timeout
        )
        return [(trigger_id, grant) for trigger_id, grant in map(json.loads, received)]

    async def given_slots(self) -> list[str]:
        """The triggers whose executions were requested, in order, as the stream holds them."""
        return [fact.trigger.trigger_id for fact in await self.facts(catalog.EXECUTION_REQUESTED)]
