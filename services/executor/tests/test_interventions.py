"""Interventions in a run under way, in every phase, each with its effect (TG-07)."""

from itertools import product
from typing import Any

import pytest
from services.executor.tests.fixtures import (
    EQUIPPED,
    a_task,
    advance,
    advance_until,
    an_mcp_task,
    at,
    effect,
    new_run,
    signalled,
    with_outcome,
    with_tasks,
)

from executor.agents.prompt_files import Agents
from executor.agents.prompts import for_phase
from executor.domain import lifecycle
from executor.domain.outcomes import Planned, Unusable
from executor.domain.planning.plan import MAX_TASKS
from executor.domain.run import Run
from executor.domain.steps import AskAgent, CheckRules, RequestDelivery, RequestLearning, RequestVerdict, RunTurn
from rota_common.testing.samples import NOON, a_robot
from rota_contracts.messages.execution import ExecStatus, TaskStatus
from rota_contracts.robots.robot import Phase

HEARS, LATE = "passed to the planner", "too late: the tasks are done"
BEFORE_ITS_PLAN = [Phase.INSPIRATION, Phase.GOALS, Phase.TASKS]
AFTER_ITS_TASKS = [Phase.DELIVERY, RequestDelivery, RequestLearning]
NO_TASK = "refused: expected the id of one of the plan's tasks (none yet), not 'task-1'"
FIELDS: dict[str, dict[str, Any]] = {
    "task.add": {"text": "Look at Initech.", "task": {"executor_id": "experts.writer"}},
    "task.cancel": {"task": {"id": "task-1"}},
    "task.update": {"task": {"id": "task-1", "description": "New"}},
    "goal.add": {"text": "Be quick."},
    "goal.adjust": {"text": "Be quick."},
    "goal.complete": {"goal": "Goal 1"},
    "goal.cancel": {"goal": "Goal 1"},
    "instruct": {"text": "Be quick."},
}
TABLE = [
    ("task.add", HEARS, "task task-3 was added", LATE),
    ("task.cancel", NO_TASK, "task task-1 was cancelled", LATE),
    ("task.update", NO_TASK, "task task-1 was changed", LATE),
    ("goal.add", HEARS, "planned again", LATE),
    ("goal.adjust", HEARS, "planned again", LATE),
    ("goal.complete", HEARS, "0 tasks are left out", LATE),
    ("goal.cancel", HEARS, "0 tasks are left out", LATE),
    ("instruct", "applies from the next step", "applies from the next step", None),
]


def said(run: Run, action: str, **fields: Any) -> Run:
    return signalled(run, action, **(FIELDS[action] | fields))


def clock_run(until: Any) -> Run:
    return at(until, run=new_run("clock", robot=EQUIPPED))


def test_before_there_is_a_plan_an_intervention_goes_to_the_planner(subtests: pytest.Subtests) -> None:  # TG-07
    for until, (action, before) in product(BEFORE_ITS_PLAN, [(row[0], row[1]) for row in TABLE]):
        with subtests.test(until=until, action=action, before=before):
            run = said(clock_run(until), action)
            assert effect(run) == before
            assert lifecycle.next_step(run) == lifecycle.next_step(clock_run(until))
            run = at(Phase.TASKS, run=run)
            agent = Agents().of("acme").find("rota.tasks")
            assert agent is not None
            text = for_phase(run, Phase.TASKS, agent, "rota.tasks", {})[-1].text()
            if words := FIELDS[action].get("text"):
                assert f"- [{action}] {words}" in text
            assert advance_until(run)[0].execution.status is ExecStatus.COMPLETED


def test_between_tasks_it_takes_effect_at_once(subtests: pytest.Subtests) -> None:  # TG-07
    for action, during in [(row[0], row[2]) for row in TABLE]:
        with subtests.test(action=action, during=during):
            run = said(clock_run(RunTurn), action)
            assert effect(run) == during
            assert advance_until(run)[0].execution.status is ExecStatus.COMPLETED


def test_once_the_tasks_are_done_it_is_too_late(subtests: pytest.Subtests) -> None:  # TG-07
    for until, (action, after) in product(AFTER_ITS_TASKS, [(row[0], row[3]) for row in TABLE]):
        with subtests.test(until=until, action=action, after=after):
            run = said(clock_run(until), action)
            late = LATE if until is RequestLearning else "applies from the next step"
            assert effect(run) == (after or late)
            assert lifecycle.next_step(run) == lifecycle.next_step(clock_run(until))


def test_a_task_that_is_added_runs_last_as_a_persons_own() -> None:  # EX-17
    run = signalled(with_tasks(a_task(1)), "task.add", "Look at Initech.", task={"executor_id": "scorer"})
    task = (run.execution.tasks or [])[-1]
    assert (task.id, task.order, task.source, task.executor_id) == ("task-2", 2, "human", "experts.scorer")
    assert (task.description, task.messages[0].text()) == ("Look at Initech.", "Look at Initech.")
    assert [result.task_id for result in advance_until(run)[0].execution.results] == ["task-1", "task-2"]


def test_a_task_that_several_could_do_is_given_to_one_by_the_planner() -> None:
    run = signalled(advance(with_tasks(a_task(1))), "task.add", "Look at Initech.")
    assert effect(run) == "planned again after the current task"
    step = lifecycle.next_step(advance(run))
    assert isinstance(step, AskAgent)
    assert step.phase is Phase.TASKS
    alone = signalled(with_tasks(a_task(1), robot=a_robot()), "task.add", "Look at Initech.")
    assert (effect(alone), len(alone.execution.tasks or [])) == ("task task-2 was added", 2)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"executor_id": "unknown"}, "refused: task task-2 names 'unknown', which this robot doesn't have: it has"),
        ({"executor_type": "mcp", "executor_id": "crm.delete"}, "refused: task task-2 names mcp 'crm.delete'"),
        ({"executor_id": "crm.lookup", "args": ["Globex"]}, "refused: expected args of a task of type mcp as one obj"),
    ],
)
def test_a_task_that_the_robot_can_not_do_is_refused_with_the_reason(change: Any, reason: str) -> None:  # EX-26
    before = with_tasks(a_task(1))
    run = signalled(before, "task.add", "Do it.", task=change)
    assert effect(run).startswith(reason)
    assert run.execution.tasks == before.execution.tasks


def test_a_plan_that_is_full_takes_no_more_tasks() -> None:
    run = signalled(with_tasks(*[a_task(n) for n in range(1, MAX_TASKS + 1)]), "task.add", "One more", task={
        "executor_id": "experts.writer"
    })  # fmt: skip
    assert effect(run) == f"refused: a plan holds at most {MAX_TASKS} tasks"


@pytest.mark.parametrize("until", [RunTurn, CheckRules, RequestVerdict])
def test_a_task_can_be_cancelled_at_each_of_its_steps_and_the_next_begins_clean(until: Any) -> None:
    run = at(until, run=new_run(robot=EQUIPPED), expected="a result")
    if until is RunTurn:
        run = lifecycle.apply(run, Unusable("expected text"), now=NOON)
    run = said(run, "task.cancel")
    assert [(result.status, result.error) for result in run.execution.results] == [
        (TaskStatus.SKIPPED, "cancelled by a person")
    ]
    step = lifecycle.next_step(run)
    assert isinstance(step, RunTurn)
    assert (step.task.id, run.feedback, run.attempts, run.checked) == ("task-2", "", 0, None)
    assert advance_until(run)[0].execution.status is ExecStatus.COMPLETED


def test_cancelling_a_later_task_leaves_the_current_one_as_it_is() -> None:
    run = at(RequestVerdict, run=new_run(robot=EQUIPPED), expected="a result")
    after = signalled(run, "task.cancel", task={"id": "task-2"})
    assert (lifecycle.next_step(after), after.checked) == (lifecycle.next_step(run), run.checked)
    over = advance_until(after)[0]
    assert [result.status for result in over.execution.results] == ["completed", "skipped"]


def test_a_run_whose_every_task_was_cancelled_has_nothing_to_deliver() -> None:
    run = said(with_tasks(a_task(1)), "task.cancel")
    over = advance_until(run)[0].execution
    assert (over.status, over.skipped, over.content) == (
        ExecStatus.COMPLETED,
        "every task of the plan was cancelled",
        None,
    )


def test_what_is_over_or_unknown_can_not_be_changed(subtests: pytest.Subtests) -> None:
    cases = [
        ("task-1", "too late: task task-1 is over"),
        ("unknown", "refused: expected the id of one of the plan's tasks (task-1, task-2), not 'unknown'"),
    ]
    for (wanted, reason), action in product(cases, ["task.cancel", "task.update"]):
        with subtests.test(wanted=wanted, reason=reason, action=action):
            run = advance(advance(with_tasks(a_task(1), a_task(2))))
            run = signalled(run, action, task={"id": wanted, "description": "New"})
            assert effect(run) == reason


def test_a_task_that_has_not_begun_can_be_given_to_another() -> None:
    run = signalled(with_tasks(a_task(1), an_mcp_task(2)), "task.update", "In blue.", task={
        "id": "task-2", "executor_id": "scorer", "args": [], "expected_output": "a score"
    })  # fmt: skip
    changed = (run.execution.tasks or [])[1]
    assert (changed.executor_type, changed.executor_id, changed.mcp_server) == ("assistant", "experts.scorer", None)
    assert (changed.order, changed.expected_output, changed.description) == (2, "a score", "Step 2")
    assert [message.text() for message in changed.messages] == ["In blue."]
    run = signalled(run, "task.update", task={"id": "task-2", "mcp_server": "crm", "mcp_tool": "note"})
    assert (run.execution.tasks or [])[1].executor_id == "crm.note"


def test_a_task_that_has_begun_keeps_its_executor_and_takes_other_changes() -> None:
    run = advance(with_tasks(a_task(1)))
    run = signalled(run, "task.update", task={"id": "task-1", "executor_id": "experts.scorer", "args": [1]})
    assert effect(run) == "refused: the task has begun, args, executor_id can't change any more"
    run = signalled(run, "task.update", task={"id": "task-1", "expected_output": "two pages"})
    assert effect(run) == "task task-1 was changed"
    step = lifecycle.next_step(run)
    assert isinstance(step, CheckRules)
    assert step.task.expected_output == "two pages"


@pytest.mark.parametrize("action", ["goal.add", "goal.adjust"])
def test_new_goals_are_planned_for_after_the_current_task(action: str) -> None:
    run = said(advance(with_tasks(a_task(1), a_task(2), a_task(3))), action)
    assert effect(run) == "planned again after the current task"
    run = advance(run)
    step = lifecycle.next_step(run)
    assert isinstance(step, AskAgent)
    assert step.phase is Phase.TASKS
    assert run.execution.goals is not None
    what = "added" if action == "goal.add" else "adjusted"
    assert run.execution.goals.content.endswith(f"({what} by a person) Be quick.")
    run = with_outcome(run, Planned([a_task(7)], []))
    assert [task.id for task in run.execution.tasks or []] == ["task-1", "task-7"]
    assert [result.status for result in advance_until(run)[0].execution.results] == ["completed", "completed"]


def test_a_task_that_a_person_added_outlives_a_new_plan() -> None:
    run = signalled(with_tasks(a_task(1), a_task(2)), "task.add", "Look at Initech.", task={"executor_id": "scorer"})
    run = signalled(run, "goal.add", "Watch Initech too.")
    step = lifecycle.next_step(run)
    assert isinstance(step, AskAgent)
    assert step.phase is Phase.TASKS
    run = lifecycle.apply(run, Planned([a_task(4)], []), now=NOON)
    assert [task.id for task in run.execution.tasks or []] == ["task-3", "task-4"]


def test_a_new_plan_is_a_new_step() -> None:
    first = lifecycle.next_step(at(Phase.TASKS))
    run = said(at(RunTurn), "goal.add")
    again = lifecycle.next_step(run)
    assert isinstance(first, AskAgent)
    assert isinstance(again, AskAgent)
    assert first.step_id != again.step_id
    assert [time.phase for time in run.execution.phases] == ["goals", "tasks", "run", "tasks"]


@pytest.mark.parametrize(("action", "why"), [("goal.complete", "is complete"), ("goal.cancel", "was cancelled")])
def test_the_tasks_of_a_goal_that_is_dropped_are_left_out(action: str, why: str) -> None:
    tasks = [a_task(n, goal_ref=goal) for n, goal in enumerate(["Goal 1", "Goal 2", "goal 1", "Goal 2"], 1)]
    run = said(advance(with_tasks(*tasks)), action)
    assert effect(run) == "1 tasks are left out"  # the current one isn't declared in vain
    over = advance_until(run)[0].execution
    assert {result.task_id: result.status for result in over.results} == {
        "task-1": "completed",
        "task-2": "completed",
        "task-3": "skipped",
        "task-4": "completed",
    }
    assert next(result.error for result in over.results if result.task_id == "task-3") == f"its goal {why}"


def test_a_goal_that_all_tasks_serve_leaves_nothing_to_do() -> None:
    run = said(with_tasks(a_task(1, goal_ref="Goal 1"), a_task(2, goal_ref="Goal 1")), "goal.cancel")
    assert effect(run) == "2 tasks are left out"
    assert advance_until(run)[0].execution.skipped == "every task of the plan was cancelled"
