"""Tasks that fail: what becomes of the others, and of the run (EX-25, DEC-17)."""

from typing import Any

import pytest
from services.executor.tests.fixtures import (
    BAD,
    CONTENT,
    a_process_task,
    a_task,
    advance,
    advance_until,
    an_mcp_task,
    at,
    equipped,
    new_run,
    with_outcome,
    with_tasks,
)

from executor.agents.prompt_files import Agents
from executor.agents.prompts import for_phase
from executor.domain import lifecycle
from executor.domain.delivery_request import delivery_request
from executor.domain.outcomes import NothingToDo, Planned, RulesAnswered, StepDelayed, StepFailed, Unusable, Used
from executor.domain.run import Run
from executor.domain.steps import AskAgent, CheckRules, Finish, MakeCalls, RequestLearning, RunTurn
from rota_common.testing.samples import NOON
from rota_contracts.messages.execution import ExecStatus, TaskStatus
from rota_contracts.messages.validation import RulesReply
from rota_contracts.robots.robot import Phase

GOING_ON = equipped(continue_on_failure=True)
STOPPING = equipped()


def three(robot: Any = GOING_ON) -> Run:
    return with_tasks(a_task(1), a_task(2), a_task(3), robot=robot)


def failing(run: Run, *numbers: int) -> Run:
    """The run to its end, in which the tasks with these numbers break a rule."""
    while not isinstance(step := lifecycle.next_step(run), Finish):
        if isinstance(step, CheckRules) and step.task.order in numbers:
            run = with_outcome(run, RulesAnswered(step.task.id, RulesReply(verdict=BAD)))
        else:
            run = advance(run)
    return lifecycle.finish(run, step.status, now=NOON)


def statuses(run: Run) -> list[str]:
    return [str(result.status) for result in run.execution.results]


def test_a_robot_may_go_on_past_failed_tasks_and_says_how_many(subtests: pytest.Subtests) -> None:
    cases = [
        ((1,), ["failed", "completed", "completed"]),
        ((2,), ["completed", "failed", "completed"]),
        ((3,), ["completed", "completed", "failed"]),
        ((1, 3), ["failed", "completed", "failed"]),
    ]
    for numbers, expected in cases:
        with subtests.test(numbers=numbers, expected=expected):
            done = failing(three(), *numbers)  # EX-20 EX-25
            assert statuses(done) == expected
            assert (done.execution.status, done.execution.error) == (ExecStatus.COMPLETED, None)
            assert done.execution.notes[-1] == f"{len(numbers)} of 3 tasks failed"
            assert done.execution.content == CONTENT


def test_a_run_none_of_whose_tasks_was_completed_fails_all_the_same() -> None:  # EX-25
    done = failing(three(), 1, 2, 3)
    assert statuses(done) == ["failed"] * 3
    assert (done.execution.status, done.execution.content) == (ExecStatus.FAILED, None)
    assert done.execution.error == "task task-1 (Step 1): too short; no figures"


@pytest.mark.parametrize("number", [1, 2, 3])
def test_by_default_the_first_failure_ends_the_run(number: int) -> None:  # EX-20 EX-25
    done = failing(three(STOPPING), number)
    assert statuses(done) == [*["completed"] * (number - 1), "failed"]
    assert (done.execution.status, done.execution.content) == (ExecStatus.FAILED, None)
    assert done.execution.error == f"task task-{number} (Step {number}): too short; no figures"


def test_later_tasks_do_not_see_a_failed_result() -> None:  # EX-22 F13
    run = three()
    while not isinstance(step := lifecycle.next_step(run), AskAgent):
        broken = isinstance(step, CheckRules) and step.task.id == "task-2"
        run = with_outcome(run, RulesAnswered("task-2", RulesReply(verdict=BAD))) if broken else advance(run)
    agent = Agents().of("acme").find("rota.delivery")
    assert agent is not None
    text = for_phase(run, Phase.DELIVERY, agent, "rota.delivery", {})[-1].text()
    assert "result of task-1" in text
    assert "result of task-2" not in text


def test_the_score_of_a_delivery_is_the_lowest_of_what_it_is_made_of() -> None:  # F13
    run = with_tasks(a_task(1), a_task(2), a_task(3), robot=GOING_ON)
    for number, score in ((1, 0.9), (2, 0.7), (3, 0.1)):
        passed = score > 0.5
        verdict = RulesReply(verdict=BAD.model_copy(update={"passed": passed, "score": score}))
        run = with_outcome(advance(run), RulesAnswered(f"task-{number}", verdict))
    assert delivery_request(advance(run), "r1").context.score == 0.7


@pytest.mark.parametrize("task", [a_task(1), an_mcp_task(1), a_process_task(1)], ids=["assistant", "mcp", "process"])
def test_a_step_that_can_not_be_done_fails_its_task_and_not_the_run(task: Any) -> None:  # EX-25
    run = lifecycle.apply(with_tasks(task, a_task(2), robot=GOING_ON), StepFailed("no connector"), now=NOON)
    assert (run.execution.results[0].status, run.execution.results[0].error) == (TaskStatus.FAILED, "no connector")
    step = lifecycle.next_step(run)
    assert isinstance(step, RunTurn)
    assert step.task.id == "task-2"


def test_nothing_of_a_failed_task_is_left_for_the_next_one() -> None:
    run = three()
    run = lifecycle.apply(run, Unusable("expected text"), now=NOON)
    run = lifecycle.apply(run, StepDelayed("busy", None), now=NOON, retry_after=5)
    run = lifecycle.apply(run, StepFailed("no connector"), now=NOON)
    assert (run.feedback, run.attempts, run.failures, run.retry_at) == ("", 0, 0, None)


def test_a_failed_tool_fails_its_task_with_its_error() -> None:  # EX-24
    run = advance(with_tasks(an_mcp_task(1), a_task(2), robot=GOING_ON))
    step = lifecycle.next_step(run)
    assert isinstance(step, MakeCalls)
    run = with_outcome(run, Used("task-1", step.uses[0].step_id, None, "404: no such customer"))
    assert (run.execution.results[0].status, run.execution.results[0].error) == ("failed", "404: no such customer")
    assert isinstance(lifecycle.next_step(run), RunTurn)


@pytest.mark.parametrize("phase", [Phase.GOALS, Phase.TASKS])
def test_a_run_may_find_that_there_is_nothing_to_do(phase: Phase) -> None:  # EX-29 DEC-33
    run, steps = advance_until(with_outcome(at(phase), NothingToDo("no new leads")))
    assert [type(step) for step in steps] == [RequestLearning, Finish]
    done = run.execution
    assert (done.status, done.skipped, done.error, done.delivery) == (ExecStatus.COMPLETED, "no new leads", None, None)


def test_a_report_can_not_find_that_there_is_nothing_to_do() -> None:  # EX-29
    run = at(Phase.INSPIRATION, run=new_run("clock"))
    assert with_outcome(run, NothingToDo("no new leads")) == run


def test_a_run_that_learns_nothing_ends_at_once_when_there_is_nothing_to_do() -> None:  # EX-29 LE-03
    robot = equipped().model_copy()
    config = robot.robot_config.model_copy(update={"learn": robot.robot_config.learn.model_copy(update={"on": False})})
    run = at(Phase.GOALS, run=new_run(robot=robot.model_copy(update={"robot_config": config})))
    assert lifecycle.next_step(with_outcome(run, NothingToDo("no new leads"))) == Finish(ExecStatus.COMPLETED)


def test_a_new_plan_with_nothing_left_to_do_delivers_what_is_done() -> None:  # EX-29
    run = at(Phase.DELIVERY)
    run = run.with_execution(phase=Phase.TASKS).model_copy(update={"again": 1})
    run = with_outcome(run, Planned([], ["plan: nothing is left to do: all done"]))
    assert run.execution.phase is Phase.DELIVERY
    assert len(run.execution.tasks or []) == 2
