"""The search before a task's first turn: when it is made, its outcome, and how a run keeps what was found."""

from dataclasses import dataclass, field

from executor.domain.run import Run
from executor.domain.search.found import Found
from executor.domain.steps import RunTurn, Step
from executor.domain.uses import Uses
from rota_contracts.messages.execution import Task
from rota_contracts.messages.text import Text
from rota_contracts.messages.trigger import ExecutorMode
from rota_contracts.messages.usage import ModelCall


@dataclass(frozen=True)
class Searched:
    """`found`: what the task's assistant is shown of it, if anything. `calls`: what its agents took."""

    task_id: str
    found: Text | None = None
    calls: list[ModelCall] = field(default_factory=list)


def wanted(run: Run, step: Step, uses: Uses) -> bool:
    """Is there something to search before this step? A run that calls no model searches nothing."""
    if not isinstance(step, RunTurn) or (step.turn, step.iteration) != (1, 0) or _made(run, step.task):
        return False
    return uses.of("search") is not None and run.execution.executor_mode is ExecutorMode.STANDARD


def expected(step: Step, outcome: Searched) -> bool:
    """Is this the task in hand?"""
    return isinstance(step, RunTurn) and step.task.id == outcome.task_id


def apply(run: Run, outcome: Searched) -> Run:
    return run.model_copy(update={"found": [*run.found, Found(task_id=outcome.task_id, text=outcome.found)]})


def found_for(run: Run, task: Task) -> Text | None:
    """None also for a task that nothing was searched for."""
    made = _made(run, task)
    return made.text if made else None


def _made(run: Run, task: Task) -> Found | None:
    return next((each for each in run.found if each.task_id == task.id), None)
