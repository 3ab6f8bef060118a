"""The preparation of the tasks: lessons, goals compared with other runs, a plan; or the reason to do nothing."""

from executor.domain.outcomes import GoalsCompared, GoalsGiven, LookedUp, NothingToDo, Planned, Recalled
from executor.domain.run import Merge, Run
from executor.domain.tasks import tasks
from rota_contracts.messages.execution import Goals, Progress, Task
from rota_contracts.messages.learning import DedupDecision
from rota_contracts.messages.trigger import ExecutorMode, TriggerType
from rota_contracts.robots.robot import Phase

Prepared = Recalled | LookedUp | Planned | GoalsCompared | GoalsGiven | NothingToDo


def needs_comparison(run: Run) -> bool:
    """Must the goals still be compared with earlier runs?"""
    return run.robot.robot_config.dedup.on and not run.goals_checked


def apply(run: Run, outcome: Prepared) -> Run:
    """The run after an outcome of the preparation; each may add notes."""
    match outcome:
        case Recalled():
            return _recalled(run, outcome)
        case LookedUp(made):
            return run.model_copy(update={"looked_up": [*run.looked_up, made]})
        case GoalsCompared():
            return _compared(run, outcome)
        case GoalsGiven():
            return _given(run, outcome)
        case NothingToDo(reason):
            return run.with_execution(skipped=reason, phase=Phase.LEARNING)
        case Planned():
            return _planned(run, outcome)


def _recalled(run: Run, outcome: Recalled) -> Run:
    around = outcome.surroundings
    notes = [outcome.note] if outcome.note else []
    notes += [f"inspiration: {missing}" for missing in around.missing] if around else []
    run = run.model_copy(update={"recalled": True, "surroundings": around, "followed": outcome.followed})
    return run.with_execution(
        recalled=outcome.lessons,
        known=outcome.known,
        rehearsed=outcome.rehearsed,
        notes=[*run.execution.notes, *notes],
    )


def _planned(run: Run, outcome: Planned) -> Run:
    execution = run.execution
    done = sum(1 for result in execution.results if result.status == "completed")
    whole = [*tasks.kept_tasks(run), *_in_own_words(run, outcome.tasks)]
    run = run.with_execution(
        tasks=whole,
        notes=[*execution.notes, *outcome.notes],
        phase=Phase.RUN,
        progress=Progress(tasks_total=len(whole), tasks_done=done),
    )
    return run if tasks.current(run) is not None else tasks.after_task(run)


def _in_own_words(run: Run, planned: list[Task]) -> list[Task]:
    """A person's request that needs one task is that task: it carries what was said."""
    trigger = run.execution.trigger
    if len(planned) != 1 or trigger.type is not TriggerType.HUMAN or planned[0].messages or run.execution.tasks:
        return planned
    return [planned[0].model_copy(update={"messages": trigger.input.messages})]


def _compared(run: Run, outcome: GoalsCompared) -> Run:
    """`skip` ends the run as completed, with its reason; `merge` gives the goals that aren't reached yet to
    another run, or leaves them to this one."""
    answer, goals = outcome.answer, run.execution.goals
    run = run.model_copy(update={"goals_checked": True})
    before = f" (execution {answer.execution_id})" if answer.execution_id else ""
    if answer.decision is DedupDecision.SKIP:
        return run.with_execution(skipped=f"done before{before}: {answer.reason}", phase=Phase.LEARNING)
    if answer.decision is DedupDecision.PROCEED or goals is None:
        return run
    left = answer.goals or goals.content
    if answer.into and answer.into != run.id and run.execution.executor_mode is ExecutorMode.STANDARD:
        merge = Merge(into=answer.into, goals=left, reason=answer.reason, queued=outcome.queued)
        return run.model_copy(update={"merging": merge})
    return _goes_on(run, left, f"goals: partly done before{before}: {answer.reason}")


def _given(run: Run, outcome: GoalsGiven) -> Run:
    if run.merging is None:
        return run
    if not outcome.done:
        return keep_goals(run, "it is over, or about to be")
    skipped = f"merged into {outcome.into}: {run.merging.reason}"
    return run.model_copy(update={"merging": None}).with_execution(skipped=skipped, phase=Phase.LEARNING)


def keep_goals(run: Run, why: str) -> Run:
    """The run goes on by itself with the goals that it was about to give away."""
    merge = run.merging
    if merge is None:
        return run
    note = f"goals: not merged into execution {merge.into}: {why}"
    return _goes_on(run.model_copy(update={"merging": None}), merge.goals, note)


def _goes_on(run: Run, left: str, note: str) -> Run:
    goals = run.execution.goals or Goals(content=left)
    kept = goals.model_copy(update={"content": left})
    return run.with_execution(goals=kept, notes=[*run.execution.notes, note])


def accepts_goals(run: Run) -> bool:
    """Can another run of the robot give it its goals, and be sure that it plans for them?"""
    execution = run.execution
    early = execution.phase in (Phase.INSPIRATION, Phase.GOALS, Phase.TASKS, Phase.RUN)
    standing = not run.over and run.cancelled is None and run.merging is None
    return standing and early and execution.executor_mode is ExecutorMode.STANDARD
