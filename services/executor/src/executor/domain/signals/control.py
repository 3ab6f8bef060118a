"""What people, clocks and processes say to a run under way: pause, deadline, results, interventions (TG-07).

Pure. A word takes effect at the next step; each leaves a visible trace with what came of it.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from executor.domain.phases import time_limit, timed
from executor.domain.planning import prepare
from executor.domain.run import CALLBACK, DEADLINE, Run, Waiting, Word
from executor.domain.signals import callbacks, interventions
from executor.domain.tasks import tasks
from rota_contracts.messages.control import ControlAction
from rota_contracts.messages.execution import ExecStatus, excerpt
from rota_contracts.messages.run_history import Intervention
from rota_contracts.messages.trigger import InterventionAction
from rota_contracts.robots.robot import Phase

TEXT_LIMIT = 4000

Heeded = tuple[Run, str]
"""The run, and what came of the word."""


def hear(run: Run, *, now: datetime) -> Run:
    """The run with all words of its inbox heeded."""
    for word in run.inbox:
        run = heed(run, word, now=now)
    return run.model_copy(update={"inbox": []})


def heed(run: Run, word: Word, *, now: datetime) -> Run:
    """The run after one word."""
    run = run.model_copy(update={"heard": run.heard + 1})
    if run.over:
        return run
    if word.action in tuple(InterventionAction):  # somebody wants something of this very run
        run = prepare.keeps_goals(run, "it was told something itself meanwhile")
    after, effect = EFFECTS.get(word.action, _unknown)(run, word, now)
    text = excerpt(word.text(), TEXT_LIMIT)
    trace = Intervention(intervention_id=word.id, action=word.action, text=text, at=word.at, effect=effect)
    after = after.seen(interventions=[*after.execution.interventions, trace])
    return timed(run, with_status(after), now)


def with_status(run: Run) -> Run:
    """The run with the status that it has by now; one that is over keeps its own."""
    if run.over:
        return run
    status = ExecStatus.RUNNING
    if run.paused:
        status = ExecStatus.PAUSED
    elif run.blocked:
        status = ExecStatus.WAITING
    elif run.parks > run.granted:
        status = ExecStatus.PENDING
    return run if run.execution.status is status else run.seen(status=status)


def parked(run: Run, *, now: datetime) -> Run:
    """The run without its slot; the working time that is left waits with it."""
    if run.parks > run.granted:
        return with_status(run)
    deadline = run.execution.deadline_at
    left = None if deadline is None else max((deadline - now).total_seconds(), 0.0)
    run = run.model_copy(update={"parks": run.parks + 1, "time_left": left, "retry_at": None})
    return with_status(run.seen(deadline_at=None))


def granted(run: Run, grant: int, *, now: datetime) -> Run:
    """The run with the slot it asked for; a grant from before changes nothing."""
    if run.over or not run.granted < grant <= run.parks:
        return run
    run = run.model_copy(update={"granted": run.parks, "waiting": Waiting.NOTHING, "asked_at": None, "asks": 0})
    deadline = None if run.time_left is None else now + timedelta(seconds=run.time_left)
    return with_status(run.model_copy(update={"time_left": None}).seen(deadline_at=deadline))


def expired(run: Run, *, now: datetime) -> Run:
    """The run without the promised results that were waited for long enough."""
    after = callbacks.expired(run, now=now)
    return run if after is run else timed(run, with_status(after), now)


def _pause(run: Run, word: Word, now: datetime) -> Heeded:
    return run.model_copy(update={"paused": True}), "holds after the step in hand"


def _resume(run: Run, word: Word, now: datetime) -> Heeded:
    if not run.paused:
        return run, "nothing to do: it isn't paused"
    return run.model_copy(update={"paused": False}), "goes on"


def _stop(run: Run, word: Word, now: datetime) -> Heeded:
    reason = word.reason or "stopped by a person"
    return run.model_copy(update={"cancelled": run.cancelled or reason}), "stops"


def _deadline(run: Run, word: Word, now: datetime) -> Heeded:
    """A delivery that was accepted goes on by itself, and learning is not cut off: the work is done by then."""
    if run.blocked or run.execution.phase is Phase.LEARNING:
        return run, "nothing to do: it doesn't work any more"
    reason = f"{DEADLINE}: it worked longer than its {time_limit(run.robot)[1]}"
    run = run.settled()
    if run.execution.phase is Phase.RUN:
        run = tasks.fail_current(run, reason, now=now)
    return run.seen(error=reason, phase=Phase.LEARNING, deadline_at=None), "fails"


def _unknown(run: Run, word: Word, now: datetime) -> Heeded:
    return run, f"refused: a run under way knows no {word.action}"


EFFECTS: dict[str, Callable[[Run, Word, datetime], Heeded]] = {
    ControlAction.PAUSE: _pause,
    ControlAction.RESUME: _resume,
    ControlAction.STOP: _stop,
    DEADLINE: _deadline,
    CALLBACK: callbacks.came,
    InterventionAction.TASK_ADD: interventions.add_task,
    InterventionAction.TASK_CANCEL: interventions.cancel_task,
    InterventionAction.TASK_UPDATE: interventions.update_task,
    InterventionAction.GOAL_ADD: interventions.change_goals,
    InterventionAction.GOAL_ADJUST: interventions.change_goals,
    InterventionAction.GOAL_COMPLETE: interventions.end_goal,
    InterventionAction.GOAL_CANCEL: interventions.end_goal,
    InterventionAction.INSTRUCT: interventions.instruct,
}
"""What each word does."""
