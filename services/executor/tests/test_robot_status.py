"""Executions of a robot whose status is set: what its pause holds goes on when the pause ends."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from executor.adapters.in_memory import InMemoryRobots, in_memory
from executor.app import build
from executor.settings import Settings
from rota_common.runtime.service import Runtime
from rota_common.testing.in_memory_bus import InMemoryBus
from rota_common.testing.patience import PATIENCE_S
from rota_common.testing.samples import MEMBER, NOON, TEAM, a_robot, a_trigger
from rota_contracts import catalog
from rota_contracts.messages.control import Control, ControlAction
from rota_contracts.messages.execution import ExecStatus, Execution, ExecutionRequestedV1, ReadExecution
from rota_contracts.messages.memory import Recall, RecallReply
from rota_contracts.messages.robot_facts import RobotChangedV1
from rota_contracts.messages.validation import CheckRules, RulesReply, ValidationResult
from rota_contracts.robots.robot import Robot, RobotStatus

OWNER = {"team_id": TEAM, "member_id": MEMBER}
STATUSES = [RobotStatus.PAUSED, RobotStatus.MAINTENANCE]


@dataclass
class Robots(InMemoryRobots):
    """`next`: the robot as it is from the second look on."""

    next: Robot | None = None
    _robots: dict[tuple[str, str], Robot] = field(default_factory=dict)

    async def find(self, team: str, member: str) -> Robot | None:
        found = await super().find(team, member)
        if self.next is not None:
            self.put(self.next)
            self.next = None
        return found


class World:
    def __init__(self) -> None:
        self.bus = InMemoryBus()
        self.robots = Robots()
        self.rev = 1
        self.robots.put(a_robot())
        self.bus.answer(catalog.RECALL, self._recall)
        self.bus.answer(catalog.CHECK_RULES, self._check)

    async def _recall(self, request: Recall) -> RecallReply:
        return RecallReply()

    async def _check(self, request: CheckRules) -> RulesReply:
        return RulesReply(verdict=ValidationResult(passed=True, score=0.9))

    async def set_status(self, status: RobotStatus, **fields: Any) -> None:
        """As the gateway does it: the bucket first, then the event."""
        self.rev += 1
        self.robots.put(a_robot(robot_status=status, rev=self.rev, **fields))
        await self.bus.publish(catalog.ROBOT_CHANGED, RobotChangedV1(rev=self.rev, **OWNER), caused_by=f"r{self.rev}")
        await self.bus.settled()

    async def request(self, execution_id: str, *, grant: int = 0) -> None:
        fact = ExecutionRequestedV1(
            execution_id=execution_id, trigger=a_trigger(f"t-{execution_id}"), requested_at=NOON, grant=grant, **OWNER
        )
        await self.bus.publish(catalog.EXECUTION_REQUESTED, fact, caused_by=f"t-{execution_id}-{grant}")
        await self.bus.settled()

    async def control(self, action: ControlAction, execution_id: str | None = None) -> None:
        request_id = f"{action}-{execution_id}"
        asked = Control(request_id=request_id, action=action, execution_id=execution_id, **OWNER)
        await self.bus.ask(catalog.CONTROL, asked)

    async def execution(self, execution_id: str = "e1") -> Execution:
        found = await self.bus.ask(catalog.READ_EXECUTION, ReadExecution(team_id=TEAM, execution_id=execution_id))
        assert found.execution is not None
        return found.execution

    async def reaches(self, status: ExecStatus, execution_id: str = "e1") -> Execution:
        async with asyncio.timeout(PATIENCE_S):
            while (found := await self.execution(execution_id)).status is not status:
                await asyncio.sleep(0)
        return found


@pytest.fixture
async def world() -> AsyncIterator[World]:
    made = World()
    adapters = in_memory(robots=made.robots)
    app = build(Settings(connector="rehearsal"), runtime=Runtime(bus=made.bus), adapters=adapters)
    await app.service.start()
    await app.service.started.wait()
    yield made
    await app.service.stop(1)


async def test_a_paused_status_holds_what_runs_and_idle_lets_it_go_on(world: World) -> None:  # DEC-16 DEC-45 TG-18
    await world.request("e1")
    await world.request("e2")
    await world.control(ControlAction.PAUSE, "e2")
    await world.set_status(RobotStatus.PAUSED)
    held = await world.reaches(ExecStatus.PAUSED)
    assert [word.action for word in held.interventions] == ["pause"]
    await world.set_status(RobotStatus.PAUSED, display_name="Ann")  # nothing new for its runs
    await world.set_status(RobotStatus.IDLE)
    free = await world.reaches(ExecStatus.PENDING)
    assert [(word.action, word.effect) for word in free.interventions][1:] == [("resume", "goes on")]
    await world.request("e1", grant=1)
    await world.reaches(ExecStatus.RUNNING)
    own = await world.execution("e2")
    assert own.status is ExecStatus.PAUSED, "it was paused on its own"
    assert own.interventions[-1].effect == "stays paused: it was paused on its own"


@pytest.mark.parametrize("status", STATUSES)
async def test_a_run_whose_robot_may_start_nothing_waits_for_its_end(world: World, status: RobotStatus) -> None:
    await world.set_status(status)  # DEC-16 DEC-45
    await world.request("e1")
    held = await world.reaches(ExecStatus.PAUSED)
    assert held.goals is None
    await world.set_status(RobotStatus.IDLE)
    await world.reaches(ExecStatus.PENDING)


@pytest.mark.parametrize("status", STATUSES)
async def test_a_status_that_ends_while_a_run_begins_does_not_hold_it(world: World, status: RobotStatus) -> None:
    world.robots.put(a_robot(robot_status=status, rev=2))
    world.robots.next = a_robot(rev=3)
    await world.request("e1")
    await world.reaches(ExecStatus.PENDING)


async def test_maintenance_leaves_what_runs_alone(world: World) -> None:  # DEC-45
    await world.request("e1")
    await world.set_status(RobotStatus.MAINTENANCE)
    assert (await world.execution()).interventions == []


@pytest.mark.parametrize("after", [RobotStatus.MAINTENANCE, RobotStatus.PAUSED])
async def test_idle_ends_what_a_pause_of_the_whole_robot_holds(world: World, after: RobotStatus) -> None:
    await world.request("e1")
    await world.control(ControlAction.PAUSE)
    await world.reaches(ExecStatus.PAUSED)
    await world.set_status(after)
    assert (await world.execution()).status is ExecStatus.PAUSED
    await world.set_status(RobotStatus.IDLE)
    await world.reaches(ExecStatus.PENDING)


async def test_a_person_lets_all_go_on_by_resuming_the_robot(world: World) -> None:  # TG-20
    await world.request("e1")
    await world.control(ControlAction.PAUSE, "e1")
    await world.control(ControlAction.PAUSE)
    await world.reaches(ExecStatus.PAUSED)
    await world.control(ControlAction.RESUME)
    await world.reaches(ExecStatus.PENDING)
