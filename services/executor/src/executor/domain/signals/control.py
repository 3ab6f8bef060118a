"""The application of signals to a run: control, deadline, callback results, interventions.

Pure. A signal takes effect at the next step, and leaves a public record with its effect.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from executor.domain import spending
from executor.domain.phases import time_limit, timed
from executor.domain.planning import prepare
from executor.domain.run import CALLBACK, CEILING, DEADLINE, DECISION, ROOM, Run, Signal, Waiting
from executor.domain.signals import approvals, callbacks, interventions
from executor.domain.tasks import asked_calls, tasks
from rota_contracts.messages.control import ControlAction
from rota_contracts.messages.execution import ExecStatus, excerpt
from rota_contracts.messages.media import media_of
from rota_contracts.messages.run_history import Intervention
from rota_contracts.messages.trigger import InterventionAction
from rota_contracts.robots.robot import Phase
from rota_contracts.roles import least

TEXT_LIMIT = 4000
OUTDATED = "nothing to do: the robot's status has changed since"

Applied = tuple[Run, str]
"""The run, and the effect of the signal."""


def apply_signals(run: Run, *, now: datetime) -> Run:
    """The run after all signals of its inbox."""
    for signal in run.inbox:
        run = apply_signal(run, signal, now=now)
    return run.model_copy(update={"inbox": []})


def apply_signal(run: Run, signal: Signal, *, now: datetime) -> Run:
    """The run after one signal."""
    run = run.model_copy(update={"applied": run.applied + 1})
    if run.over:
        return run
    if signal.action in tuple(InterventionAction):  # this very run is wanted to do something
        run = prepare.keep_goals(run, "it got an intervention meanwhile")
        run = _lowered(_with_media(run, signal), signal)
    after, effect = EFFECTS.get(signal.action, _unknown)(run, signal, now)
    text = excerpt(signal.text(), TEXT_LIMIT)
    trace = Intervention(intervention_id=signal.id, action=signal.action, text=text, at=signal.at, effect=effect)
    after = after.with_execution(interventions=[*after.execution.interventions, trace])
    return timed(run, with_status(after), now)


def _with_media(run: Run, signal: Signal) -> Run:
    """The run with the messages that hold more than text."""
    new = [message for message in signal.messages if media_of([message])]
    return run.model_copy(update={"sent": [*run.sent, *new]}) if new else run


def _lowered(run: Run, signal: Signal) -> Run:
    """The run in the role of the one who intervenes, unless it acts in a lower one already."""
    if signal.role is None:
        return run
    return run.model_copy(update={"lowered": least(signal.role, run.lowered or signal.role)})


def with_status(run: Run) -> Run:
    """The run with its current status; one that is over keeps its own."""
    if run.over:
        return run
    status = ExecStatus.RUNNING
    if run.pausing:
        status = ExecStatus.PAUSED
    elif run.blocked:
        status = ExecStatus.WAITING
    elif run.parks > run.granted:
        status = ExecStatus.PENDING
    return run if run.execution.status is status else run.with_execution(status=status)


def park(run: Run, *, now: datetime) -> Run:
    """The run without its slot; its remaining working time is kept."""
    if run.parks > run.granted:
        return with_status(run)
    deadline = run.execution.deadline_at
    left = None if deadline is None else max((deadline - now).total_seconds(), 0.0)
    run = run.model_copy(update={"parks": run.parks + 1, "time_left": left, "retry_at": None})
    return with_status(asked_calls.shown(run).with_execution(deadline_at=None, delayed=None))


def grant(run: Run, number: int, *, now: datetime) -> Run:
    """The run with the slot it requested; an earlier grant changes nothing."""
    if run.over or not run.granted < number <= run.parks:
        return run
    run = run.model_copy(update={"granted": run.parks, "waiting": Waiting.NOTHING, "asked_at": None, "asks": 0})
    deadline = None if run.time_left is None else now + timedelta(seconds=run.time_left)
    return with_status(run.model_copy(update={"time_left": None}).with_execution(deadline_at=deadline))


def expire(run: Run, *, now: datetime) -> Run:
    """The run after promised results and approvals have expired."""
    after = approvals.expire(callbacks.expire(run, now=now), now=now)
    return run if after is run else timed(run, with_status(after), now)


def _pause(run: Run, signal: Signal, now: datetime) -> Applied:
    if signal.of_robot:
        if _outdated(run, signal):
            return run, OUTDATED
        return _following(run, signal, held=True), "pauses after the current step"
    return run.model_copy(update={"paused": True}), "pauses after the current step"


def _resume(run: Run, signal: Signal, now: datetime) -> Applied:
    """The robot's status ends what it holds; a person's word also ends a pause of the run's own."""
    if signal.rev is not None:
        if _outdated(run, signal):
            return run, OUTDATED
        run = _following(run, signal, held=False)
        return run, "stays paused: it was paused on its own" if run.paused else "goes on"
    if not run.pausing:
        return run, "nothing to do: it isn't paused"
    return run.model_copy(update={"paused": False, "held": False}), "goes on"


def _outdated(run: Run, signal: Signal) -> bool:
    return signal.rev is not None and signal.rev <= run.status_rev


def _following(run: Run, signal: Signal, *, held: bool) -> Run:
    return run.model_copy(update={"held": held, "status_rev": signal.rev or run.status_rev})


def _stop(run: Run, signal: Signal, now: datetime) -> Applied:
    reason = signal.reason or "stopped by a person"
    return run.model_copy(update={"cancelled": run.cancelled or reason}), "stops"


def _deadline(run: Run, signal: Signal, now: datetime) -> Applied:
    """A delivery that was accepted goes on by itself, and learning is not cut off: the work is done by then."""
    if run.blocked or run.execution.phase is Phase.LEARNING:
        return run, "nothing to do: it doesn't work any more"
    reason = f"{DEADLINE}: it worked longer than its {time_limit(run.robot)[1]}"
    run = run.step_reset()
    if run.execution.phase is Phase.RUN:
        run = tasks.fail_current(run, reason, now=now)
    return run.with_execution(error=reason, phase=Phase.LEARNING, deadline_at=None), "fails"


def _at_ceiling(run: Run, signal: Signal, now: datetime) -> Applied:
    """A judge's call or the learner's has no room: the run asks, if it waits for that and asks nothing yet."""
    if signal.need is None or run.execution.question is not None or run.waiting is Waiting.NOTHING:
        return run, "nothing to do: it doesn't wait for that"
    return spending.at_ceiling(run, signal.reason, signal.need, now), "waits for room below a ceiling"


def _room(run: Run, signal: Signal, now: datetime) -> Applied:
    """There may be room below the ceiling that the run has reached: it tries again."""
    if run.ceiling is None:
        return run, "nothing to do: it waits for no ceiling"
    return spending.tries_again(run), "tries again"


def _instruct(run: Run, signal: Signal, now: datetime) -> Applied:
    return interventions.instruct(run, signal, now) if run.ceiling is None else _room(run, signal, now)


def _unknown(run: Run, signal: Signal, now: datetime) -> Applied:
    return run, f"refused: a run under way has no action {signal.action}"


EFFECTS: dict[str, Callable[[Run, Signal, datetime], Applied]] = {
    ControlAction.PAUSE: _pause,
    ControlAction.RESUME: _resume,
    ControlAction.STOP: _stop,
    DEADLINE: _deadline,
    CALLBACK: callbacks.apply_result,
    DECISION: approvals.apply_decision,
    CEILING: _at_ceiling,
    ROOM: _room,
    InterventionAction.TASK_ADD: interventions.add_task,
    InterventionAction.TASK_CANCEL: interventions.cancel_task,
    InterventionAction.TASK_UPDATE: interventions.update_task,
    InterventionAction.GOAL_ADD: interventions.change_goals,
    InterventionAction.GOAL_ADJUST: interventions.change_goals,
    InterventionAction.GOAL_COMPLETE: interventions.end_goal,
    InterventionAction.GOAL_CANCEL: interventions.end_goal,
    InterventionAction.INSTRUCT: _instruct,
}
"""The effect of each signal."""
