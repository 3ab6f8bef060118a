"""The delivery-center between an executor and a gateway that a test scripts: on real servers, or on a bus in memory.

Tests share servers; each has a team of its own.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any, TypeVar
from uuid import uuid4

import nats as nats_py

from delivery_center.adapters.httpx_webhook import webhook_client
from delivery_center.adapters.in_memory import (
    InMemoryFiles,
    InMemoryMailCounts,
    InMemoryRobots,
    InMemorySuppressions,
    in_memory,
)
from delivery_center.adapters.in_memory_deliveries import InMemoryDeliveries
from delivery_center.adapters.real import email_channel, webhook_channel
from delivery_center.app import build
from delivery_center.domain.delivery import PERMITTED
from delivery_center.settings import Settings
from rota_common.bus.robots import robot_key
from rota_common.bus.router import Router
from rota_common.bus.rpc import Ask
from rota_common.clock import now
from rota_common.errors import Transient
from rota_common.runtime.service import Runtime, Service
from rota_common.stores.mongo import Mongo
from rota_common.team_secrets import asked_of_the_gateway
from rota_common.testing.bus import Listener, stored
from rota_common.testing.crash import crash
from rota_common.testing.in_memory_bus import InMemoryBus
from rota_common.testing.patience import PATIENCE_S
from rota_contracts.catalog import (
    CONTROL_GIVEN,
    DELIVERY_ACCEPTED,
    DELIVERY_REQUESTED,
    MAY_DELIVER,
    READ_SECRETS,
    ROBOT_DELETED,
    Channel,
    Question,
)
from rota_contracts.envelope import Event, parse_event
from rota_contracts.messages.control import ControlGivenV1
from rota_contracts.messages.delivery import (
    ChannelResult,
    DeliveryPermission,
    DeliveryRequestedV1,
    DeliveryType,
    MayDeliver,
)
from rota_contracts.messages.robot_facts import RobotDeletedV1
from rota_contracts.messages.secrets import ReadSecrets, SecretsReply, SecretValue
from rota_contracts.model import Part
from rota_contracts.robots.robot import Robot
from rota_contracts.streams import ROBOTS_BUCKET
from tests.integration.delivery.watched_deliveries import WatchedDeliveries

Q = TypeVar("Q", bound=Part)
A = TypeVar("A", bound=Part)
FAST: dict[str, Any] = {
    "allow_private_targets": "127.0.0.0/8",
    "retry_schedule": (0.05, 0.05),
    "sweep_interval": 0.02,
    "attempt_timeout": 120,
}


async def allow(question: MayDeliver) -> DeliveryPermission:
    return PERMITTED


class Harness(ABC):
    """`permission` is the executor's reply to whether a result may be sent; `asked` are the executions in question."""

    def __init__(self, **settings: Any) -> None:
        self.team = f"t{uuid4().hex[:8]}"
        self.settings = FAST | {"mail_senders": {"*": ["acme.example"]}} | settings
        self.permission: Callable[[MayDeliver], Awaitable[DeliveryPermission]] = allow
        self.asked: list[str] = []
        self.rev = 0

    @abstractmethod
    async def start(self, **settings: Any) -> Service:
        """A replica of the delivery-center. `environ` goes to `build`, `clock` and `middlewares` to its runtime, the
        rest are settings."""

    @abstractmethod
    async def listen(self, *channels: Channel[Any]) -> None:
        """Record the events of these channels from now on."""

    @abstractmethod
    async def events(self, channel: Channel[Any], count: int = 1) -> list[Event[Any]]:
        """The events of a channel, once there are `count`."""

    @abstractmethod
    async def in_stream(self, channel: Channel[Any]) -> list[Event[Any]]:
        """The events of this team in the stream."""

    @abstractmethod
    async def put_robot(self, robot: Robot) -> None: ...

    @abstractmethod
    async def ask(self, question: Question[Q, A], request: Q) -> A:
        """Ask as the gateway does."""

    @abstractmethod
    async def publish_request(self, request: DeliveryRequestedV1, again: int) -> None: ...

    @abstractmethod
    async def control(self, action: str, *execution_ids: str, reason: str = "") -> None:
        """Broadcast a signal, as an executor does."""

    @abstractmethod
    async def delete_robot(self) -> None: ...

    async def robot(self, delivery: dict[str, Any] | None = None, **fields: Any) -> None:
        """Store a robot, as the gateway does: each time at the next revision."""
        self.rev += 1
        config = {"identity": {"role": "analyst"}, "delivery": delivery or {}}
        given = {
            "rev": self.rev,
            "team_id": self.team,
            "member_id": "ann",
            "display_name": "Ann",
            "robot_email": "ann@acme.example",
        }
        await self.put_robot(Robot.model_validate(given | {"robot_config": config} | fields))

    async def request(self, request_id: str = "r1", *, again: int = 0, **fields: Any) -> None:
        """Ask for a delivery, as an executor does: its run knows the robot's revision."""
        context = {"team_id": self.team, "member_id": "ann", "execution_id": "e1", "trigger_type": "event"}
        content = {"summary": "15 new leads.", "body": {"inline": "# Leads\n\n- one"}}
        given = {"team_id": self.team, "member_id": "ann", "request_id": request_id, "content": content}
        given["robot_rev"] = self.rev or None
        await self.publish_request(
            DeliveryRequestedV1.model_validate(given | {"context": context} | fields), again=again
        )

    def signal(self, action: str, execution_ids: tuple[str, ...], reason: str) -> ControlGivenV1:
        given = {"action": action, "execution_ids": execution_ids or ["e1"], "reason": reason, "at": now()}
        return ControlGivenV1.model_validate({"team_id": self.team, "member_id": "_all_"} | given)

    def deletion(self) -> RobotDeletedV1:
        return RobotDeletedV1(team_id=self.team, member_id="ann", rev=self.rev + 1)

    async def may_deliver(self, question: MayDeliver) -> DeliveryPermission:
        self.asked.append(question.execution_id)
        return await self.permission(question)


class ServersHarness(Harness):
    """On nats-server and mongod."""

    def __init__(self, nats_url: str, mongo_url: str, mongo_prefix: str, stack: AsyncExitStack) -> None:
        super().__init__(nats_url=nats_url, mongo_url=mongo_url, mongo_prefix=mongo_prefix)
        self.nats_url = nats_url
        self.executor = Service("executor", nats_url)
        self.gateway = Service("trigger-gateway", nats_url)
        self._stack = stack
        self._listeners: dict[str, Listener] = {}
        router = Router()
        router.answer(MAY_DELIVER, self.may_deliver)
        self.executor.include(router)

    async def run(self, service: Service) -> Service:
        """Start it; it crashes at the end of the test, unless it was stopped before."""
        await service.start()
        self._stack.push_async_callback(_end, service)
        await service.started.wait()
        return service

    async def start(self, **settings: Any) -> Service:
        ports = {name: settings.pop(name) for name in ("environ",) if name in settings}
        made = {name: settings.pop(name) for name in ("clock", "middlewares") if name in settings}
        runtime = Runtime(**made)
        return await self.run(
            build(Settings.model_validate(self.settings | settings), runtime=runtime, **ports).service
        )

    async def listen(self, *channels: Channel[Any]) -> None:
        for channel in channels:
            listener = await Listener.to(self.nats_url, channel.subject(self.team, "*"))
            self._listeners[channel.name] = listener
            self._stack.push_async_callback(listener.close)

    async def events(self, channel: Channel[Any], count: int = 1) -> list[Event[Any]]:
        messages = await self._listeners[channel.name].received(count)
        return [parse_event(channel.payload, m.headers, m.data, expected=channel.type) for m in messages]

    async def in_stream(self, channel: Channel[Any]) -> list[Event[Any]]:
        return [event for event in await stored(self.nats_url, channel) if event.data.team_id == self.team]

    async def put_robot(self, robot: Robot) -> None:
        client = await nats_py.connect(self.nats_url)
        bucket = await client.jetstream().key_value(ROBOTS_BUCKET)
        await bucket.put(robot_key(robot.team_id, robot.member_id), robot.model_dump_json().encode())
        await client.close()

    async def ask(self, question: Question[Q, A], request: Q) -> A:
        return await self.gateway.ask(question, request)

    async def publish_request(self, request: DeliveryRequestedV1, again: int) -> None:
        cause = f"{self.team}:{request.request_id}"
        await self.executor.publish(DELIVERY_REQUESTED, request, caused_by=cause, again=again)

    async def control(self, action: str, *execution_ids: str, reason: str = "") -> None:
        await self.executor.publish.observe(CONTROL_GIVEN, self.signal(action, execution_ids, reason))

    async def delete_robot(self) -> None:
        await self.gateway.publish(ROBOT_DELETED, self.deletion(), caused_by=f"{self.team} deleted")

    async def clear(self) -> None:
        """No later test finds what this one has left pending."""
        client = await nats_py.connect(self.nats_url)
        for stream in {DELIVERY_REQUESTED.stream, ROBOT_DELETED.stream}:
            await client.jetstream().purge_stream(stream or "")
        await client.close()
        connection = Mongo(self.settings["mongo_url"], f"{self.settings['mongo_prefix']}_delivery")
        for name in await connection.database.list_collection_names():
            await connection.database[name].delete_many({})
        await connection.close()


class InMemoryHarness(Harness):
    """On a bus and stores in memory, with the real channels."""

    def __init__(self, stack: AsyncExitStack) -> None:
        super().__init__()
        self.bus = InMemoryBus()
        self.bus.answer(MAY_DELIVER, self.may_deliver)
        self.bus.answer(READ_SECRETS, self.read_secrets)
        self.deliveries: InMemoryDeliveries = WatchedDeliveries()
        self.robots = InMemoryRobots()
        self.files = InMemoryFiles()
        self.known: Mapping[str, str] = {}
        self.gateway_is_away = False
        self._stack = stack

    async def start(self, **settings: Any) -> Service:
        environ: Mapping[str, str] = settings.pop("environ", {})
        self.known = settings.pop("known", {})
        made = {name: settings.pop(name) for name in ("clock", "middlewares") if name in settings}
        chosen = Settings.model_validate(self.settings | settings)
        suppressions = InMemorySuppressions()
        client = await self._stack.enter_async_context(webhook_client())
        ask = Ask(self.bus.connection("delivery-center"), by="delivery-center")
        adapters = in_memory(
            robots=self.robots,
            deliveries=self.deliveries,
            files=self.files,
            suppressions=suppressions,
            channels={
                DeliveryType.EMAIL: email_channel(chosen, self.files, suppressions, InMemoryMailCounts(), environ),
                DeliveryType.WEBHOOK: webhook_channel(chosen, client, asked_of_the_gateway(ask)),
            },
        )
        self.feed_counts = adapters.feed_counts
        service = build(chosen, runtime=Runtime(bus=self.bus, **made), adapters=adapters).service
        await service.start()
        self._stack.push_async_callback(service.stop, 1)
        await service.started.wait()
        return service

    async def read_secrets(self, question: ReadSecrets) -> SecretsReply:
        """As the gateway does, which knows `known` of this team."""
        if self.gateway_is_away:
            raise Transient("no gateway is there")
        mine = self.known if question.team_id == self.team else {}
        found = [SecretValue(name=name, value=mine[name]) for name in question.names if name in mine]
        return SecretsReply(secrets=found)

    async def listen(self, *channels: Channel[Any]) -> None:
        """The bus records every event."""

    async def events(self, channel: Channel[Any], count: int = 1) -> list[Event[Any]]:
        async with self.bus.changed:
            enough = self.bus.changed.wait_for(lambda: len(self.bus.facts(channel)) >= count)
            await _within(enough, channel, count)
        return self.bus.facts(channel)

    async def in_stream(self, channel: Channel[Any]) -> list[Event[Any]]:
        return self.bus.facts(channel)

    async def put_robot(self, robot: Robot) -> None:
        self.robots.stored[robot.team_id, robot.member_id] = robot

    async def ask(self, question: Question[Q, A], request: Q) -> A:
        return await self.bus.ask(question, request)

    async def publish_request(self, request: DeliveryRequestedV1, again: int) -> None:
        await self.bus.publish(DELIVERY_REQUESTED, request, caused_by=f"{request.request_id} {again}")

    async def control(self, action: str, *execution_ids: str, reason: str = "") -> None:
        await self.bus.publish(CONTROL_GIVEN, self.signal(action, execution_ids, reason), caused_by=action)

    async def delete_robot(self) -> None:
        await self.bus.publish(ROBOT_DELETED, self.deletion(), caused_by="deleted")


def to(channel: str, *targets: dict[str, Any]) -> dict[str, Any]:
    return {"preferences": {channel: {"targets": list(targets)}}}


async def outcome(harness: Harness, preferences: dict[str, Any], **settings: Any) -> list[ChannelResult]:
    """The first results."""
    await harness.robot(preferences)
    await harness.listen(DELIVERY_ACCEPTED)
    await harness.start(**settings)
    await harness.request()
    (accepted,) = await harness.events(DELIVERY_ACCEPTED)
    return list(accepted.data.result.results)


async def _within(enough: Awaitable[Any], channel: Channel[Any], count: int) -> None:
    try:
        await asyncio.wait_for(enough, PATIENCE_S)
    except TimeoutError:
        raise TimeoutError(f"expected {count} events of {channel.name} within {PATIENCE_S} s") from None


async def _end(service: Service) -> None:
    if not service.bus.client.is_closed:
        await crash(service)
