"""Robots with clocks, and what they did."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rota_common.runtime.service import Service
from rota_common.testing.patience import PATIENCE_S
from rota_common.testing.samples import MEMBER, TEAM, a_robot
from rota_contracts import catalog
from rota_contracts.catalog import Channel
from rota_contracts.ids import clock_trigger_id
from rota_contracts.messages.robot_state import ReadRobots, RobotState
from rota_contracts.messages.trigger import TriggerReceivedV1
from rota_contracts.robots.robot import Robot
from scheduler.adapters.mongo_clocks import MongoClocks
from scheduler.adapters.mongo_queue import MongoQueue
from tests.integration.scheduler.harness import Harness

START = datetime(2036, 3, 3, 12, tzinfo=UTC)
"""A Monday. So far ahead because the database forgets by its own clock what has ended long ago."""

QUICK: dict[str, Any] = {"tick_every": 0.05, "tick_lag": 0.0}

HALF_HOURLY = {"mode": "interval", "every": "30m"}
DAEMON = {"mode": "daemon", "timeout": "10m"}


def a_clocked(
    clock: dict[str, Any], *, catch_up: str = "", quota: dict[str, int] | None = None, **fields: Any
) -> Robot:
    """A robot with this clock; `catch_up` is a policy, or a policy and what is too old: `all 3h`."""
    if catch_up:
        policy, _, max_age = catch_up.partition(" ")
        clock = clock | {"catch_up": {"policy": policy} | ({"max_age": max_age} if max_age else {})}
    return a_robot(config={"clock": clock, **({"quota": quota} if quota else {})}, **fields)


def minutes(*each: float) -> list[datetime]:
    """So many minutes after START."""
    return [START + timedelta(minutes=one) for one in each]


def tid(instant: datetime, member: str = MEMBER) -> str:
    """The trigger that the clock of this robot is at this instant."""
    return clock_trigger_id(TEAM, member, instant)


async def states(harness: Harness, *members: str, team: str = TEAM, upcoming: int = 0) -> list[RobotState]:
    question = ReadRobots(team_id=team, member_ids=list(members), upcoming=upcoming)
    return (await harness.gateway.ask(catalog.READ_ROBOTS, question)).robots


async def once(harness: Harness, so: Callable[[RobotState], bool], member: str = MEMBER) -> RobotState:
    """How the robot stands, as soon as it stands so."""
    async with asyncio.timeout(PATIENCE_S):
        while not (found := await states(harness, member)) or not so(found[0]):
            await asyncio.sleep(0.02)
        return found[0]


async def armed(harness: Harness, at: datetime | None, member: str = MEMBER) -> RobotState:
    """The robot, once its clock is next due then."""
    return await once(harness, lambda state: state.next_run == at and bool(state.clock), member)


async def published(harness: Harness, channel: Channel[Any], count: int) -> list[Any]:
    """The facts of a channel that its stream holds, once there are so many."""
    async with asyncio.timeout(PATIENCE_S):
        while len(found := await harness.facts(channel)) < count:
            await asyncio.sleep(0.02)
        return found


async def requests(harness: Harness) -> list[TriggerReceivedV1]:
    """The triggers whose executions were requested, in order; a repeated fact counts once."""
    sent = {event.id: event.data.trigger for event in await harness.events(catalog.EXECUTION_REQUESTED)}
    return list(sent.values())


async def instants(harness: Harness) -> list[datetime | None]:
    """When those were due."""
    return [trigger.scheduled_at for trigger in await requests(harness)]


class Stores:
    """The stores of each replica that is built from now on, in order."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.clocks: list[MongoClocks] = []
        self.queues: list[MongoQueue] = []
        for kind, made in ((MongoClocks, self.clocks), (MongoQueue, self.queues)):
            patch.setattr(f"scheduler.adapters.real.{kind.__name__}", _remembering(kind, made))


def _remembering(kind: type[Any], made: list[Any]) -> Callable[..., Any]:
    def make(*args: Any, **given: Any) -> Any:
        made.append(kind(*args, **given))
        return made[-1]

    return make


def held(store: object, method: str) -> asyncio.Event:
    """From now on this method of a store blocks; the event is set when a call waits there."""
    reached = asyncio.Event()

    async def hold(*_: Any, **__: Any) -> None:
        reached.set()
        await asyncio.Event().wait()

    setattr(store, method, hold)
    return reached


class Held:
    """From its making on nothing of a channel leaves the service."""

    def __init__(self, service: Service, channel: Channel[Any]) -> None:
        self._type, self._publish = channel.type, service.bus.jetstream.publish
        self.reached = asyncio.Event()
        service.bus.jetstream.publish = self._held

    async def _held(self, subject: str, *args: Any, **given: Any) -> Any:
        if subject.startswith(self._type):
            self.reached.set()
            await asyncio.Event().wait()
        return await self._publish(subject, *args, **given)
