"""Retries: a rejected or failed execution runs again as a new one, which is linked to it."""

from typing import Any

import pytest

from rota_contracts.ids import execution_id, retry_trigger_id
from rota_contracts.messages.backlog import FullBacklog
from rota_contracts.messages.conversation import Round, ToolStatus, ToolUse, Turn
from rota_contracts.messages.execution import (
    ExecStatus,
    Execution,
    TaskResult,
    TaskStatus,
    TriggerReply,
    TriggerState,
)
from rota_contracts.messages.trigger import RejectReason, TriggerInput, TriggerReceivedV1, TriggerType

from .harness import TEAM, Gateway, error_of, fields_of
from .scheduler import Scheduler
from .stand_ins import AT, Executor, execution

RETRY = f"{TEAM}/executions/e1/retry"
RANGE = f"{TEAM}/executions/retry"
GIVEN = TriggerInput(source="leads", event_type="lead.created", data={"name": "Ada"})


def old(name: str = "e1", member: str = "leader") -> TriggerReceivedV1:
    return TriggerReceivedV1(
        team_id="acme",
        member_id=member,
        trigger_id=f"t-{name}",
        type=TriggerType.EVENT,
        input=GIVEN,
        received_at=AT,
        locale="de-DE",
        robot_rev=1,
    )


def rejected(name: str = "e1", reason: RejectReason = RejectReason.TRIGGER_DISABLED, **fields: str) -> TriggerReply:
    trigger = old(name, **fields)
    return TriggerReply(
        trigger_id=trigger.trigger_id, state=TriggerState.REJECTED, message="no", reason=reason, trigger=trigger
    )


def done(name: str = "e1", status: ExecStatus = ExecStatus.FAILED) -> TriggerReply:
    return TriggerReply(trigger_id=f"t-{name}", state=TriggerState.DONE, status=status, trigger=old(name))


def called(status: ToolStatus, error: str | None = None) -> Execution:
    """A failed run that has called a tool once."""
    use = ToolUse(step_id="s1", name="pay", server="crm", tool="pay", status=status, error=error)
    turn = Turn(number=1, rounds=[Round(uses=[use])])
    result = TaskResult(task_id="task-1", step_id="s0", status=TaskStatus.FAILED, turns=[turn])
    return execution(status=ExecStatus.FAILED).model_copy(update={"results": [result]})


async def test_a_rejected_event_is_a_new_run_on_the_robots_current_revision(
    acme: Gateway, scheduler: Scheduler
) -> None:  # DEC-48
    await acme.call("PATCH", f"{TEAM}/robots/leader", json={"display_name": "mended"})
    scheduler.ended["e1"] = rejected()
    answer = await acme.call("POST", RETRY)
    assert answer.status_code == 202, answer.text
    [trigger] = scheduler.seen
    assert answer.json() == {
        "execution_id": execution_id(trigger.trigger_id),
        "trigger_id": trigger.trigger_id,
        "retry_of": "e1",
        "repeated": False,
        "state": "queued",
        "message": "queued",
        "status_url": f"{TEAM}/triggers/{trigger.trigger_id}",
    }
    assert (trigger.retry_of, trigger.robot_rev) == ("e1", 2)
    assert (trigger.type, trigger.input, trigger.locale) == (TriggerType.EVENT, GIVEN, "de-DE")
    assert trigger.trigger_id == retry_trigger_id("acme", "e1") != "t-e1"
    assert trigger.received_at > AT


async def test_pressed_twice_it_is_the_same_new_run(acme: Gateway, scheduler: Scheduler) -> None:
    scheduler.ended["e1"] = rejected()
    first = await acme.call("POST", RETRY)
    again = await acme.call("POST", RETRY, json={})
    assert (first.status_code, again.status_code) == (202, 200)
    assert again.json()["execution_id"] == first.json()["execution_id"]
    assert (again.json()["repeated"], again.json()["state"]) == (True, "running")
    assert len(acme.triggers()) == 1
    new = first.json()["execution_id"]
    scheduler.ended[new] = rejected(new)
    assert f"to run it again, retry {new}" in (await acme.call("POST", RETRY)).json()["message"]
    chained = await acme.call("POST", f"{TEAM}/executions/{new}/retry")
    assert (chained.status_code, chained.json()["retry_of"]) == (202, new)


@pytest.mark.parametrize(
    ("read", "answer"),
    [
        (None, (404, "execution_not_found")),
        (TriggerReply(trigger_id="t", state=TriggerState.RUNNING, trigger=old()), (409, "execution_goes_on")),
        (TriggerReply(trigger_id="t", state=TriggerState.PARKED, trigger=old()), (409, "execution_goes_on")),
        (done(status=ExecStatus.COMPLETED), (409, "execution_completed")),
        (rejected(reason=RejectReason.FAILED), (409, "dead_letter")),
        (rejected(member="missing"), (404, "robot_not_found")),
        (TriggerReply(trigger_id="t", state=TriggerState.REJECTED), (503, "unavailable")),  # of an older scheduler
    ],
)
async def test_what_can_not_run_again_is_refused_with_the_reason(
    acme: Gateway, scheduler: Scheduler, read: TriggerReply | None, answer: tuple[int, str]
) -> None:
    if read is not None:
        scheduler.ended["e1"] = read
    assert error_of(await acme.call("POST", RETRY, json={"force": True})) == answer
    assert acme.triggers() == []


@pytest.mark.parametrize(
    "call",
    [
        (ToolStatus.UNKNOWN, "outcome unknown"),
        (ToolStatus.FAILED, "no answer within 60 s: outcome unknown"),
        (ToolStatus.STARTED, None),
    ],
)
async def test_a_call_of_unknown_outcome_is_named_and_needs_force(
    acme: Gateway, scheduler: Scheduler, executor: Executor, call: Any
) -> None:  # DEC-48
    scheduler.ended["e1"] = done()
    executor.has.append(called(*call))
    refused = await acme.call("POST", RETRY)
    assert error_of(refused) == (409, "unknown_outcome")
    assert "crm.pay (task task-1, step s1)" in refused.json()["error"]["message"]
    assert acme.triggers() == []
    assert (await acme.call("POST", RETRY, json={"force": True})).status_code == 202


async def test_a_failed_or_stopped_run_without_such_calls_runs_again(
    acme: Gateway, scheduler: Scheduler, executor: Executor
) -> None:
    for status in (ExecStatus.FAILED, ExecStatus.CANCELLED):
        scheduler.ended[status] = done(status, status)
        executor.has.append(called(ToolStatus.FAILED, "no such customer").model_copy(update={"execution_id": status}))
        assert (await acme.call("POST", f"{TEAM}/executions/{status}/retry")).status_code == 202, status
    scheduler.ended["e1"] = done()  # the executor has no record of it
    assert error_of(await acme.call("POST", RETRY)) == (409, "unknown_outcome")


async def test_a_retry_takes_the_usual_way_in(acme: Gateway, scheduler: Scheduler) -> None:
    scheduler.ended["e1"] = rejected()
    full = FullBacklog(team_id="acme", member_id="leader", waiting=1000)
    acme.use.backlogs.full = {("acme", "leader"): full}
    blocked = await acme.call("POST", RETRY)
    assert (*error_of(blocked), "retry-after" in blocked.headers) == (429, "backlog_full", True)
    acme.use.backlogs.full = {}
    scheduler.refuses = RejectReason.NOT_AUTONOMOUS
    refused = await acme.call("POST", RETRY)
    assert error_of(refused) == (409, "not_autonomous")
    assert execution_id(retry_trigger_id("acme", "e1")) in refused.json()["error"]["message"]


async def test_a_dry_run_starts_nothing(acme: Gateway, scheduler: Scheduler) -> None:
    scheduler.ended["e1"] = rejected()
    assert (await acme.call("POST", RETRY, json={"dry_run": True})).json()["state"] == "unknown"
    page = (await acme.call("POST", RANGE, json={"status": "rejected", "dry_run": True})).json()
    assert [each["retry_of"] for each in page["retried"]] == ["e1"]
    assert acme.triggers() == []


async def test_of_a_range_one_that_can_not_run_again_stops_no_other(
    acme: Gateway, scheduler: Scheduler, executor: Executor
) -> None:  # DEC-48
    scheduler.ended = {
        "e1": rejected(),
        "e2": rejected("e2", RejectReason.FAILED),
        "e3": rejected("e3", member="missing"),
        "e4": done("e4"),
        "e5": rejected("e5"),
    }
    executor.has.append(called(ToolStatus.UNKNOWN).model_copy(update={"execution_id": "e4"}))
    wanted: dict[str, Any] = {"since": AT.isoformat(), "limit": 3}
    first = (await acme.call("POST", RANGE, json=wanted)).json()
    second = (await acme.call("POST", RANGE, json=wanted | {"after": first["next"]})).json()
    assert [each["retry_of"] for page in (first, second) for each in page["retried"]] == ["e1", "e5"]
    assert {each["execution_id"]: each["code"] for page in (first, second) for each in page["refused"]} == {
        "e2": "dead_letter",
        "e3": "robot_not_found",
        "e4": "unknown_outcome",
    }
    assert second["next"] == ""
    assert len(acme.triggers()) == 2


async def test_a_walk_over_pages_does_not_meet_what_is_rejected_meanwhile(acme: Gateway, scheduler: Scheduler) -> None:
    scheduler.ended = {"e1": rejected()}
    first = (await acme.call("POST", RANGE, json={"status": "rejected", "limit": 1})).json()
    [new] = first["retried"]
    late = rejected("late")
    assert late.trigger is not None
    now = acme.use.clock()
    scheduler.ended[new["execution_id"]] = late.model_copy(
        update={"trigger": late.trigger.model_copy(update={"received_at": now})}
    )
    wanted = {"status": "rejected", "limit": 1, "after": first["next"]}
    second = (await acme.call("POST", RANGE, json=wanted)).json()
    assert (second["retried"], second["refused"], second["next"]) == ([], [], "")


async def test_a_range_needs_a_condition_and_a_mark_of_an_earlier_answer(acme: Gateway, scheduler: Scheduler) -> None:
    assert "at least one of" in fields_of(await acme.call("POST", RANGE, json={}))["since"]
    for after in ("x", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00~1"):
        wrong = await acme.call("POST", RANGE, json={"status": "failed", "after": after})
        assert list(fields_of(wrong)) == ["after"], after


async def test_members_retry_and_the_trail_names_both_executions(acme: Gateway, scheduler: Scheduler) -> None:
    scheduler.ended["e1"] = rejected()
    viewer, member = await acme.make_key("viewer"), await acme.make_key("member")
    assert error_of(await acme.call("POST", RETRY, key=viewer)) == (403, "role_too_low")
    new = (await acme.call("POST", RETRY, key=member, json={"force": True})).json()["execution_id"]
    entry = (await acme.call("GET", f"{TEAM}/audit")).json()["entries"][0]
    assert (entry["action"], entry["on"]) == (
        "retry_execution",
        {"execution_id": new, "retry_of": "e1", "fields": "force"},
    )
