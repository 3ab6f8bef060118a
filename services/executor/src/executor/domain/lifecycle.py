"""The lifecycle of a run: `next_step` decides what happens now, `apply` adds one outcome.

Both are pure. After any crash the stored run and `next_step` say how to go on; a finished step never runs again.
"""

from datetime import datetime, timedelta

from executor.domain import failures, in_turn
from executor.domain.context import contexts
from executor.domain.hooks import hooked
from executor.domain.notes import noted
from executor.domain.outcomes import (
    CallsBegun,
    CeilingReached,
    Compacted,
    DeliveryTaken,
    GoalsCompared,
    GoalsGiven,
    GoalsSet,
    Hooked,
    Inspired,
    Learnt,
    LookedUp,
    NeedsInput,
    NotCalled,
    NothingToDo,
    Outcome,
    Overflowed,
    Planned,
    Progressed,
    Promised,
    Recalled,
    StepDelayed,
    StepFailed,
    Unusable,
    Used,
    Written,
)
from executor.domain.phases import learns_nothing, timed
from executor.domain.planning import looks, plain_request, prepare
from executor.domain.run import Run, Waiting
from executor.domain.search import searched
from executor.domain.search.searched import Searched
from executor.domain.situation.wording import about
from executor.domain.steps import (
    AskAgent,
    CompareGoals,
    Done,
    Finish,
    GiveGoals,
    Park,
    Question,
    RecallLessons,
    RequestDelivery,
    RequestLearning,
    RequestSlot,
    RequestVerdict,
    RunTurn,
    Step,
    own_delivery,
)
from executor.domain.tasks import asked_calls, tasks, turn_time
from rota_contracts.ids import derived_id
from rota_contracts.messages.execution import ExecStatus, Execution, LearningResult
from rota_contracts.messages.run_history import PendingQuestion
from rota_contracts.messages.text import Text
from rota_contracts.robots.robot import Phase

PHASES_OF: dict[type[object], tuple[Phase, ...]] = {
    Inspired: (Phase.INSPIRATION,),
    LookedUp: (Phase.INSPIRATION,),
    GoalsSet: (Phase.GOALS,),
    Planned: (Phase.TASKS,),
    NothingToDo: (Phase.GOALS, Phase.TASKS, Phase.DELIVERY),
    Written: (Phase.DELIVERY,),
}
"""The phases in which an outcome of a phase's agent is waited for."""

WAITS = {
    RequestVerdict: Waiting.VALIDATION,
    RequestDelivery: Waiting.DELIVERY,
    RequestLearning: Waiting.LEARNING,
    RequestSlot: Waiting.SLOT,
}


_last: tuple[Run, Step] | None = None


def next_step(run: Run) -> Step:
    """The step to take now. A run never changes, so the answer about the last one is kept: several ask in a row."""
    global _last
    if _last is None or _last[0] is not run:
        _last = run, _next_step(run)
    return _last[1]


def _next_step(run: Run) -> Step:
    execution = run.execution
    if execution.status.over:
        return Done()
    if run.cancelled is not None:
        return Finish(ExecStatus.CANCELLED)
    if run.blocked:
        return Park()
    if run.parks > run.granted:
        return RequestSlot(run.parks)
    if not run.recalled:
        reports = execution.phase is Phase.INSPIRATION
        return RecallLessons(
            about(execution.trigger),
            with_situation=reports,
            with_history=not reports and not plain_request.is_plain(run) and not run.robot.robot_config.learn.by,
            follows=execution.trigger.input.follows or "",
        )
    return _of_phase(run, execution)


def _of_phase(run: Run, execution: Execution) -> Step:
    match execution.phase:
        case Phase.INSPIRATION:
            return looks.next_step(run)
        case Phase.RUN:
            return tasks.next_step(run)
        case Phase.TASKS if execution.goals is not None and prepare.needs_comparison(run):
            return CompareGoals(execution.goals)
        case Phase.TASKS if run.merging is not None:
            return GiveGoals(run.merging)
        case Phase.DELIVERY if execution.content is not None:
            return RequestDelivery(own_delivery(run.id))
        case Phase.LEARNING if execution.learning is not None or learns_nothing(run):
            return Finish(ExecStatus.FAILED if execution.error else ExecStatus.COMPLETED)
        case Phase.LEARNING:
            return RequestLearning()
        case phase:
            key = derived_id("step", run.id, phase, run.attempts, *([run.again] if run.again else []))
            return contexts.with_context(run, AskAgent(phase, key))


def apply(run: Run, outcome: Outcome, *, now: datetime, began: datetime | None = None, retry_after: float = 0.0) -> Run:
    """The run after an outcome. One that isn't waited for (any more) changes nothing.

    `began`: when its step began. `retry_after`: seconds until a delayed step is tried again, if the other side asked
    for no delay of its own.
    """
    after = _applied(run, outcome, now, began or now, retry_after)
    seconds = (now - (began or now)).total_seconds()
    return after if after is run else turn_time.counted(run, after, outcome, seconds)


def _applied(run: Run, outcome: Outcome, now: datetime, began: datetime, retry_after: float) -> Run:
    if run.over:
        return run
    if isinstance(outcome, Overflowed | Compacted | Searched) or (
        isinstance(outcome, Hooked) and not outcome.cancelled
    ):
        return _prepared(run, outcome)
    match outcome:
        case Unusable() | StepFailed() | Hooked() | CeilingReached():
            changed = failures.not_done(run, outcome, now)
        case StepDelayed(reason, after):
            changed = failures.delayed(run, reason, timedelta(seconds=retry_after if after is None else after), now)
        case progressed:
            if not _expected(run, progressed):
                return run
            changed = _advance(run, progressed, now, began)
            if isinstance(progressed, NotCalled):
                after = retry_after if progressed.after is None else progressed.after
                changed = failures.delayed(changed, progressed.reason, timedelta(seconds=after), now)
    return timed(run, changed, now)


def _prepared(run: Run, outcome: Overflowed | Compacted | Searched | Hooked) -> Run:
    """The run after what comes before the answer of the model in hand."""
    step = next_step(run)
    match outcome:
        case Searched():
            return searched.apply(run, outcome) if searched.expected(step, outcome) else run
        case Hooked():
            return hooked.apply(run, outcome) if hooked.expected(step, outcome) else run
        case of_context:
            return contexts.apply(run, of_context) if contexts.expected(step, of_context) else run


def wait_for_answer(run: Run, question: Question, *, now: datetime, patience: timedelta) -> Run:
    """The run while it waits for another service's answer.

    A repeat within `patience` is the same request, which the stream drops as a duplicate; later the request may have
    been lost, and a repeat is a new one.
    """
    waiting = WAITS[type(question)]
    if run.waiting is waiting and run.asked_at is not None and now < run.asked_at + patience:
        return run
    asks = run.asks + 1 if run.waiting is waiting else 1
    return run.model_copy(update={"waiting": waiting, "asked_at": now, "asks": asks})


def finish(run: Run, status: ExecStatus, *, now: datetime) -> Run:
    """The run with its final status."""
    run = asked_calls.withdraw(run, now=now)
    over = run.step_reset().with_execution(status=status, finished_at=now, deadline_at=None)
    if status is ExecStatus.CANCELLED:
        over = over.with_execution(error=run.execution.error or run.cancelled, question=None)
    else:
        over = over.with_execution(learning=run.execution.learning or LearningResult(skipped=learns_nothing(run)))
    return timed(run, over, now)


def _advance(run: Run, outcome: Progressed, now: datetime, began: datetime) -> Run:
    run = hooked.forgotten(_reset_failures(run, outcome))
    match outcome:
        case Inspired(report):
            return run.with_execution(inspiration=report, phase=Phase.GOALS)
        case GoalsSet(goals):
            return run.with_execution(goals=goals, phase=Phase.TASKS)
        case Written(content, notes):
            return noted(run.with_execution(content=content), notes)
        case DeliveryTaken(result):
            return run.with_execution(delivery=result, phase=Phase.LEARNING)
        case Learnt(result):
            return run.with_execution(learning=result)
        case NeedsInput(question):
            return _ask_person(run, question, now)
        case Recalled() | LookedUp() | Planned() | GoalsCompared() | GoalsGiven() | NothingToDo():
            return prepare.apply(run, outcome)
        case about_turn:
            return in_turn.apply(run, about_turn, now=now, began=began)


def _reset_failures(run: Run, outcome: Progressed) -> Run:
    """A finished step resets its failures; those of a call are kept until all calls are made."""
    match outcome:
        case NotCalled():
            return run
        case CallsBegun():
            return run.step_reset().model_copy(update={"failures": run.failures})
        case Used() | Promised() if tasks.calls_left(run, outcome):
            return run
        case _:
            return run.step_reset()


def _ask_person(run: Run, question: str, now: datetime) -> Run:
    """In a task the question is its assistant's output of this turn; the answer begins the next."""
    step = next_step(run)
    asked = PendingQuestion(question=question, asked_at=now)
    if isinstance(step, RunTurn):
        run = tasks.answer_with_question(run, step.task, Text(inline=question), now=now)
        asked = asked.model_copy(update={"task_id": step.task.id})
    return run.with_execution(question=asked, status=ExecStatus.WAITING)


def _expected(run: Run, outcome: Progressed) -> bool:
    """Is this an outcome of the run's next step, and not of an earlier one?"""
    phase = run.execution.phase
    match outcome:
        case Recalled():
            return not run.recalled
        case Inspired() | LookedUp() | GoalsSet() | Planned() | NothingToDo() | Written():
            step = next_step(run)
            return isinstance(step, AskAgent) and step.phase in PHASES_OF[type(outcome)]
        case GoalsCompared():
            return phase is Phase.TASKS and prepare.needs_comparison(run)
        case GoalsGiven(into):
            return phase is Phase.TASKS and run.merging is not None and run.merging.into == into
        case NeedsInput():
            return isinstance(next_step(run), RunTurn | AskAgent)
        case DeliveryTaken():
            return phase is Phase.DELIVERY and run.execution.content is not None
        case Learnt():
            return phase is Phase.LEARNING and run.execution.learning is None
        case about_turn:
            return in_turn.awaited(run, about_turn)
