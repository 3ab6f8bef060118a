"""The delivery-center on real servers, with a stub of the executor and of the gateway around it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import nats as nats_py
import pytest

from delivery_center.app import build
from delivery_center.settings import Settings
from rota_common.bus.robots import robot_key
from rota_common.bus.router import Router
from rota_common.clock import now
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.runtime.service import Runtime, Service
from rota_common.testing.bus import Listener, stored
from rota_contracts.catalog import CONTROL_GIVEN, DELIVERY_REQUESTED, MAY_DELIVER, ROBOT_DELETED, Channel
from rota_contracts.envelope import Event, parse_event
from rota_contracts.messages.control import ControlGivenV1
from rota_contracts.messages.delivery import DeliveryPermission, DeliveryRequestedV1, MayDeliver, Permission
from rota_contracts.messages.robot_facts import RobotDeletedV1
from rota_contracts.robots.robot import Robot
from rota_contracts.streams import ROBOTS_BUCKET
from tests.integration.delivery.receivers import HttpReceiver, Mailbox, http_receiver, mailbox

PERMITTED = DeliveryPermission(leave=Permission.ALLOW)


async def go(question: MayDeliver) -> DeliveryPermission:
    return PERMITTED


class Harness:
    """What stands around the delivery-center, and what is heard on the bus.

    `leave` is how the executor answers whether something may go out; `asked` are the executions it was asked about.
    """

    def __init__(self, nats_url: str, mongo_url: str, mongo_prefix: str, stack: AsyncExitStack) -> None:
        self.nats_url, self._stack = nats_url, stack
        self.settings: dict[str, Any] = {
            "nats_url": nats_url,
            "mongo_url": mongo_url,
            "mongo_prefix": mongo_prefix,
            "allow_private_targets": "127.0.0.0/8",
            "retry_schedule": (0.05, 0.05),
            "sweep_interval": 0.02,
            "attempt_timeout": 120,
        }
        self.executor = Service("executor", nats_url)
        self.gateway = Service("trigger-gateway", nats_url)
        self.leave: Callable[[MayDeliver], Awaitable[DeliveryPermission]] = go
        self.asked: list[str] = []
        self._listeners: dict[str, Listener] = {}
        router = Router()
        router.answer(MAY_DELIVER)(self._may_deliver)
        self.executor.include(router)

    async def start(self, **settings: Any) -> Service:
        """A replica of the delivery-center; `environ` and `deliveries` go to `build`, `clock` and `middlewares` to its
        runtime, the rest are settings."""
        ports = {name: settings.pop(name) for name in ("environ", "deliveries") if name in settings}
        made = {name: settings.pop(name) for name in ("clock", "middlewares") if name in settings}
        runtime = Runtime(fetch_timeout=0.3, **made)
        service = build(Settings.model_validate(self.settings | settings), runtime=runtime, **ports).service
        await service.start()
        self._stack.push_async_callback(service.stop, 2)
        await service.started.wait()
        return service

    async def hear(self, *channels: Channel[Any]) -> None:
        """Listen to these from now on."""
        for channel in channels:
            self._listeners[channel.name] = await Listener.to(self.nats_url, channel.pattern)
            self._stack.push_async_callback(self._listeners[channel.name].close)

    async def heard(self, channel: Channel[Any], count: int = 1) -> list[Event[Any]]:
        """The events of a channel, once there are `count`."""
        messages = await self._listeners[channel.name].heard(count)
        return [parse_event(channel.payload, m.headers, m.data, expected=channel.type) for m in messages]

    async def kept(self, channel: Channel[Any]) -> list[Event[Any]]:
        """What the stream has."""
        return await stored(self.nats_url, channel)

    async def robot(self, delivery: dict[str, Any] | None = None, **fields: Any) -> None:
        """Put a robot into the bucket, as the gateway does."""
        config = {"identity": {"role": "analyst"}, "delivery": delivery or {}}
        given = {"team_id": "acme", "member_id": "ann", "display_name": "Ann", "robot_email": "ann@acme.example"}
        robot = Robot.model_validate(given | {"robot_config": config} | fields)
        client = await nats_py.connect(self.nats_url)
        bucket = await client.jetstream().key_value(ROBOTS_BUCKET)
        await bucket.put(robot_key(robot.team_id, robot.member_id), robot.model_dump_json().encode())
        await client.close()

    async def request(self, request_id: str = "r1", *, again: int = 0, **fields: Any) -> None:
        context = {"team_id": "acme", "member_id": "ann", "execution_id": "e1", "trigger_type": "event"}
        content = {"summary": "15 new leads.", "body": {"inline": "# Leads\n\n- one"}}
        given = {"team_id": "acme", "member_id": "ann", "request_id": request_id, "content": content}
        request = DeliveryRequestedV1.model_validate(given | {"context": context} | fields)
        await self.executor.publish(DELIVERY_REQUESTED, request, caused_by=request_id, again=again)

    async def _may_deliver(self, question: MayDeliver) -> DeliveryPermission:
        self.asked.append(question.execution_id)
        return await self.leave(question)

    async def control(self, action: str, *execution_ids: str, reason: str = "") -> None:
        """Say it to all, as an executor does."""
        given = {"action": action, "execution_ids": execution_ids or ["e1"], "reason": reason, "at": now()}
        owner = {"team_id": "acme", "member_id": "_all_"}
        await self.executor.publish.observe(CONTROL_GIVEN, ControlGivenV1.model_validate(owner | given))

    async def delete_robot(self) -> None:
        gone = RobotDeletedV1(team_id="acme", member_id="ann", rev=2)
        await self.gateway.publish(ROBOT_DELETED, gone, caused_by="deleted")


@asynccontextmanager
async def _world(nats_url: str, mongo_url: str, mongo_prefix: str) -> AsyncIterator[Harness]:
    async with AsyncExitStack() as stack:
        made = Harness(nats_url, mongo_url, mongo_prefix, stack)
        for stub in (made.executor, made.gateway):
            await stub.start()
            stack.push_async_callback(stub.stop, 1)
            await stub.started.wait()
        yield made


@pytest.fixture
async def harness(nats: EmbeddedServer, mongo_url: str, mongo_prefix: str) -> AsyncIterator[Harness]:
    async with _world(nats.url, mongo_url, mongo_prefix) as made:
        yield made


@pytest.fixture
async def receiver() -> AsyncIterator[HttpReceiver]:
    async with http_receiver() as made:
        yield made


@pytest.fixture
async def box() -> AsyncIterator[Mailbox]:
    async with mailbox() as made:
        yield made
