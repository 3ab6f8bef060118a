"""The moments at which a run is saved between two steps: never later than a model reads what is new, and whenever a
step that costs something is done."""

from executor.domain import lifecycle
from executor.domain.outcomes import Outcome, Used
from executor.domain.planning import plain_request
from executor.domain.run import Run
from executor.domain.steps import AskAgent, CheckRules, Compact, RecallLessons, RunTurn, Work
from rota_contracts.messages.trigger import ExecutorMode


def costs(run: Run, step: Work) -> bool:
    """Does it cost something to repeat this step? Questions don't, nor what a plain request answers itself, nor
    anything inside a dry run."""
    if isinstance(step, RecallLessons | CheckRules) or run.execution.executor_mode is not ExecutorMode.STANDARD:
        return False
    return not (isinstance(step, AskAgent) and plain_request.answers_itself(run, step.phase))


def needed_before(run: Run, step: Work) -> bool:
    """A model that is asked again after a crash reads the same: its prompt is made of what is saved."""
    return bool(run.unsaved) and isinstance(step, AskAgent | RunTurn | Compact) and costs(run, step)


def needed_after(run: Run, outcome: Outcome) -> bool:
    """Is a step's outcome saved by itself? Not if the run is released next, which saves it too; that goes for a
    delayed step as well."""
    delayed = run.retry_at is not None and not isinstance(outcome, Used)
    return not delayed and isinstance(lifecycle.next_step(run), Work)


def without_answers(run: Run) -> bool:
    """Is no answer of a model saved yet, so that the run has hardly begun?"""
    execution = run.execution
    if execution.inspiration is not None or execution.results:
        return False
    return execution.goals is None or plain_request.is_plain(run)
