"""The rules of interventions."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from rota_contracts.messages.control import InterveneReply, TaskChange
from rota_contracts.messages.trigger import InterventionAction, Message
from trigger_gateway.problems import Conflict, Invalid, NotFound
from trigger_gateway.runs.interventions import Intervention, target_execution, validate_intervention

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
WORDS = {"messages": [Message(content="now")]}
MARK: dict[str, Any] = {
    "plan_time": AT,
    "plan_id": "p1",
    "execution_id": "e1",
    "task": TaskChange(id="t1", description="x"),
    "goal": "Goal 1",
}
TAKES: Mapping[str, set[str]] = {
    "task.add": {"execution_id", "task"},
    "task.cancel": {"execution_id", "task"},
    "task.update": {"execution_id", "task"},
    "goal.adjust": {"execution_id", "goal"},
    "goal.add": {"execution_id", "goal"},
    "goal.complete": {"execution_id", "goal"},
    "goal.cancel": {"execution_id", "goal"},
    "plan.add": {"plan_time"},
    "plan.remove": {"plan_id"},
    "plan.update": {"plan_id", "plan_time"},
    "instruct": {"execution_id"},
}


def wanted(action: str, **fields: Any) -> Intervention:
    return Intervention(InterventionAction(action), **fields)


def wrong_fields(intervention: Intervention) -> list[str]:
    try:
        validate_intervention(intervention)
    except Invalid as problem:
        return [each.field for each in problem.fields] or ["none is named"]
    return []


@pytest.mark.parametrize("action", InterventionAction)
def test_an_action_takes_its_own_fields_and_no_other(action: InterventionAction) -> None:  # TG-07, TG-09, TG-10
    needed = {name: MARK[name] for name in TAKES[action] if name in ("task", "plan_id")}
    for name, value in MARK.items():
        found = wrong_fields(wanted(action, **WORDS | needed | {name: value}))
        assert found == ([] if name in TAKES[action] else [name])


INCOMPLETE: list[tuple[Intervention, str]] = [
    (wanted("task.add"), "messages"),
    (wanted("task.add", messages=[Message(content=" \n")]), "messages"),
    (wanted("task.add", task=TaskChange(executor_id="a")), "messages"),
    (wanted("task.cancel", **WORDS), "task.id"),
    (wanted("task.update", **WORDS, task=TaskChange(description="x")), "task.id"),
    (wanted("task.update", task=TaskChange(id="t1")), "task"),
    (wanted("goal.add", goal="Goal 1"), "messages"),
    (wanted("goal.adjust", goal="Goal 1"), "messages"),
    (wanted("goal.complete"), "goal"),
    (wanted("goal.cancel"), "goal"),
    (wanted("instruct"), "messages"),
    (wanted("instruct", messages=[Message(content=[])]), "messages"),
    (wanted("plan.add", plan_time=AT), "messages"),
    (wanted("plan.remove"), "plan_id"),
    (wanted("plan.update", **WORDS), "plan_id"),
    (wanted("plan.update", plan_id="p1"), "messages"),
]


@pytest.mark.parametrize(("intervention", "field"), INCOMPLETE)
def test_an_incomplete_intervention_is_refused_with_its_field(intervention: Intervention, field: str) -> None:  # TG-10
    assert wrong_fields(intervention) == [field]


def test_a_picture_alone_is_content() -> None:  # TG-08
    picture = Message(content=[{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}])
    assert wrong_fields(wanted("instruct", messages=[picture])) == []


@pytest.mark.parametrize("action", ["task.add", "goal.add", "instruct"])
def test_three_actions_start_a_run_when_none_is_running(action: str) -> None:  # DEC-35
    assert target_execution(wanted(action), InterveneReply()) is None
    assert (
        target_execution(wanted(action), InterveneReply(over="completed")) is None
    )  # the only one ended at this moment


@pytest.mark.parametrize(
    ("intervention", "reply", "problem", "message"),
    [
        (wanted("goal.cancel"), InterveneReply(), Conflict, "no execution of this robot is running"),
        (wanted("goal.cancel"), InterveneReply(over="completed"), Conflict, "no execution of this robot is running"),
        (wanted("instruct"), InterveneReply(candidates=["a", "b"]), Conflict, "choose one as execution_id: a, b"),
        (wanted("instruct", execution_id="a"), InterveneReply(over="failed"), Conflict, "a is failed"),
        (wanted("instruct", execution_id="a"), InterveneReply(), NotFound, "this robot has no execution a"),
        (
            wanted("instruct", execution_id="a"),
            InterveneReply(candidates=["b"]),
            NotFound,
            "this robot has no execution a",
        ),
    ],
)
def test_an_intervention_that_reaches_no_execution_is_refused_with_the_reason(
    intervention: Intervention, reply: InterveneReply, problem: type[Exception], message: str
) -> None:
    with pytest.raises(problem, match=message):
        target_execution(intervention, reply)
