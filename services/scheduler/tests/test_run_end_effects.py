"""The effects of a run's end: changes of the robot's status are published, and a daemon's clock moves on."""

from typing import Any

import pytest
from services.scheduler.tests.harness import OWNER, as_event

from rota_common.testing.samples import MEMBER, NOON, TEAM, a_robot, a_trigger
from rota_contracts.envelope import Event
from rota_contracts.ids import execution_id
from rota_contracts.messages.execution import ExecStatus, ExecutionFinishedV1
from rota_contracts.messages.trigger import RejectReason
from rota_contracts.robots.robot import Robot
from scheduler.dispatching.run_end_effects import RunEndEffects
from scheduler.domain.admission import consider
from scheduler.domain.batch import Batch, Decided, StoredTrigger
from scheduler.domain.queue import EntryState, Refusal
from scheduler.domain.robot_summary import Key, RobotSummary, summary_of

FULL = Refusal(RejectReason.QUEUE_FULL, "10 wait")
FAILURE = {"execution_id": "e0", "message": "it failed", "at": NOON}


def a_daemon(**fields: Any) -> Robot:
    return a_robot(config={"clock": {"mode": "daemon"}}, **fields)


class After:
    """The effects, with recorded facts and clocks; `robot` can be one that can't be read."""

    def __init__(self, robot: Robot | Exception | None) -> None:
        self.robot = robot
        self.published: list[tuple[str, str]] = []
        self.moved: list[tuple[str, bool | None]] = []
        self.away = False
        self.effects = RunEndEffects(robots=self, publisher=self, rearm=self._rearm)  # type: ignore[arg-type]  # it stands in for all three

    async def find(self, team: str, member: str, *, rev: int | None = None) -> RobotSummary | None:
        if isinstance(self.robot, Exception):
            raise self.robot
        return summary_of(self.robot) if self.robot else None

    async def publish_failed(self, end: Event[ExecutionFinishedV1]) -> None:
        if self.away:
            raise ConnectionError("NATS is away")
        self.published.append(("failed", end.data.execution_id))

    async def publish_recovered(self, end: Event[ExecutionFinishedV1]) -> None:
        self.published.append(("recovered", end.data.execution_id))

    async def _rearm(self, key: Key, execution: str, *, failed: bool | None) -> None:
        assert key == (TEAM, MEMBER)
        self.moved.append((execution, failed))

    async def ends(self, *statuses: str) -> list[tuple[str, str]]:
        """Runs end with these statuses, one after another; returns the published facts."""
        for number, status in enumerate(statuses, len(self.published) * 100):
            await self.effects([an_end(f"e{number}", status)], Batch(), [])
        return self.published


def an_end(execution: str, status: str) -> Event[ExecutionFinishedV1]:
    given: dict[str, Any] = {"trigger_id": "", "status": ExecStatus(status), "finished_at": NOON, **OWNER}
    return as_event(ExecutionFinishedV1(execution_id=execution, **given))


async def test_a_failure_and_the_recovery_from_it_are_each_published_once() -> None:  # TG-18
    published = await After(a_robot()).ends("completed", "failed", "failed", "cancelled", "completed", "completed")
    assert published == [("failed", "e1"), ("recovered", "e4")]


async def test_several_ends_at_once_are_judged_in_order() -> None:  # TG-18
    after = After(a_robot())
    await after.effects([an_end("e1", "failed"), an_end("e2", "completed"), an_end("e3", "failed")], Batch(), [])
    assert after.published == [("failed", "e1"), ("recovered", "e2"), ("failed", "e3")]


async def test_the_gateways_status_overrides_the_published_one() -> None:  # TG-18
    after = After(a_robot(error=FAILURE))
    assert await after.ends("failed") == []
    after.robot = a_robot(rev=2)  # its owner has set the status
    assert await after.ends("completed", "failed") == [("failed", "e1")]
    after.robot = a_robot(rev=3, error=FAILURE)
    assert await after.ends("failed", "completed") == [("failed", "e1"), ("recovered", "e101")]


async def test_a_failure_that_could_not_be_published_is_published_when_the_end_is_redelivered() -> None:  # TG-18 F3
    after = After(a_robot())
    after.away = True
    with pytest.raises(ConnectionError):
        await after.ends("failed")
    after.away = False
    assert await after.ends("failed") == [("failed", "e0")]


@pytest.mark.parametrize(("status", "failed"), [("completed", False), ("failed", True), ("cancelled", None)])
async def test_the_end_of_a_daemons_run_moves_its_clock_on(status: str, failed: bool | None) -> None:  # SC-05
    after = After(a_daemon())
    await after.ends(status)
    assert after.moved == [("e0", failed)]


async def test_a_robot_that_is_no_daemon_has_no_clock_to_move_on() -> None:
    after = After(a_robot(config={"clock": {"mode": "interval", "every": "1m"}}))
    await after.ends("completed")
    assert after.moved == []


@pytest.mark.parametrize("robot", [None, ValueError("that is no robot"), ConnectionError("NATS is away")], ids=repr)
async def test_an_end_counts_though_its_robot_can_not_be_read(robot: Exception | None) -> None:
    after = After(robot)
    assert await after.ends("failed", "completed") == []
    assert after.moved == []


async def test_a_daemons_run_that_is_rejected_counts_as_a_failure() -> None:  # SC-05
    after = After(a_daemon())
    clocked, other = a_trigger("t1", "clock"), a_trigger("t2")
    taken = consider(a_trigger("t3", "clock"), summary_of(a_daemon()), now=NOON)
    batch = Batch(
        decided=[
            Decided(clocked, "", FULL, from_clock=True),
            Decided(other, "", FULL),
            Decided(a_trigger("t3", "clock"), "", taken, from_clock=True),
        ]
    )
    await after.effects([], batch, [])
    assert after.moved == [(execution_id("t1"), True)]
    assert after.published == []  # no run has failed


async def test_a_cancelled_run_of_a_daemon_is_followed_by_the_next() -> None:  # SC-05 TG-16
    after = After(a_daemon())
    gone = [
        StoredTrigger(execution_id(name), EntryState.REJECTED, a_trigger(name, kind), "") for name, kind in GONE.items()
    ]
    await after.effects([], Batch(), gone)
    assert after.moved == [(execution_id("t1"), None)]


GONE = {"t1": "clock", "t2": "human"}
