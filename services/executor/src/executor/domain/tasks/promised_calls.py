"""Calls of processes whose results may come later: under which id, and until when they are waited for (TG-01)."""

from datetime import datetime

from executor.domain.outcomes import CallsBegun, Promised
from executor.domain.run import Callback, Run
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.robots.clock_config import duration
from rota_contracts.robots.robot import ProcessResource, Robot


def callback_of(run: Run, step_id: str) -> Callback | None:
    return next((callback for callback in run.callbacks if callback.step_id == step_id), None)


def add(run: Run, outcome: CallsBegun) -> Run:
    """The run that knows where the results of these calls may be sent. A call that is made again keeps its id: whoever
    took it the first time may answer there."""
    names = {use.step_id: use.name for use in outcome.uses}
    made = [
        Callback(id=callback_id, step_id=step_id, task_id=outcome.task_id, process=names[step_id])
        for step_id, callback_id in outcome.callbacks.items()
        if callback_of(run, step_id) is None
    ]
    return run.model_copy(update={"callbacks": [*run.callbacks, *made]}) if made else run


def promise(run: Run, outcome: Promised, *, now: datetime) -> Run:
    """The run that waits for a result."""
    changed = [
        callback.model_copy(update={"until": now + duration(patience(run.robot, callback))})
        if callback.step_id == outcome.step_id
        else callback
        for callback in run.callbacks
    ]
    run = run.model_copy(update={"callbacks": changed})
    text = f"task {outcome.task_id}: waits for the result of process {', '.join(c.process for c in run.promised)}"
    status = ExecStatus.PAUSED if run.paused else ExecStatus.WAITING
    return run.with_execution(status=status, progress=run.execution.progress.model_copy(update={"text": text}))


def drop(run: Run, *, task_id: str = "", step_id: str = "") -> Run:
    """The run that waits no more for the results of this task, or of this call."""
    changed = [
        callback.model_copy(update={"until": None})
        if callback.until is not None and (callback.task_id == task_id or callback.step_id == step_id)
        else callback
        for callback in run.callbacks
    ]
    return run if changed == run.callbacks else run.model_copy(update={"callbacks": changed})


def patience(robot: Robot, callback: Callback) -> str:
    """How long a promised result is waited for, as the robot's definition says it."""
    process = robot.process(callback.process) or ProcessResource(name=callback.process)
    return process.callback_within


def known_results(run: Run) -> list[str]:
    """Step ids of the calls whose results lie in the run's inbox."""
    here = {word.callback for word in run.inbox if word.callback}
    return [callback.step_id for callback in run.callbacks if callback.id in here]
