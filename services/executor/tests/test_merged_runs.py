"""Runs that give their goals away, and runs that are given some (SC-13)."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from services.executor.tests.fixtures import (
    CONTENT,
    EQUIPPED,
    a_signal,
    advance_until,
    at,
    comparing,
    effect,
    failed,
    merging,
    new_run,
    signalled,
    with_outcome,
)
from services.executor.tests.harness import WorkerHarness

from executor.domain import lifecycle
from executor.domain.outcomes import GoalsCompared, GoalsGiven, NothingToDo, Outcome
from executor.domain.run import Merge, Run
from executor.domain.steps import AskAgent, Finish, GiveGoals, RequestDelivery, RequestLearning, RunTurn, Step
from executor.reads.run_summary import run_summary
from rota_common.testing.samples import NOON
from rota_contracts.messages.execution import ExecStatus, Goals
from rota_contracts.messages.learning import DedupDecision, GoalsReply
from rota_contracts.robots.knowledge import Learn
from rota_contracts.robots.robot import Phase


def test_a_run_whose_goals_are_another_runs_ends_as_complete_with_the_reason() -> None:  # SC-13
    run = merging()
    step = lifecycle.next_step(run)
    assert step == GiveGoals(Merge(into="e0", goals="the rest", reason="it is at it"))
    over, steps = advance_until(with_outcome(run, GoalsGiven("e0", done=True)))
    execution = over.execution
    assert (execution.status, execution.skipped) == (ExecStatus.COMPLETED, "merged into e0: it is at it")
    assert (execution.tasks, execution.content, execution.delivery) == (None, None, None)
    assert [type(step) for step in steps] == [RequestLearning, Finish]


async def test_the_learner_records_it_as_a_run_that_had_nothing_to_do() -> None:  # SC-13
    blobs: Any = None
    summary = await run_summary(with_outcome(merging(), GoalsGiven("e0", done=True)), blobs)
    assert summary.status == "nothing to do: merged into e0: it is at it"


def test_goals_that_could_not_be_given_are_reached_by_the_run_itself() -> None:  # SC-13
    run = with_outcome(merging(), GoalsGiven("e0", done=False))
    assert run.execution.goals == Goals(content="the rest")
    assert run.execution.notes[-1] == "goals: not merged into execution e0: it is over, or about to be"
    assert advance_until(run)[0].execution.tasks is not None
    whole = with_outcome(merging(goals=None), GoalsGiven("e0", done=False))
    assert whole.execution.goals == comparing().execution.goals


def test_a_run_with_an_intervention_keeps_its_goals() -> None:  # SC-13 TG-07
    run = signalled(merging(), "goal.add", "And Initech.")
    assert run.execution.goals == Goals(content="the rest\n\n(added by a person) And Initech.")
    assert isinstance(lifecycle.next_step(run), AskAgent)
    assert with_outcome(run, GoalsGiven("e0", done=True)) == run
    assert "not merged into execution e0: it got an intervention" in run.execution.notes[-1]


@pytest.mark.parametrize("action", ["pause", "resume"])
def test_a_pause_is_no_reason_to_keep_them(action: str) -> None:
    assert signalled(merging(), action).merging == merging().merging


def skipped(run: Run) -> Run:
    return with_outcome(run, GoalsCompared(GoalsReply(decision=DedupDecision.SKIP, reason="at 9")))


BOTH = "## Goals\n1. Score it\n\n(added from execution e9) Theirs."
TAKERS: dict[str, tuple[Callable[[], Run], str]] = {
    "planning": (lambda: at(Phase.TASKS), BOTH),
    "at a task": (lambda: at(RunTurn), BOTH),
    "its tasks are done": (lambda: at(Phase.DELIVERY), BOTH),
    "its report is written": (
        lambda: at(RequestDelivery),
        "## Goals\n1. Score it\n\n(added from execution e9) Theirs.",
    ),
    "it had nothing to do": (lambda: with_outcome(at(Phase.GOALS), NothingToDo("no leads")), "Theirs."),
    "its own were reached": (lambda: skipped(comparing()), "Theirs."),
    "it wanted to merge": (merging, "the rest\n\n(added from execution e9) Theirs."),
}


def test_a_run_reaches_goals_given_to_it_at_any_point(subtests: pytest.Subtests) -> None:  # SC-13
    for where in TAKERS:
        with subtests.test(where=where):
            make, goals = TAKERS[where]
            run = signalled(make(), "goal.add", "Theirs.", merged="e9")
            assert run.execution.goals == Goals(content=goals)
            over, steps = advance_until(run)
            planned = [step for step in steps if isinstance(step, AskAgent) and step.phase is Phase.TASKS]
            assert len(planned) == 1
            assert (over.execution.status, over.execution.skipped) == (ExecStatus.COMPLETED, None)
            assert over.execution.delivery is not None


def test_a_run_that_has_failed_takes_no_goals_any_more() -> None:
    run = signalled(failed(at(RunTurn)), "goal.add", "Theirs.", merged="e9")
    assert (effect(run), run.execution.phase) == ("too late: the tasks are done", Phase.LEARNING)


async def test_a_signal_at_the_moment_of_its_end_is_applied() -> None:  # SC-13
    harness = WorkerHarness()
    giver = new_run().with_execution(execution_id="e9", created_at=NOON + timedelta(seconds=1))

    async def nothing(run: Run, step: Step) -> Outcome:
        if isinstance(step, AskAgent) and step.phase is Phase.GOALS:
            assert await harness.runs.merge("e1", a_signal("goal.add", "Theirs.", merged="e9"), giver=giver)
            return NothingToDo("no leads")
        return await harness.succeed(run, step)

    harness.run_step = nothing
    config = EQUIPPED.robot_config.model_copy(update={"learn": Learn(on=False)})
    await harness.worker.start(new_run(robot=EQUIPPED.model_copy(update={"robot_config": config})))
    run = await harness.run()
    assert (run.execution.goals, run.execution.content) == (Goals(content="Theirs."), CONTENT)
    assert "finished completed" not in harness.published.facts
