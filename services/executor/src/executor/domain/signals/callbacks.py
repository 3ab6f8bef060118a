"""Callback results: promised results that came, or expired."""

from datetime import datetime

from executor.domain.outcomes import Used
from executor.domain.run import Callback, Run, Signal
from executor.domain.tasks import promised_calls, tasks, turns, unknown_calls
from rota_contracts.messages.text import Text
from rota_contracts.robots.robot import Phase


def apply_result(run: Run, signal: Signal, now: datetime) -> tuple[Run, str]:
    """The run with the signal's result, and the effect."""
    callback = next((callback for callback in run.callbacks if callback.id == signal.callback), None)
    if callback is None:
        return run, "refused: no call of this run waits for it"
    if not _open(run, callback):
        return run, f"too late: the call of process {callback.process} is over"
    return _answered(run, callback, signal.output, signal.error, now), f"the result of process {callback.process}"


def expire(run: Run, *, now: datetime) -> Run:
    """The run after promised results have expired: their calls have failed."""
    while due := [each for each in run.promised if each.until is not None and each.until <= now]:
        run = _answered(run, due[0], None, f"no result came within {promised_calls.patience(run.robot, due[0])}", now)
    return run


def _open(run: Run, callback: Callback) -> bool:
    """Has its call no outcome yet? One that was to be repeated needn't be, now; nor is a person asked about it."""
    if run.execution.phase is not Phase.RUN or tasks.final(run, callback.task_id):
        return False
    result = tasks.result_of(run, callback.task_id)
    turn = result.turns[-1] if result is not None and result.turns else None
    uses = [*(turns.open_uses(turn) if turn is not None else []), *unknown_calls.of(run)]
    return any(use.step_id == callback.step_id for use in uses)


def _answered(run: Run, callback: Callback, output: Text | None, error: str | None, now: datetime) -> Run:
    run = promised_calls.drop(run, step_id=callback.step_id)
    outcome = Used(callback.task_id, callback.step_id, output, error)
    run = run if tasks.calls_left(run, outcome) else run.step_reset()
    return tasks.apply(run, outcome, now=now, began=now)
