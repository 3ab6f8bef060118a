"""Pausing, resuming and stopping executions, robots and a whole team; replays and deliveries of a run."""

from typing import Any

import pytest

from rota_contracts.messages.control import ControlAction
from rota_contracts.messages.delivery import AttemptDetail, ChannelResult, DeliveryReply, TargetDetail
from rota_contracts.messages.execution import ExecStatus
from trigger_gateway.http.control import PROGRESSIVE

from .harness import Gateway, error_of
from .scheduler import Scheduler
from .stand_ins import AT, DeliveryCenter, Executor

TEAM = "/v1/teams/acme"
E1 = f"{TEAM}/executions/e1"
LEADER = f"{TEAM}/robots/leader"


async def status_of(gateway: Gateway, member: str = "leader") -> str:
    return str((await gateway.call("GET", f"{TEAM}/robots/{member}")).json()["robot_status"])


@pytest.mark.parametrize("action", ControlAction)
async def test_an_execution_is_paused_resumed_or_stopped(
    acme: Gateway, executor: Executor, action: ControlAction
) -> None:  # TG-16
    executor.give("e1", "e2")
    answer = await acme.call("POST", f"{E1}/{action}", json={"reason": "the offer has changed"})
    assert answer.status_code == 202
    message = f"{PROGRESSIVE[action]} 1 execution"
    assert answer.json() == {"execution_ids": ["e1"], "withdrawn": [], "robots": [], "message": message}
    [word] = executor.controls
    assert (word.team_id, word.member_id, word.execution_id) == ("acme", None, "e1")
    assert (word.action, word.reason) == (action, "the offer has changed")


async def test_a_reason_is_optional_and_a_wrong_body_is_refused(acme: Gateway, executor: Executor) -> None:
    executor.give("e1")
    assert (await acme.call("POST", f"{E1}/pause")).status_code == 202
    assert error_of(await acme.call("POST", f"{E1}/pause", json={"raeson": "x"})) == (422, "invalid_request")
    assert error_of(await acme.call("POST", f"{E1}/restart")) == (404, "not_found")
    assert len(executor.controls) == 1


@pytest.mark.parametrize("action", ControlAction)
async def test_a_finished_or_unknown_execution_accepts_no_signal(
    acme: Gateway, executor: Executor, scheduler: Scheduler, action: ControlAction
) -> None:
    executor.give("e1", status=ExecStatus.COMPLETED)
    over = await acme.call("POST", f"{E1}/{action}")
    assert error_of(over) == (409, "execution_over")
    assert "e1 is completed already" in over.text
    assert error_of(await acme.call("POST", f"{TEAM}/executions/e9/{action}")) == (404, "execution_not_found")
    other = await acme.make_team("other")
    foreign = await acme.call("POST", f"/v1/teams/other/executions/e1/{action}", key=other)
    assert error_of(foreign) == (404, "execution_not_found")


async def test_a_queued_execution_is_withdrawn_by_stop(
    acme: Gateway, executor: Executor, scheduler: Scheduler
) -> None:  # F11
    scheduler.queued = ["e1", "e2"]
    answer = await acme.call("POST", f"{E1}/stop", json={"reason": "no"})
    assert answer.status_code == 202
    assert answer.json()["execution_ids"] == answer.json()["withdrawn"] == ["e1"]
    assert scheduler.queued == ["e2"]
    assert scheduler.withdrawals[0].reason == "no"


@pytest.mark.parametrize("action", [ControlAction.PAUSE, ControlAction.RESUME])
async def test_a_queued_execution_can_only_be_stopped(
    acme: Gateway, executor: Executor, scheduler: Scheduler, action: ControlAction
) -> None:
    scheduler.queued = ["e1"]
    answer = await acme.call("POST", f"{E1}/{action}")
    assert error_of(answer) == (409, "not_begun")
    assert "stop withdraws it" in answer.text
    assert scheduler.queued == ["e1"]


@pytest.mark.parametrize("action", ControlAction)
async def test_an_admitted_execution_is_signalled_when_it_arrives(
    acme: Gateway, executor: Executor, scheduler: Scheduler, action: ControlAction
) -> None:  # F11
    executor.give("e1")
    executor.arriving["e1"], scheduler.admitted = 3, ["e1"]
    answer = await acme.call("POST", f"{E1}/{action}")
    assert (answer.status_code, answer.json()["execution_ids"]) == (202, ["e1"])
    assert len(executor.controls) == 4


async def test_a_robot_is_paused_before_its_executions_are(acme: Gateway, executor: Executor) -> None:  # TG-16, TG-18
    executor.give("e1", "e2")
    executor.give("e3", member="second")
    paused = await acme.call("POST", f"{LEADER}/pause")
    assert paused.status_code == 202
    assert (paused.json()["execution_ids"], paused.json()["robots"]) == (["e1", "e2"], ["leader"])
    assert await status_of(acme) == "paused"
    resumed = await acme.call("POST", f"{LEADER}/resume")
    assert (resumed.json()["execution_ids"], resumed.json()["robots"]) == (["e1", "e2"], ["leader"])
    assert await status_of(acme) == "idle"
    assert [word.action for word in executor.controls] == [ControlAction.PAUSE, ControlAction.RESUME]


async def test_a_robot_is_paused_without_an_executor(acme: Gateway) -> None:
    assert error_of(await acme.call("POST", f"{LEADER}/pause")) == (503, "unavailable")
    assert await status_of(acme) == "paused"  # so nothing new starts, and a repeat signals the executions


@pytest.mark.parametrize("action", [ControlAction.PAUSE, ControlAction.RESUME])
async def test_a_robot_in_maintenance_stays_there(acme: Gateway, executor: Executor, action: ControlAction) -> None:
    await acme.call("PATCH", LEADER, json={"robot_status": "maintenance"})
    answer = await acme.call("POST", f"{LEADER}/{action}")
    assert (answer.status_code, answer.json()["robots"]) == (202, [])
    assert await status_of(acme) == "maintenance"


async def test_stopping_a_robot_also_stops_its_queued_and_admitted_executions(
    acme: Gateway, executor: Executor, scheduler: Scheduler
) -> None:  # F11
    executor.give("e1")
    executor.arriving["late"] = 2
    executor.give("late", member="elsewhere")  # not there yet when all of the robot are signalled
    scheduler.queued, scheduler.admitted = ["q1", "q2"], ["e1", "late"]
    answer = (await acme.call("POST", f"{LEADER}/stop")).json()
    assert answer["execution_ids"] == ["e1", "late", "q1", "q2"]
    assert answer["withdrawn"] == ["q1", "q2"]
    assert answer["message"] == "stopping 4 executions, 2 of them queued"
    assert await status_of(acme) == "idle"


async def test_running_executions_are_stopped_without_a_scheduler(acme: Gateway, executor: Executor) -> None:  # F11
    executor.give("e1")
    answer = await acme.call("POST", f"{LEADER}/stop")
    assert error_of(answer) == (503, "unavailable")
    assert "1 executions were stopped, but the scheduler doesn't answer now" in answer.text
    assert [word.action for word in executor.controls] == [ControlAction.STOP]


async def test_queued_executions_are_withdrawn_without_an_executor(acme: Gateway, scheduler: Scheduler) -> None:
    scheduler.queued = ["q1"]
    assert error_of(await acme.call("POST", f"{LEADER}/stop")) == (503, "unavailable")
    assert scheduler.queued == []


@pytest.mark.parametrize("action", ControlAction)
async def test_an_unknown_robot_is_not_found(acme: Gateway, executor: Executor, action: ControlAction) -> None:
    await acme.call("DELETE", LEADER)
    for member in ("leader", "missing"):
        answer = await acme.call("POST", f"{TEAM}/robots/{member}/{action}")
        assert error_of(answer) == (404, "robot_not_found")
    assert executor.controls == []


async def test_resuming_a_team_resumes_only_the_robots_that_its_pause_paused(
    acme: Gateway, executor: Executor
) -> None:  # TG-16
    for member in ("asleep", "serviced", "woken"):
        await acme.make_robot(member)
    await acme.call("PATCH", f"{TEAM}/robots/asleep", json={"robot_status": "paused"})
    await acme.call("PATCH", f"{TEAM}/robots/serviced", json={"robot_status": "maintenance"})
    executor.give("e1")
    executor.give("e2", member="asleep")
    paused = (await acme.call("POST", f"{TEAM}/pause")).json()
    assert (paused["execution_ids"], sorted(paused["robots"])) == (["e1", "e2"], ["leader", "woken"])
    assert [await status_of(acme, each) for each in ("leader", "woken", "serviced")] == [
        "paused",
        "paused",
        "maintenance",
    ]
    await acme.call("POST", f"{TEAM}/robots/woken/resume")
    await acme.call("PATCH", f"{TEAM}/robots/woken", json={"robot_status": "paused"})  # on its own
    assert (await acme.call("POST", f"{TEAM}/pause")).json()["robots"] == []
    resumed = (await acme.call("POST", f"{TEAM}/resume")).json()
    assert resumed["robots"] == ["leader"]
    expected = {"leader": "idle", "asleep": "paused", "woken": "paused", "serviced": "maintenance"}
    assert {member: await status_of(acme, member) for member in expected} == expected
    assert (await acme.call("POST", f"{TEAM}/resume")).json()["robots"] == []
    assert {(word.member_id, word.execution_id) for word in executor.controls if word.member_id is None} == {
        (None, None)
    }


async def test_every_robot_of_a_large_team_is_paused(acme: Gateway, executor: Executor) -> None:
    names = [f"r{number:03}" for number in range(101)]
    for name in names:
        await acme.make_robot(name)
    assert (await acme.call("POST", f"{TEAM}/pause")).json()["robots"] == ["leader", *names]
    assert len((await acme.call("POST", f"{TEAM}/resume")).json()["robots"]) == 102


async def test_a_team_is_stopped(acme: Gateway, executor: Executor, scheduler: Scheduler) -> None:  # F11
    executor.give("e1")
    executor.give("e2", member="second")
    scheduler.queued = ["q1"]
    answer = await acme.call("POST", f"{TEAM}/stop", json={"reason": "wrong prices"})
    assert (answer.status_code, answer.json()["execution_ids"]) == (202, ["e1", "e2", "q1"])
    assert (executor.controls[0].reason, scheduler.withdrawals[0].member_id) == ("wrong prices", None)
    assert await status_of(acme) == "idle"


async def test_an_execution_is_replayed(acme: Gateway, executor: Executor) -> None:
    executor.give("e1", status=ExecStatus.COMPLETED)
    answer = await acme.call("POST", f"{E1}/replay")
    assert answer.status_code == 200
    assert answer.json() == executor.replayed.model_dump(mode="json")
    unknown = await acme.call("POST", f"{TEAM}/executions/e9/replay")
    assert error_of(unknown) == (404, "execution_not_found")


async def test_every_attempt_at_a_delivery_can_be_read(acme: Gateway, empty: Gateway) -> None:  # DC-14
    given: dict[str, Any] = {"type": "webhook", "target": "https://x", "success": False, "delivery_id": "d1"}
    tried = AttemptDetail(at=AT, ok=False, latency_ms=12, error="503")
    target = TargetDetail(result=ChannelResult.model_validate(given), attempts=[tried], next_attempt_at=AT)
    read = DeliveryReply(request_id="d", accepted_at=AT, targets=[target])
    async with DeliveryCenter(read).running(empty.bus):
        answer = await acme.call("GET", f"{E1}/delivery")
        assert DeliveryReply.model_validate(answer.json()) == read
        missing = await acme.call("GET", f"{TEAM}/executions/e2/delivery")
        assert error_of(missing) == (404, "delivery_not_found")


async def test_the_documentation_describes_each_action(acme: Gateway) -> None:
    paths = (await acme.http.get("/openapi.json")).json()["paths"]
    summary = paths["/v1/teams/{team}/pause"]["post"]["summary"]
    assert summary == "Pause a team: its idle robots become paused, nothing new starts, its executions pause"
    scopes = ("/executions/{execution_id}", "/robots/{member}", "")
    assert {f"/v1/teams/{{team}}{scope}/{action}" for scope in scopes for action in ControlAction} <= set(paths)
