"""Outcomes of the turn in hand: the inspiration's, or the current task's."""

from datetime import datetime

from executor.domain.outcomes import TaskOutcome
from executor.domain.planning import looks
from executor.domain.run import Run
from executor.domain.tasks import tasks
from rota_contracts.robots.robot import Phase


def awaited(run: Run, outcome: TaskOutcome) -> bool:
    """Does the run wait for this outcome?"""
    match run.execution.phase:
        case Phase.INSPIRATION:
            return looks.awaited(run, outcome)
        case Phase.RUN:
            return tasks.current(run) is not None and tasks.awaited(run, outcome)
    return False


def apply(run: Run, outcome: TaskOutcome, *, now: datetime, began: datetime) -> Run:
    if run.execution.phase is Phase.INSPIRATION:
        return looks.apply(run, outcome, now=now)
    return tasks.apply(run, outcome, now=now, began=began)
