"""The working time of an assistant's turn, and its budget: waiting for a person, a promised result or a slot, and being
paused, take none."""

from executor.domain.outcomes import NotCalled, Outcome, Promised, Used
from executor.domain.run import Run
from executor.domain.search.searched import Searched
from executor.domain.tasks import tasks
from rota_contracts.messages.execution import ExecutorType
from rota_contracts.robots.robot import Phase

MOST_TIMES = 4
"""How many of its iterations a turn gets the time for."""


def budget(timeout: float, iterations: int) -> float:
    """Seconds of a turn whose assistant may take `timeout` seconds for an answer, and use tools so often."""
    return timeout * min(iterations, MOST_TIMES)


def counted(before: Run, after: Run, outcome: Outcome, seconds: float) -> Run:
    """The run after a step of so many seconds, counted for its turn; a new turn begins at zero. The search before it
    counts for none."""
    if isinstance(outcome, Searched):
        return after
    turn = _turn(before)
    if turn is None or turn != _turn(after):
        return after.model_copy(update={"turn_seconds": 0.0}) if after.turn_seconds else after
    if isinstance(outcome, Used | Promised | NotCalled) and tasks.calls_left(before, outcome):
        return after  # the calls of a step run side by side: the last one counts for all
    return after.model_copy(update={"turn_seconds": before.turn_seconds + max(seconds, 0.0)}) if seconds else after


def _turn(run: Run) -> tuple[str, int] | None:
    """The turn that is under way."""
    task = tasks.current(run) if run.execution.phase is Phase.RUN and not run.over else None
    if task is None or task.executor_type is not ExecutorType.ASSISTANT:
        return None
    turn = tasks.turn_of(run, task)
    if turn is not None and turn.output is not None:
        return None
    return task.id, turn.number if turn is not None else 1
