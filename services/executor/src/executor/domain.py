"""The heart of the executor: `next_step` says what must happen now, `apply` makes the execution one fact richer.

Both are pure. Whatever is killed, the stored run and `next_step` say how to go on; a finished step never runs again.
"""

from datetime import datetime, timedelta
from typing import assert_never

from executor import tasks
from executor.run import Run, Waiting
from executor.steps import (
    AskAgent,
    DeliveryTaken,
    Done,
    Finish,
    GoalsSet,
    Inspired,
    Learnt,
    Outcome,
    Planned,
    Progressed,
    Question,
    Recalled,
    RecallLessons,
    RequestDelivery,
    RequestLearning,
    RequestVerdict,
    RulesAnswered,
    Step,
    StepDelayed,
    StepFailed,
    TaskAnswered,
    Unusable,
    VerdictGiven,
    Written,
)
from executor.wording import about
from rota_contracts.execution import ExecStatus, Execution, LearningResult, Progress
from rota_contracts.ids import derived_id
from rota_contracts.robot import Phase, Robot
from rota_contracts.trigger import ExecutorMode, TriggerReceivedV1, TriggerType

MAX_ATTEMPTS = 3
"""Answers of one step that may be unusable before the step fails."""

MAX_FAILURES = 20
"""Calls of one step that may fail for passing reasons before the step fails: an hour or so, as the delays grow."""

PRODUCED_BY: dict[type[Progressed], Phase] = {
    Inspired: Phase.INSPIRATION,
    GoalsSet: Phase.GOALS,
    Planned: Phase.TASKS,
}


def begin(execution_id: str, trigger: TriggerReceivedV1, robot: Robot, *, now: datetime, traceparent: str) -> Run:
    """A new run: a clock starts at P0, a person and an event at P1 (EX-01)."""
    mode = trigger.executor_mode or robot.robot_config.executor.mode
    notes = []
    if mode is ExecutorMode.SANDBOX:
        notes.append("no sandbox runtime is configured: this run behaves like dryrun")
    execution = Execution(
        execution_id=execution_id,
        team_id=trigger.team_id,
        member_id=trigger.member_id,
        robot_rev=robot.rev,
        trigger=trigger,
        executor_mode=mode,
        status=ExecStatus.RUNNING,
        phase=Phase.INSPIRATION if trigger.type is TriggerType.CLOCK else Phase.GOALS,
        notes=notes,
        created_at=now,
        started_at=now,
    )
    return Run(execution=execution, robot=robot, traceparent=traceparent)


def next_step(run: Run) -> Step:
    """What must happen now."""
    execution = run.execution
    if execution.status.over:
        return Done()
    if run.cancelled is not None:
        return Finish(ExecStatus.CANCELLED)
    if not run.recalled:
        return RecallLessons(about(execution.trigger))
    match execution.phase:
        case Phase.RUN:
            return tasks.next_step(run)
        case Phase.DELIVERY if execution.content is not None:
            return RequestDelivery(derived_id("delivery", run.id))
        case Phase.LEARNING if execution.learning is not None or learns_nothing(run):
            return Finish(ExecStatus.FAILED if execution.error else ExecStatus.COMPLETED)
        case Phase.LEARNING:
            return RequestLearning()
        case phase:
            return AskAgent(phase, derived_id("step", run.id, phase, run.attempts))


def apply(run: Run, outcome: Outcome, *, now: datetime, retry_after: float = 0.0) -> Run:
    """The same run, one fact richer. An answer that isn't waited for (any more) changes nothing.

    `retry_after`: seconds until a delayed step is tried again, if the other side asked for no delay of its own.
    """
    if run.over:
        return run
    match outcome:
        case Unusable(reason):
            return _unusable(run, reason, now)
        case StepDelayed(reason, after):
            return _delayed(run, reason, timedelta(seconds=retry_after if after is None else after), now)
        case StepFailed(reason):
            return _fail(_settled(run), reason, now)
        case progressed:
            return _advance(_settled(run), progressed, now) if _awaited(run, progressed) else run


def asking(run: Run, question: Question, *, now: datetime, patience: timedelta) -> Run:
    """The run while it waits for another service's answer.

    Asking again within `patience` is the same request, which the stream recognises and drops; after it the request may
    have been lost, and is counted as a new one.
    """
    match question:
        case RequestVerdict():
            waiting = Waiting.VALIDATION
        case RequestDelivery():
            waiting = Waiting.DELIVERY
        case RequestLearning():
            waiting = Waiting.LEARNING
        case never:
            assert_never(never)
    if run.waiting is waiting and run.asked_at is not None and now < run.asked_at + patience:
        return run
    return run.model_copy(update={"waiting": waiting, "asked_at": now, "asks": run.asks + 1})


def finish(run: Run, status: ExecStatus, *, now: datetime) -> Run:
    """The run, over."""
    execution = run.execution
    if status is ExecStatus.CANCELLED:
        return _settled(run).seen(status=status, error=execution.error or run.cancelled, finished_at=now)
    learning = execution.learning or LearningResult(skipped=learns_nothing(run))
    return _settled(run).seen(status=status, learning=learning, finished_at=now)


def learns_nothing(run: Run) -> str | None:
    """Why the learner isn't even asked (LE-03)."""
    if run.execution.executor_mode is not ExecutorMode.STANDARD:
        return "dry run"
    return None if run.robot.robot_config.learn.on else "learning is switched off"


def _advance(run: Run, outcome: Progressed, now: datetime) -> Run:
    match outcome:
        case Inspired(report):
            return run.seen(inspiration=report, phase=Phase.GOALS)
        case GoalsSet(goals):
            return run.seen(goals=goals, phase=Phase.TASKS)
        case TaskAnswered() | RulesAnswered() | VerdictGiven():
            return tasks.apply(run, outcome, now=now)
        case Written(content):
            return run.seen(content=content)
        case DeliveryTaken(result):
            return run.seen(delivery=result, phase=Phase.LEARNING)
        case Learnt(result):
            return run.seen(learning=result)
        case Recalled() | Planned():
            return _prepared(run, outcome)
    assert_never(outcome)


def _prepared(run: Run, outcome: Recalled | Planned) -> Run:
    """With lessons, or with a plan; both may leave notes for the owner."""
    match outcome:
        case Recalled(lessons, note):
            notes = [*run.execution.notes, note] if note else run.execution.notes
            return run.model_copy(update={"recalled": True}).seen(recalled=lessons, notes=notes)
        case Planned(planned, mended):
            notes = [*run.execution.notes, *mended]
            return run.seen(tasks=planned, notes=notes, phase=Phase.RUN, progress=Progress(tasks_total=len(planned)))


def _settled(run: Run) -> Run:
    """Nothing is asked, tried or waited for."""
    fresh = {"feedback": "", "attempts": 0, "failures": 0, "retry_at": None}
    return run.model_copy(update={**fresh, "waiting": Waiting.NOTHING, "asked_at": None, "asks": 0})


def _awaited(run: Run, outcome: Progressed) -> bool:
    """Is this what the run's next step brings, and not something from before?"""
    phase = run.execution.phase
    match outcome:
        case Recalled():
            return not run.recalled
        case Inspired() | GoalsSet() | Planned():
            return phase is PRODUCED_BY[type(outcome)]
        case Written():
            return phase is Phase.DELIVERY and run.execution.content is None
        case TaskAnswered() | RulesAnswered() | VerdictGiven():
            return phase is Phase.RUN and tasks.awaited(run, outcome)
        case DeliveryTaken():
            return run.waiting is Waiting.DELIVERY
        case Learnt():
            return run.waiting is Waiting.LEARNING
    assert_never(outcome)


def _unusable(run: Run, reason: str, now: datetime) -> Run:
    attempts = run.attempts + 1
    if attempts >= MAX_ATTEMPTS:
        return _fail(_settled(run), f"{run.execution.phase}: {reason} ({attempts} attempts)", now)
    return run.model_copy(update={"feedback": reason, "attempts": attempts, "retry_at": None})


def _delayed(run: Run, reason: str, delay: timedelta, now: datetime) -> Run:
    failures = run.failures + 1
    if failures >= MAX_FAILURES:
        return _fail(_settled(run), f"{run.execution.phase}: {reason} ({failures} attempts)", now)
    return run.model_copy(update={"failures": failures, "retry_at": now + delay})


def _fail(run: Run, reason: str, now: datetime) -> Run:
    """Nothing unvalidated is delivered: a run that failed goes on to learning (Decision 33)."""
    if run.execution.phase is Phase.RUN:
        run = tasks.fail_current(run, reason, now=now)
    return run.seen(error=run.execution.error or reason, phase=Phase.LEARNING)
