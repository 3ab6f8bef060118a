"""The rules of retries: the new trigger, and calls of unknown outcome."""

from datetime import timedelta

import pytest

from rota_common.testing.samples import NOON, a_trigger
from rota_contracts.ids import event_trigger_id, retry_trigger_id
from rota_contracts.messages.execution import ExecStatus, Execution, TaskResult, TaskStatus
from rota_contracts.messages.trigger import ExecutorMode
from rota_contracts.robots.robot import Phase
from rota_contracts.roles import Role
from trigger_gateway.problems import Conflict
from trigger_gateway.runs.retries import check_calls, new_trigger


def a_run(error: str) -> Execution:
    trigger = a_trigger()
    return Execution(
        execution_id="e1",
        team_id=trigger.team_id,
        member_id=trigger.member_id,
        robot_rev=1,
        trigger=trigger,
        executor_mode=ExecutorMode.STANDARD,
        status=ExecStatus.FAILED,
        phase=Phase.RUN,
        created_at=NOON,
        results=[TaskResult(task_id="t", step_id="s", status=TaskStatus.FAILED, error=error)],
    )


def test_the_new_trigger_is_the_old_one_under_a_derived_id() -> None:  # DEC-48
    old = a_trigger("t1", executor_mode="dryrun", robot_rev=1)
    later = NOON + timedelta(days=1)
    new = new_trigger(old, "e1", rev=3, role=Role.OWNER, at=later)
    kept = {"trigger_id", "received_at", "robot_rev", "retry_of"}
    assert new.model_dump(exclude=kept) == old.model_dump(exclude=kept)
    assert (new.robot_rev, new.retry_of, new.received_at) == (3, "e1", later)
    assert new == new_trigger(old, "e1", rev=3, role=Role.MEMBER, at=later)
    assert new.trigger_id != new_trigger(old, "e2", rev=3, role=Role.OWNER, at=later).trigger_id
    assert retry_trigger_id("acme", "e1") != event_trigger_id("acme", "retry", "e1", "ann")


def test_what_a_person_asked_for_is_retried_in_no_higher_role_than_that_of_the_one_who_retries_it() -> None:  # EX-65
    def retried(old: Role | None, by: Role) -> Role | None:
        return new_trigger(a_trigger("t1", role=old), "e1", rev=1, role=by, at=NOON).role

    assert retried(Role.ADMIN, Role.MEMBER) is retried(Role.MEMBER, Role.ADMIN) is Role.MEMBER
    assert retried(None, Role.MEMBER) is None  # the robot's own, as before


def test_a_task_that_ended_with_an_unknown_outcome_needs_force_also_without_its_call() -> None:  # DEC-48
    with pytest.raises(Conflict, match=r"the outcome of a call \(task t, step s\) is unknown"):
        check_calls("e1", a_run("outcome unknown: its worker ended while it called pay"))
    check_calls("e1", a_run("the result was not accepted"))
