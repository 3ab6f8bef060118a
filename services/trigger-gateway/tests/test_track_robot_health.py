"""A robot's error status, in whatever order the reports of its runs and its owner arrive (TG-18, DEC-15)."""

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


class Harness:
    """One robot, created long before anything happens to it."""

    def __init__(self) -> None:
        self.now = AT - timedelta(days=1)
        self.robots, self.definitions = in_memory_stores.InMemoryRobots(), in_memory_stores.InMemoryDefinitions()
        self.sync = SyncRobots(records=self.robots, definitions=self.definitions, events=self.definitions)
        routes = Routes(sources=in_memory_stores.InMemorySources(), robots=self.robots, clock=lambda: self.now)
        self.save = SaveRobot(
            records=self.robots,
            sync=self.sync,
            routes=routes,
            clock=lambda: self.now,
            new_id=lambda: "id",
            history=in_memory_stores.InMemoryRobotHistory(),
        )
        self.health = TrackRobotHealth(records=self.robots, sync=self.sync, clock=lambda: self.now)

    async def failed(self, second: int) -> None:
        at = AT + timedelta(seconds=second)
        await self.health.on_failed(
            event_of(RobotFailedV1(**WHOSE, execution_id=f"e{second}", message="no model", at=at))
        )

    async def recovered(self, second: int) -> None:
        await self.health.on_recovered(
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
        """The execution of the error; the published copy is the same."""
        robot = (await self.record()).robot
        assert self.definitions.robots["acme", "leader"] == robot
        return robot.error.execution_id if robot.error else None


@pytest.fixture
async def harness() -> Harness:
    made = Harness()
    await made.save.create("acme", DEFINITION)
    return made


def event_of(data: P) -> Event[P]:
    return Event(id="e", type="", source="executor", time=AT, data=data)


Report = Callable[[Harness, int], Awaitable[None]]
REPORTS: dict[str, tuple[list[Report], str | None]] = {
    "failed last": ([Harness.failed, Harness.recovered, Harness.failed], "e2"),
    "recovered last": ([Harness.failed, Harness.failed, Harness.recovered], None),
    "never failed": ([Harness.recovered, Harness.recovered, Harness.recovered], None),
}
"""Reports at second 0, 1 and 2, and the error that they leave."""


@pytest.mark.parametrize("order", [*permutations(range(3))], ids=str)
@pytest.mark.parametrize("name", REPORTS)
async def test_the_newest_report_wins_in_any_order_and_doubled(
    harness: Harness, name: str, order: tuple[int, ...]
) -> None:
    says, expected = REPORTS[name]
    for second in order:
        for _ in range(2):
            await says[second](harness, second)
    assert await harness.error() == expected
    rev = (await harness.record()).robot.rev
    for second, say in enumerate(says):
        await say(harness, second)
    assert ((await harness.record()).robot.rev, await harness.error()) == (rev, expected)


async def test_a_late_report_of_a_run_does_not_undo_the_owners_change(harness: Harness) -> None:  # DEC-15
    await harness.failed(1)
    for status in ("idle", "paused", "maintenance"):
        await harness.failed(2)
        await harness.owner(5, status)
        robot = (await harness.record()).robot
        assert (robot.error, robot.robot_status) == (None, status)
        await harness.failed(4)
        await harness.failed(5)
        assert (await harness.record()).robot == robot
        harness.now = AT
    await harness.failed(6)
    assert await harness.error() == "e6"


async def test_an_owners_change_to_the_same_status_still_voids_earlier_reports(harness: Harness) -> None:
    rev = (await harness.record()).robot.rev
    await harness.owner(5)
    await harness.failed(4)
    assert (await harness.error(), (await harness.record()).robot.rev) == (None, rev)


async def test_another_change_keeps_the_error_and_its_instant(harness: Harness) -> None:
    await harness.failed(5)
    harness.now = AT + timedelta(seconds=9)
    await harness.save.change("acme", "leader", {"display_name": "Leo"})
    await harness.save.replace("acme", "leader", DEFINITION)
    assert await harness.error() == "e5"
    await harness.recovered(4)
    assert await harness.error() == "e5"
    await harness.recovered(6)
    assert await harness.error() is None


async def test_a_slow_clock_does_not_bring_an_error_back(harness: Harness) -> None:
    await harness.failed(5)
    await harness.owner(3)  # by a gateway whose clock is late
    await harness.failed(5)
    assert await harness.error() is None


async def test_a_deleted_or_recreated_robot_has_no_old_errors(harness: Harness) -> None:
    harness.now = AT + timedelta(seconds=2)
    await harness.save.delete("acme", "leader")
    gone = await harness.record()
    await harness.failed(3)
    assert await harness.record() == gone
    harness.now = AT + timedelta(seconds=4)
    await harness.save.create("acme", DEFINITION)
    await harness.failed(3)
    assert await harness.error() is None
    await harness.failed(5)
    assert await harness.error() == "e5"


async def test_a_change_that_cannot_be_published_is_published_by_the_sweep(harness: Harness) -> None:
    harness.definitions.breaks = True
    with pytest.raises(Transient):
        await harness.failed(1)
    harness.definitions.breaks = False
    await harness.failed(1)  # delivered again: it is saved already
    assert await harness.sync.sweep() == 1
    assert await harness.error() == "e1"
    assert [rev for _, rev, _ in harness.definitions.published] == [1, 2]


class Contended(in_memory_stores.InMemoryRobots):
    """Another writer changes the robot between each read and each write, `lose` times."""

    lose = 0

    async def replace(self, record: RobotRecord, *, expected: RobotRecord) -> bool:
        self.lose -= 1
        return self.lose < 0 and await super().replace(record, expected=expected)

    async def note_health(self, record: RobotRecord, at: datetime) -> bool:
        self.lose -= 1
        return self.lose < 0 and await super().note_health(record, at)


@pytest.mark.parametrize("error", [True, False])
async def test_a_report_is_applied_again_after_a_concurrent_change(error: bool) -> None:
    harness, robots = Harness(), Contended()
    await robots.insert(RobotRecord(Robot.model_validate(DEFINITION | WHOSE), AT))
    harness.robots, harness.health = (
        robots,
        TrackRobotHealth(
            records=robots,
            sync=SyncRobots(records=robots, definitions=harness.definitions, events=harness.definitions),
            clock=lambda: AT,
        ),
    )
    judge = harness.failed if error else harness.recovered
    robots.lose = TRIES
    with pytest.raises(Transient, match="changed by others all the time"):
        await judge(1)
    robots.lose = TRIES - 1
    await judge(1)
    found = await harness.record()
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
    assert as_read(robot, state).robot_status == ("working" if running and stored != "paused" else stored)
    failed = robot.model_copy(update={"error": FAILURE})
    assert as_read(failed, state).robot_status == recorded_status(failed) == "error"
    assert failed.robot_status == stored
