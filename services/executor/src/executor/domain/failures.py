"""Steps that aren't done: answers that can't be used, failures that pass, and those that don't."""

from datetime import datetime, timedelta

from executor.domain import spending
from executor.domain.outcomes import CeilingReached, Hooked, StepFailed, Unusable
from executor.domain.run import Run
from executor.domain.tasks import tasks
from rota_contracts.messages.execution import excerpt
from rota_contracts.robots.robot import Phase

MAX_ATTEMPTS = 3
"""Unusable answers of one step before it fails."""

MAX_FAILURES = 20
"""Temporary failures of one step before it fails: about an hour, as the delays grow."""

DELAY_LIMIT = 500
"""Characters of a reason that a delayed execution shows."""


def fail(run: Run, reason: str, now: datetime) -> Run:
    """Nothing unvalidated is delivered: a run that failed goes on to learning.

    In the run phase the current task has failed, which may not be the end of the run.
    """
    run = run.step_reset()
    if run.execution.phase is Phase.RUN:
        return tasks.after_task(tasks.fail_current(run, reason, now=now))
    return run.with_execution(error=run.execution.error or reason, phase=Phase.LEARNING)


def is_last_attempt(run: Run) -> bool:
    """Does the step fail unless its next answer can be used? A turn gets no tools then: it is to be a result."""
    return run.attempts + 1 >= MAX_ATTEMPTS


def not_done(run: Run, outcome: Unusable | StepFailed | Hooked | CeilingReached, now: datetime) -> Run:
    """The run after an outcome that isn't progress."""
    match outcome:
        case Unusable(reason):
            return _unusable(run, reason, now)
        case StepFailed(reason) | Hooked(cancelled=reason):
            return fail(run, reason, now)
        case CeilingReached(question, need):
            return spending.at_ceiling(run, question, need, now)


def _unusable(run: Run, reason: str, now: datetime) -> Run:
    attempts = run.attempts + 1
    if attempts >= MAX_ATTEMPTS:
        return fail(run, f"{run.execution.phase}: {reason} ({attempts} attempts)", now)
    again = run.model_copy(update={"feedback": reason, "attempts": attempts, "retry_at": None})
    return again.with_execution(delayed=None)


def delayed(run: Run, reason: str, delay: timedelta, now: datetime) -> Run:
    """The run that tries its step again after a delay."""
    failures = run.failures + 1
    if failures >= MAX_FAILURES:
        return fail(run, f"{run.execution.phase}: {reason} ({failures} attempts)", now)
    shown = f"{excerpt(reason, DELAY_LIMIT)}, next try at {now + delay:%H:%M:%S} UTC"
    return run.model_copy(update={"failures": failures, "retry_at": now + delay}).with_execution(delayed=shown)
