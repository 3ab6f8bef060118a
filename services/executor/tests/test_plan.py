"""From what a planner writes to tasks that can run."""

import json
from typing import Any

import pytest

from executor.domain.planning.parsing import UnusableAnswer
from executor.domain.planning.plan import MAX_TASKS, plan
from rota_common.testing.samples import a_robot
from rota_contracts.messages.execution import ExecutorType, Task, TaskSource
from rota_contracts.messages.trigger import TriggerType
from rota_contracts.robots.robot import Robot

TWO = ["experts.text-writer", "experts.lead-scorer"]


def robot(*agents: str) -> Robot:
    return a_robot(config={"resources": {"agents": list(agents)}} | {"identity": {"role": "Analyst"}})


def planned(
    *tasks: Any, agents: list[str] = TWO, trigger: TriggerType = TriggerType.CLOCK
) -> tuple[list[Task], list[str]]:
    found = plan(json.dumps({"tasks": list(tasks)}), robot=robot(*agents), trigger=trigger)
    assert not isinstance(found, str)
    return found


def raw(executor_id: str | None = "experts.text-writer", **fields: Any) -> dict[str, Any]:
    given = {"description": "Write it"} | ({} if executor_id is None else {"executor_id": executor_id})
    return given | fields


def refused(*tasks: Any, **given: Any) -> str:
    with pytest.raises(UnusableAnswer) as refusal:
        planned(*tasks, **given)
    return str(refusal.value)


def test_a_right_plan_is_taken_as_it_is() -> None:  # EX-16 EX-18
    rules = [{"type": "contains", "value": "total"}, "It must be polite."]
    whole = raw(id="write", goal_ref="Goal 1", expected_output="a text", args=[1, "b"], validation_rules=rules)
    (task,), notes = planned(whole)
    assert notes == []
    assert (task.id, task.goal_ref, task.expected_output, task.args, task.order) == (
        "write",
        "Goal 1",
        "a text",
        [1, "b"],
        1,
    )
    assert [rule if isinstance(rule, str) else rule.type for rule in task.validation_rules] == [
        "contains",
        "It must be polite.",
    ]
    assert (task.executor_type, task.executor_id) == (ExecutorType.ASSISTANT, "experts.text-writer")


def test_a_plan_is_found_in_whatever_is_around_it(subtests: pytest.Subtests) -> None:  # CL-22
    cases = [
        'Here is the plan:\n```json\n{"tasks": [TASK]}\n```\nGood luck!',
        "```\n[TASK]\n```",
        'Sure [1]! {"tasks": [TASK]} That is all.',
        "[TASK]",
        "TASK",
    ]
    for text in cases:
        with subtests.test(text=text):
            found = plan(text.replace("TASK", json.dumps(raw())), robot=robot(*TWO), trigger=TriggerType.CLOCK)
            assert not isinstance(found, str)
            tasks, _ = found
            assert [task.description for task in tasks] == ["Write it"]


def test_what_is_no_plan_is_refused_with_what_was_expected(subtests: pytest.Subtests) -> None:
    cases = [
        ("I can't plan this.", "expected a plan as JSON"),
        ('{"tasks": "write"}', "expected a plan as JSON"),
        ('{"tasks": null}', "expected a plan as JSON"),
        ('{"steps": []}', "expected a plan as JSON"),
        ('["write", "send"]', "expected a plan as JSON"),
        ("42", "expected a plan as JSON"),
        ("", "expected a plan as JSON"),
        ('{"tasks": []}', "expected at least one task"),
        ("[]", "expected at least one task"),
    ]
    for text, reason in cases:
        with subtests.test(text=text, reason=reason):
            with pytest.raises(UnusableAnswer, match=reason) as refusal:
                plan(text, robot=robot(*TWO), trigger=TriggerType.CLOCK)
            assert '"tasks"' in str(refusal.value)  # the agent is shown the form


def test_too_many_tasks_are_refused() -> None:
    assert len(planned(*[raw()] * MAX_TASKS)[0]) == MAX_TASKS
    assert refused(*[raw()] * (MAX_TASKS + 1)) == f"expected at most {MAX_TASKS} tasks, got {MAX_TASKS + 1}"


def test_tasks_without_ids_get_some() -> None:
    tasks, notes = planned(raw(), raw(id=""), raw(id=7))
    assert [task.id for task in tasks] == ["task-1", "task-2", "7"]
    assert notes == []


def test_a_second_task_of_the_same_id_is_renamed_and_noted() -> None:
    tasks, notes = planned(raw(id="a"), raw(id="a"), raw(id="a"), raw(id="task-2"), raw())
    assert [task.id for task in tasks] == ["a", "a-2", "a-3", "task-2", "task-5"]
    assert notes == ["plan: a second task called a is now a-2", "plan: a second task called a is now a-3"]


def test_tasks_run_in_the_order_of_the_list() -> None:  # EX-16
    tasks, _ = planned(raw(id="x"), raw(id="y"))
    assert [(task.id, task.order) for task in tasks] == [("x", 1), ("y", 2)]


def test_a_plan_that_numbers_its_tasks_is_run_by_its_numbers() -> None:  # EX-16
    tasks, _ = planned(raw(id="second", order=20), raw(id="first", order=3), raw(id="third", order=20))
    assert [(task.id, task.order) for task in tasks] == [("first", 1), ("second", 2), ("third", 3)]


def test_a_plan_that_numbers_only_some_is_run_as_it_is_listed() -> None:
    tasks, _ = planned(raw(id="x", order=2), raw(id="y"), raw(id="z", order="first"))
    assert [task.id for task in tasks] == ["x", "y", "z"]


def test_what_is_null_is_what_is_missing() -> None:
    nothing = {"id": None, "expected_output": None, "validation_rules": None, "args": None, "executor_type": None}
    (task,), _ = planned(raw(**nothing))
    assert (task.id, task.expected_output, task.validation_rules, task.args) == ("task-1", "", [], [])


def test_an_assistant_named_in_part_is_found_and_the_change_noted(subtests: pytest.Subtests) -> None:
    for asked in ["writer", "text-writer", "TEXT_WRITER", "Text Writer", "the experts.text-writer agent"]:
        with subtests.test(asked=asked):
            (task,), notes = planned(raw(asked))
            assert task.executor_id == "experts.text-writer"
            assert notes == [f"plan: task task-1 asked for {asked}, given to assistant experts.text-writer"]


def test_an_ambiguous_assistant_is_refused_with_the_names(subtests: pytest.Subtests) -> None:  # EX-26
    for asked in ["experts", "someone", "", None]:
        with subtests.test(asked=asked):
            reason = f"task task-1 names {asked or ''!r}, which this robot doesn't have"
            assert (
                refused(raw(asked)) == f"{reason}: it has assistant experts.text-writer, assistant experts.lead-scorer"
            )


@pytest.mark.parametrize("asked", ["someone", "", None])
def test_a_robot_with_one_assistant_uses_it_for_everything(asked: str | None) -> None:
    (task,), notes = planned(raw(asked), agents=["experts.text-writer"])
    assert task.executor_id == "experts.text-writer"
    assert notes == [f"plan: task task-1 asked for {asked or 'no executor'}, given to assistant experts.text-writer"]


def test_a_robot_without_assistants_does_its_tasks_itself() -> None:
    (task,), _ = planned(raw("rota.run"), agents=[])
    assert task.executor_id == "rota.run"


def test_a_rule_names_no_agent_that_the_robot_does_not_have() -> None:  # EX-26
    rules = [{"type": "agent", "use": name} for name in ("experts.text-writer", "rota.validation")]
    (task,), _ = planned(raw(validation_rules=[*rules, {"type": "agent"}]))
    assert len(task.validation_rules) == 3
    (task,), notes = planned(raw(validation_rules=[{"type": "agent", "use": "some.other.agent"}, *rules]))
    assert len(task.validation_rules) == 2
    why = "this robot doesn't have agent 'some.other.agent'"
    assert [note.partition(": {")[0] for note in notes] == [f"plan: a rule of task task-1 is left out, {why}"]


def test_a_task_that_can_not_be_read_is_refused_with_its_field() -> None:
    reason = refused(raw(), raw(description=[7]))
    assert reason.startswith("task task-2 of the plan can't be read: description")


@pytest.mark.parametrize(
    ("trigger", "source"),
    [
        (TriggerType.CLOCK, TaskSource.AUTO),
        (TriggerType.HUMAN, TaskSource.HUMAN),
        (TriggerType.EVENT, TaskSource.EVENT),
    ],
)
def test_a_task_says_who_wanted_it(trigger: TriggerType, source: TaskSource) -> None:  # EX-17
    (task,), _ = planned(raw(), trigger=trigger)
    assert task.source is source
