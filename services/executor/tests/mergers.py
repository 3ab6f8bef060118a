"""Runs that hold their goals against what is under way, and those that they may give them to."""

from datetime import timedelta
from typing import Any

from services.executor.tests.lives import EQUIPPED, at, begun, taken

from executor.domain.outcomes import GoalsCompared, StepFailed
from executor.domain.run import Run
from executor.domain.steps import CompareGoals, RunTurn
from rota_common.testing.samples import NOON
from rota_contracts.messages.learning import DedupDecision, GoalsReply
from rota_contracts.robots.robot import Robot

MERGE = GoalsReply(decision=DedupDecision.MERGE, reason="it is at it", into="e0", goals="the rest")


def deduping() -> Robot:
    config = EQUIPPED.robot_config
    dedup = config.dedup.model_copy(update={"on": True})
    return EQUIPPED.model_copy(update={"robot_config": config.model_copy(update={"dedup": dedup})})


def comparing(**trigger: Any) -> Run:
    return at(CompareGoals, run=begun(robot=deduping(), **trigger))


def merging(**fields: Any) -> Run:
    return taken(comparing(), GoalsCompared(MERGE.model_copy(update=fields)))


def failed(run: Run) -> Run:
    return taken(run, StepFailed("no connector"))


def an_earlier(run_id: str, *, minutes: int = 5, run: Run | None = None) -> Run:
    """A run of the same robot that began before."""
    run = run or at(RunTurn)
    return run.with_execution(execution_id=run_id, created_at=NOON - timedelta(minutes=minutes))
