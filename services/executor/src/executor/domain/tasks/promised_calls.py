"""Calls of processes that promise their results: callback ids, and how long a result is waited for."""

from datetime import datetime

from executor.domain.outcomes import CallsBegun, Promised
from executor.domain.run import Callback, Run
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.robots.clock_config import duration
from rota_contracts.robots.resources import ProcessResource
from rota_contracts.robots.robot import Robot


def callback_of(run: Run, step_id: str) -> Callback | None:
    return next((callback for callback in run.callbacks if callback.step_id == step_id), None)


def add(run: Run, outcome: CallsBegun) -> Run:
    """The run with callbacks for these calls. A repeated call keeps its id: the first may still be answered."""
    names = {use.step_id: use.name for use in outcome.uses}
    made = [
        Callback(id=callback_id, step_id=step_id, task_id=outcome.task_id, process=names[step_id])
        for step_id, callback_id in outcome.callbacks.items()
        if callback_of(run, step_id) is None
    ]
    return run.model_copy(update={"callbacks": [*run.callbacks, *made]}) if made else run


def promise(run: Run, outcome: Promised, *, now: datetime) -> Run:
    """The run while it waits for a result."""
    changed = [
        callback.model_copy(update={"until": now + duration(patience(run.robot, callback))})
        if callback.step_id == outcome.step_id
        else callback
        for callback in run.callbacks
    ]
    run = run.model_copy(update={"callbacks": changed})
    text = f"task {outcome.task_id}: waits for the result of process {', '.join(c.process for c in run.promised)}"
    status = ExecStatus.PAUSED if run.pausing else ExecStatus.WAITING
    return run.with_execution(status=status, progress=run.execution.progress.model_copy(update={"text": text}))


def drop(run: Run, *, task_id: str = "", step_id: str = "") -> Run:
    """The run, no longer waiting for the results of this task, or of this call."""
    changed = [
        callback.model_copy(update={"until": None})
        if callback.until is not None and (callback.task_id == task_id or callback.step_id == step_id)
        else callback
        for callback in run.callbacks
    ]
    return run if changed == run.callbacks else run.model_copy(update={"callbacks": changed})


def patience(robot: Robot, callback: Callback) -> str:
    """How long a promised result is waited for, by the robot's definition."""
    process = robot.process(callback.process) or ProcessResource(name=callback.process)
    return process.callback_within


def known_results(run: Run) -> list[str]:
    """Step ids of the calls whose results are in the run's inbox."""
    here = {signal.callback for signal in run.inbox if signal.callback}
    return [callback.step_id for callback in run.callbacks if callback.id in here]
