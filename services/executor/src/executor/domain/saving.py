"""The moments at which a run is saved between two steps: never later than a model reads what is new, and whenever a
step that costs something is done."""

from executor.domain import lifecycle
from executor.domain.outcomes import Outcome, TaskAnswered, Thought, Used
from executor.domain.planning import plain_request
from executor.domain.run import Run
from executor.domain.steps import AskAgent, BeginCalls, CheckRules, Compact, RecallLessons, RunTurn, Step, Work
from executor.domain.tasks.tasks import rules_of
from rota_contracts.messages.trigger import ExecutorMode

PAID = {kind.__name__ for kind in (Thought, TaskAnswered, Used)}
"""Outcomes that had a price, and may be saved together with the decision that follows at once."""


def costs(run: Run, step: Work) -> bool:
    """Does it cost something to repeat this step? Questions don't, nor what a plain request answers itself, nor
    anything inside a dry run."""
    if isinstance(step, RecallLessons | CheckRules) or run.execution.executor_mode is not ExecutorMode.STANDARD:
        return False
    return not (isinstance(step, AskAgent) and plain_request.answers_itself(run, step.phase))


def at_once(run: Run, step: Step, *, hooked: bool) -> bool:
    """Is the step nothing but a decision, which asks no one? One write saves it and what came before it. `hooked`:
    the run has hooks, which are asked before calls."""
    match step:
        case CheckRules(task):
            return not rules_of(run, task)
        case BeginCalls(uses=uses):
            return not hooked and all(use.server is None for use in uses)
        case _:
            return False


def needed_before(run: Run, step: Work, *, hooked: bool) -> bool:
    """A model that is asked again after a crash reads the same: its prompt is made of what is saved. And what had a
    price doesn't wait for an answer of anybody."""
    if not run.unsaved or run.execution.executor_mode is not ExecutorMode.STANDARD:
        return False
    if isinstance(step, AskAgent | RunTurn | Compact) and costs(run, step):
        return True
    return any(entry.kind in PAID for entry in run.unsaved) and not at_once(run, step, hooked=hooked)


def needed_after(run: Run, outcome: Outcome, *, hooked: bool) -> bool:
    """Is a step's outcome saved by itself? Not if the run is released next, which saves it too; that goes for a
    delayed step as well. Nor if the next step is a decision."""
    delayed = run.retry_at is not None and not isinstance(outcome, Used)
    step = lifecycle.next_step(run)
    return not delayed and isinstance(step, Work) and not at_once(run, step, hooked=hooked)


def without_answers(run: Run) -> bool:
    """Is no answer of a model saved yet, so that the run has hardly begun?"""
    execution = run.execution
    if execution.inspiration is not None or execution.results:
        return False
    return execution.goals is None or plain_request.is_plain(run)
