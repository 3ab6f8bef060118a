"""Whether a robot is in error, whatever order its runs and its owner are heard in (TG-18, DEC-15)."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any, TypeVar

import pytest

from rota_common.errors import Transient
from rota_contracts.envelope import Event
from rota_contracts.messages.robot_facts import RobotFailedV1, RobotRecoveredV1
from rota_contracts.messages.robot_state import RobotState
from rota_contracts.model import Payload
from rota_contracts.robots.robot import Robot, RobotStatus, RunFailure
from trigger_gateway.adapters import in_memory_stores
from trigger_gateway.robots.record import RobotRecord, as_read, recorded_status
from trigger_gateway.robots.routes import Routes
from trigger_gateway.robots.save_robot import SaveRobot
from trigger_gateway.robots.sync_robots import SyncRobots
from trigger_gateway.robots.track_robot_health import TRIES, TrackRobotHealth

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
DEFINITION: dict[str, Any] = {"member_id": "leader", "robot_config": {"identity": {"role": "x"}}}
P = TypeVar("P", bound=Payload)
WHOSE: dict[str, Any] = {"team_id": "acme", "member_id": "leader"}


class World:
    """One robot, created long before anything happens to it."""

    def __init__(self) -> None:
        self.now = AT - timedelta(days=1)
        self.robots, self.definitions = in_memory_stores.InMemoryRobots(), in_memory_stores.InMemoryDefinitions()
        self.sync = SyncRobots(records=self.robots, definitions=self.definitions, events=self.definitions)
        routes = Routes(sources=in_memory_stores.InMemorySources(), robots=self.robots, clock=lambda: self.now)
        self.save = SaveRobot(
            records=self.robots, sync=self.sync, routes=routes, clock=lambda: self.now, new_id=lambda: "id"
        )
        self.judge = TrackRobotHealth(records=self.robots, sync=self.sync, clock=lambda: self.now)

    async def failed(self, second: int) -> None:
        at = AT + timedelta(seconds=second)
        await self.judge.on_failed(
            event_of(RobotFailedV1(**WHOSE, execution_id=f"e{second}", message="no model", at=at))
        )

    async def recovered(self, second: int) -> None:
        await self.judge.on_recovered(
            event_of(RobotRecoveredV1(**WHOSE, execution_id="e", at=AT + timedelta(seconds=second)))
        )

    async def owner(self, second: int, status: str = "idle") -> None:
        self.now = AT + timedelta(seconds=second)
        await self.save.change("acme", "leader", {"robot_status": status})

    async def record(self) -> RobotRecord:
        found = await self.robots.find("acme", "leader")
        assert found is not None
        return found

    async def error(self) -> str | None:
        """The execution of the error, and everybody else reads the same."""
        robot = (await self.record()).robot
        assert self.definitions.robots["acme", "leader"] == robot
        return robot.error.execution_id if robot.error else None


@pytest.fixture
async def world() -> World:
    made = World()
    await made.save.create("acme", DEFINITION)
    return made


def event_of(data: P) -> Event[P]:
    return Event(id="e", type="", source="executor", time=AT, data=data)


Say = Callable[[World, int], Awaitable[None]]
SAYINGS: dict[str, tuple[list[Say], str | None]] = {
    "failed last": ([World.failed, World.recovered, World.failed], "e2"),
    "recovered last": ([World.failed, World.failed, World.recovered], None),
    "never failed": ([World.recovered, World.recovered, World.recovered], None),
}
"""What is said at second 0, 1 and 2, and the error that this leaves."""


@pytest.mark.parametrize("order", [*permutations(range(3))], ids=str)
@pytest.mark.parametrize("name", SAYINGS)
async def test_the_newest_word_counts_in_any_order_and_doubled(world: World, name: str, order: tuple[int, ...]) -> None:
    says, expected = SAYINGS[name]
    for second in order:
        for _ in range(2):
            await says[second](world, second)
    assert await world.error() == expected
    rev = (await world.record()).robot.rev
    for second, say in enumerate(says):
        await say(world, second)
    assert ((await world.record()).robot.rev, await world.error()) == (rev, expected)


async def test_what_a_run_says_late_doesnt_undo_its_owners_word(world: World) -> None:  # DEC-15
    await world.failed(1)
    for status in ("idle", "paused", "maintenance"):
        await world.failed(2)
        await world.owner(5, status)
        robot = (await world.record()).robot
        assert (robot.error, robot.robot_status) == (None, status)
        await world.failed(4)
        await world.failed(5)
        assert (await world.record()).robot == robot
        world.now = AT
    await world.failed(6)
    assert await world.error() == "e6"


async def test_an_owners_word_that_changes_nothing_still_ends_what_was_said_before(world: World) -> None:
    rev = (await world.record()).robot.rev
    await world.owner(5)
    await world.failed(4)
    assert (await world.error(), (await world.record()).robot.rev) == (None, rev)


async def test_another_change_keeps_the_error_and_what_is_known_of_it(world: World) -> None:
    await world.failed(5)
    world.now = AT + timedelta(seconds=9)
    await world.save.change("acme", "leader", {"display_name": "Leo"})
    await world.save.replace("acme", "leader", DEFINITION)
    assert await world.error() == "e5"
    await world.recovered(4)
    assert await world.error() == "e5"
    await world.recovered(6)
    assert await world.error() is None


async def test_a_clock_that_runs_behind_doesnt_bring_an_error_back(world: World) -> None:
    await world.failed(5)
    await world.owner(3)  # by a gateway whose clock is late
    await world.failed(5)
    assert await world.error() is None


async def test_a_robot_that_is_gone_or_made_anew_has_no_old_errors(world: World) -> None:
    world.now = AT + timedelta(seconds=2)
    await world.save.delete("acme", "leader")
    gone = await world.record()
    await world.failed(3)
    assert await world.record() == gone
    world.now = AT + timedelta(seconds=4)
    await world.save.create("acme", DEFINITION)
    await world.failed(3)
    assert await world.error() is None
    await world.failed(5)
    assert await world.error() == "e5"


async def test_what_cant_be_told_now_is_told_by_the_sweeper(world: World) -> None:
    world.definitions.breaks = True
    with pytest.raises(Transient):
        await world.failed(1)
    world.definitions.breaks = False
    await world.failed(1)  # delivered again: it is saved already
    assert await world.sync.sweep() == 1
    assert await world.error() == "e1"
    assert [rev for _, rev, _ in world.definitions.published] == [1, 2]


class Contended(in_memory_stores.InMemoryRobots):
    """Somebody else changes the robot between each look and each write; `lose` times."""

    lose = 0

    async def replace(self, record: RobotRecord, *, expected: RobotRecord) -> bool:
        self.lose -= 1
        return self.lose < 0 and await super().replace(record, expected=expected)

    async def note_health(self, record: RobotRecord, at: datetime) -> bool:
        self.lose -= 1
        return self.lose < 0 and await super().note_health(record, at)


@pytest.mark.parametrize("error", [True, False])
async def test_a_judgement_is_made_again_when_others_change_the_robot_meanwhile(error: bool) -> None:
    world, robots = World(), Contended()
    await robots.insert(RobotRecord(Robot.model_validate(DEFINITION | WHOSE), AT))
    world.robots, world.judge = (
        robots,
        TrackRobotHealth(
            records=robots,
            sync=SyncRobots(records=robots, definitions=world.definitions, events=world.definitions),
            clock=lambda: AT,
        ),
    )
    judge = world.failed if error else world.recovered
    robots.lose = TRIES
    with pytest.raises(Transient, match="changed by others all the time"):
        await judge(1)
    robots.lose = TRIES - 1
    await judge(1)
    found = await world.record()
    assert (found.robot.error is not None, found.health_at) == (error, AT + timedelta(seconds=1))


FAILURE = RunFailure(execution_id="e1", at=AT)


@pytest.mark.parametrize("running", [None, 0, 2])
@pytest.mark.parametrize("stored", ["idle", "paused", "maintenance"])
def test_a_status_is_derived_when_a_robot_is_read(stored: str, running: int | None) -> None:  # TG-18
    robot = Robot.model_validate(DEFINITION | WHOSE | {"robot_status": stored})
    state = None
    if running is not None:
        state = RobotState(**WHOSE, status=RobotStatus.IDLE, active=True, running=running, max_running=2, max_queued=9)
    assert recorded_status(robot) == stored
    assert as_read(robot, state).robot_status == ("working" if running else stored)
    failed = robot.model_copy(update={"error": FAILURE})
    assert as_read(failed, state).robot_status == recorded_status(failed) == "error"
    assert failed.robot_status == stored
