"""The state of robots: as the scheduler reports it, and in error after failed runs (TG-18, TG-22, DEC-15)."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rota_contracts.catalog import ROBOT_CHANGED, ROBOT_FAILED, ROBOT_RECOVERED, Channel
from rota_contracts.messages.robot_facts import RobotFailedV1, RobotRecoveredV1
from rota_contracts.messages.robot_state import RobotState
from rota_contracts.robots.robot import RobotStatus, RunFailure

from .harness import TEAM, Gateway, error_of, fields_of
from .scheduler import Scheduler
from .stand_ins import Executor
from .test_robots import LEADER, ROBOTS

WHOSE: dict[str, Any] = {"team_id": "acme", "member_id": "leader"}
SOON = datetime(2030, 1, 1, 9, 0, tzinfo=UTC)


def state(member: str = "leader", **fields: Any) -> RobotState:
    given: dict[str, Any] = {"status": "idle", "active": True, "max_running": 2, "max_queued": 10}
    return RobotState.model_validate({"team_id": "acme", "member_id": member} | given | fields)


async def status_of(gateway: Gateway, member: str = "leader") -> tuple[str, str]:
    """As one robot is read, and as it is listed."""
    listed = (await gateway.call("GET", ROBOTS)).json()["robots"]
    one = (await gateway.call("GET", f"{ROBOTS}/{member}")).json()
    return one["robot_status"], next(each["robot_status"] for each in listed if each["member_id"] == member)


async def test_a_robots_state_is_read_from_the_scheduler(acme: Gateway, scheduler: Scheduler) -> None:  # TG-22
    upcoming = [SOON + timedelta(hours=hour) for hour in range(3)]
    scheduler.states["leader"] = state(running=1, running_ids=["e1"], queued=3, next_run=SOON, upcoming=upcoming)
    answer = await acme.call("GET", f"{LEADER}/status", params={"upcoming": 3})
    assert RobotState.model_validate(answer.json()) == scheduler.states["leader"]
    await acme.call("GET", f"{LEADER}/status")
    assert [(each.member_ids, each.upcoming) for each in scheduler.looked] == [(["leader"], 3), (["leader"], 5)]
    assert error_of(await acme.call("GET", f"{ROBOTS}/missing/status")) == (404, "robot_not_found")
    assert list(fields_of(await acme.call("GET", f"{LEADER}/status", params={"upcoming": 101}))) == ["upcoming"]


async def test_the_next_runs_of_a_robot_are_read_with_its_clock_in_words(acme: Gateway, scheduler: Scheduler) -> None:
    words, upcoming = "every 1 hour, counted from when the clock was set", [SOON, SOON + timedelta(hours=1)]
    scheduler.states["leader"] = state(clock=words, upcoming=upcoming)
    answer = await acme.call("GET", f"{LEADER}/next", params={"count": 2})
    assert answer.json() == {
        "member_id": "leader",
        "clock": words,
        "upcoming": ["2030-01-01T09:00:00Z", "2030-01-01T10:00:00Z"],
    }
    assert scheduler.looked[-1].upcoming == 2
    assert list(fields_of(await acme.call("GET", f"{LEADER}/next", params={"count": 0}))) == ["count"]


async def test_without_a_scheduler_a_state_is_a_503_and_robots_are_still_read(acme: Gateway) -> None:
    for path in ("status", "next"):
        answer = await acme.call("GET", f"{LEADER}/{path}")
        assert error_of(answer) == (503, "unavailable")
        assert "the scheduler doesn't answer now" in answer.text
    page = (await acme.call("GET", ROBOTS)).json()
    assert (page["states"], page["total"]) == ([], 1)
    assert await status_of(acme) == ("idle", "idle")


async def test_a_robot_unknown_to_the_scheduler_has_no_state_yet(acme: Gateway, scheduler: Scheduler) -> None:
    answer = await acme.call("GET", f"{LEADER}/status")
    assert error_of(answer) == (503, "unavailable")
    assert "doesn't know robot leader yet" in answer.text


async def test_a_page_of_robots_is_one_request_to_the_scheduler(acme: Gateway, scheduler: Scheduler) -> None:  # TG-18
    for name in ("second", "third"):
        await acme.make_robot(name)
    scheduler.states = {"leader": state(running=2), "third": state("third")}
    page = (await acme.call("GET", ROBOTS)).json()
    assert [RobotState.model_validate(each) for each in page["states"]] == list(scheduler.states.values())
    assert [each["robot_status"] for each in page["robots"]] == ["working", "idle", "idle"]
    assert [each.member_ids for each in scheduler.looked] == [["leader", "second", "third"]]


async def test_working_is_derived_and_never_written(acme: Gateway, scheduler: Scheduler) -> None:  # TG-18
    scheduler.states["leader"] = state(running=1)
    assert await status_of(acme) == ("working", "working")
    changed = (await acme.call("PATCH", LEADER, json={"display_name": "Leo"})).json()
    assert changed["robot_status"] == "idle"
    there = acme.published()
    assert there is not None
    assert there.robot_status is RobotStatus.IDLE


async def test_a_paused_robot_reads_paused_while_its_runs_end_their_step(acme: Gateway, scheduler: Scheduler) -> None:
    scheduler.states["leader"] = state(running=1)  # DEC-16 TG-18
    await acme.call("PATCH", LEADER, json={"robot_status": "paused"})
    assert await status_of(acme) == ("paused", "paused")
    await acme.call("PATCH", LEADER, json={"robot_status": "maintenance"})
    assert await status_of(acme) == ("working", "working")


async def publish(scheduler: Scheduler, fact: RobotFailedV1 | RobotRecoveredV1, cause: str) -> None:
    channel: Channel[Any] = ROBOT_FAILED if isinstance(fact, RobotFailedV1) else ROBOT_RECOVERED
    await scheduler.service.publish(channel, fact, caused_by=cause)


async def failed(scheduler: Scheduler, at: datetime, *, member: str = "leader", cause: str = "e1") -> None:
    whose = WHOSE | {"member_id": member}
    await publish(scheduler, RobotFailedV1(**whose, execution_id="e1", message="no model", at=at), cause)


async def recovered(scheduler: Scheduler, at: datetime, *, cause: str = "e2") -> None:
    await publish(scheduler, RobotRecoveredV1(**WHOSE, execution_id="e2", at=at), cause)


async def test_a_robot_is_in_error_from_its_failed_run_to_the_next_that_completes(
    acme: Gateway, scheduler: Scheduler
) -> None:  # TG-18
    scheduler.states["leader"] = state(running=1)
    await failed(scheduler, SOON)
    await acme.bus.settled()
    assert await status_of(acme) == ("error", "error")
    there = acme.published()
    assert there is not None
    expected = RunFailure(execution_id="e1", message="no model", at=SOON)
    assert (there.rev, there.robot_status, there.error) == (2, RobotStatus.IDLE, expected)
    assert (await acme.call("GET", LEADER)).json()["error"]["message"] == "no model"
    await recovered(scheduler, SOON + timedelta(seconds=1))
    await acme.bus.settled()
    assert await status_of(acme) == ("working", "working")
    facts = acme.bus.facts(ROBOT_CHANGED)
    changes = [(fact.data.rev, fact.data.robot_status, fact.data.created) for fact in facts]
    assert changes == [(1, "idle", True), (2, "error", False), (3, "idle", False)]


async def test_repeated_and_late_facts_of_a_run_change_nothing(acme: Gateway, scheduler: Scheduler) -> None:
    await recovered(scheduler, SOON)
    await acme.bus.settled()
    for number in range(3):
        await failed(scheduler, SOON - timedelta(microseconds=1), cause=f"again {number}")
    await acme.bus.settled()
    assert (await acme.call("GET", LEADER)).json()["rev"] == 1
    for number in range(3):
        await failed(scheduler, SOON + timedelta(microseconds=1), cause=f"later {number}")
    await acme.bus.settled()
    robot = (await acme.call("GET", LEADER)).json()
    assert (robot["rev"], robot["robot_status"]) == (2, "error")


@pytest.mark.parametrize("status", ["idle", "paused", "maintenance"])
async def test_the_owner_ends_an_error_by_setting_the_status(
    acme: Gateway, scheduler: Scheduler, status: str
) -> None:  # DEC-15
    past = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
    await acme.make_robot("second")
    after = acme.app.service.runtime.clock() + timedelta(milliseconds=1)  # later than its creation
    await failed(scheduler, after, member="second")
    await acme.bus.settled()
    second = f"{ROBOTS}/second"
    kept = (await acme.call("PATCH", second, json={"display_name": "Sue"})).json()
    assert (kept["robot_status"], kept["error"]["execution_id"]) == ("error", "e1")
    patched = (await acme.call("PATCH", second, json={"robot_status": status})).json()
    assert (patched["robot_status"], patched["error"], patched["rev"]) == (status, None, 4)
    await failed(scheduler, past, member="second", cause="a late one")
    await acme.bus.settled()
    assert (await acme.call("GET", second)).json() == patched
    facts = [fact.data for fact in acme.bus.facts(ROBOT_CHANGED) if fact.data.member_id == "second"]
    assert [fact.robot_status for fact in facts] == ["idle", "error", "error", status]


async def test_a_failure_of_a_robot_that_is_gone_changes_nothing(acme: Gateway, scheduler: Scheduler) -> None:
    await acme.call("DELETE", LEADER)
    await failed(scheduler, SOON)
    await failed(scheduler, SOON, member="missing", cause="e3")
    await acme.bus.settled()
    there = acme.published()
    assert there is not None
    assert (there.rev, there.error) == (2, None)
    assert acme.published("missing") is None


async def test_a_teams_pause_also_pauses_the_robots_that_are_in_error(
    acme: Gateway, scheduler: Scheduler, executor: Executor
) -> None:  # TG-16
    await acme.make_robot("second")
    await failed(scheduler, acme.app.service.runtime.clock())
    await acme.bus.settled()
    answer = await acme.call("POST", f"{TEAM}/pause")
    assert answer.json()["robots"] == ["leader", "second"]
    assert await status_of(acme) == await status_of(acme, "second") == ("paused", "paused")
    answer = await acme.call("POST", f"{TEAM}/resume")
    assert answer.json()["robots"] == ["leader", "second"]
    assert await status_of(acme) == ("idle", "idle")


@pytest.mark.parametrize(("action", "status"), [("pause", "paused"), ("resume", "idle")])
async def test_pausing_or_resuming_a_robot_in_error_sets_its_status(
    acme: Gateway, scheduler: Scheduler, executor: Executor, action: str, status: str
) -> None:  # DEC-15
    await failed(scheduler, acme.app.service.runtime.clock())
    await acme.bus.settled()
    answer = await acme.call("POST", f"{LEADER}/{action}")
    assert answer.json()["robots"] == ["leader"]
    assert await status_of(acme) == (status, status)
