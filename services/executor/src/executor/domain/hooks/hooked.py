"""Calls as hooks have left them: how a run keeps them, and for how long."""

from executor.domain.notes import noted
from executor.domain.outcomes import Hooked
from executor.domain.run import HookedCall, Run
from executor.domain.steps import AskAgent, RunTurn, Step


def expected(step: Step, outcome: Hooked) -> bool:
    """Is this the call that is in hand?"""
    return isinstance(step, AskAgent | RunTurn) and step.step_id == outcome.step_id


def apply(run: Run, outcome: Hooked) -> Run:
    """The run, whose call stands as its hooks left it; a cancelled one is for the caller to end."""
    call = HookedCall(step_id=outcome.step_id, applied=run.applied, messages=outcome.messages, model=outcome.model)
    return noted(run.model_copy(update={"hooked": call, "retry_at": None}), outcome.notes)


def call_of(run: Run, step: AskAgent | RunTurn) -> HookedCall | None:
    """The step's call as hooks left it; None if they are still to be asked."""
    call = run.hooked
    return call if call is not None and (call.step_id, call.applied) == (step.step_id, run.applied) else None


def forgotten(run: Run) -> Run:
    """The run without it, once its model has answered."""
    return run if run.hooked is None else run.model_copy(update={"hooked": None})
